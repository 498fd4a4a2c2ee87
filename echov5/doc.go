// Package echolimit limits requests to an Echo v5 server with a Floodgate
// limiter. Import it under its name:
//
//	import echolimit "github.com/go-floodgate/floodgate/echov5"
//
// It is a middleware for a server, a group or a single route:
//
//	e.Use(echolimit.New(api, echolimit.Config{User: currentUser}))
//	e.POST("/login", signIn, echolimit.New(login, echolimit.Config{Account: echolimit.JSONField("username")}))
//
// Mount it with Use, not Pre: there the route is not known yet, and what comes
// after it in Pre may still change the path.
//
// A policy that counts by outcome goes by the status that was sent; if the
// handler returned an error and sent nothing, by that which the error is
// answered with further out, and if nobody answers it, it counts. The error
// itself is left to Echo.
//
// The client's address is found by the limiter (ratelimit.TrustProxies), never
// by echo.Context.RealIP. Everything returned by this package is safe for
// concurrent use.
package echolimit
