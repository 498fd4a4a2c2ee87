// Package chilimit limits requests to a chi router with a Floodgate limiter.
// Import it under its name:
//
//	import chilimit "github.com/go-floodgate/floodgate/chi"
//
// It is a middleware for a router, a group or a single route:
//
//	r.Use(chilimit.New(api, chilimit.Config{User: currentUser}))
//	r.With(chilimit.New(login, chilimit.Config{Account: chilimit.JSONField("username")})).Post("/login", signIn)
//
// The route is found wherever the limiter is mounted in a router, also in Use,
// before chi itself has looked for it. It is spelled as
// [chi.Context.RoutePattern] spells it, without a trailing slash. Mount what
// changes the path, such as StripSlashes and CleanPath of chi's own
// middleware, before the limiter: it must see the path that will be routed.
//
// Everything else is as in package httplimit, which does the work. Everything
// returned by this package is safe for concurrent use.
package chilimit
