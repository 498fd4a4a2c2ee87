// Package fiberlimit limits requests to a Fiber v3 app with a Floodgate
// limiter. Import it under its name:
//
//	import fiberlimit "github.com/go-floodgate/floodgate/fiberv3"
//
// It is a middleware for an app, a group or a single route:
//
//	app.Use(fiberlimit.New(api, fiberlimit.Config{User: currentUser}))
//	app.Post("/login", fiberlimit.New(login, fiberlimit.Config{Account: fiberlimit.JSONField("username")}), signIn)
//
// # The route
//
// Fiber looks for a route after the middleware of the app and of groups has
// run. There the limiter can't know it: policies with a route in their Match
// don't apply, keys by route are all "unmatched", and a diagnostic says so.
// Mount such policies on the routes themselves, in front of the handler, or
// tell the route with Config.Route.
//
// # What Fiber can't tell
//
// A request's context (fiber.Ctx.Context) does not end when the client
// hangs up. A policy that counts by outcome goes by the status when the handler
// has returned; if it returned an error, by that of the [fiber.Error] in it,
// else by 500. Fiber sends the body of a stream only after that, so that how it
// ends plays no part. The error itself is left to Fiber.
//
// Fiber reuses the buffers of requests. What a limiter gets is copied, also
// what the functions of Config return.
//
// The client's address is found by the limiter (ratelimit.TrustProxies), never
// by fiber.Ctx.IP. Everything returned by this package is safe for concurrent
// use.
package fiberlimit
