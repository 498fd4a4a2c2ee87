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
// On a route, in front of its handler, the limiter knows the route. Elsewhere,
// in an app's or a group's middleware, it looks ahead for the route that Fiber
// will come to next. It doesn't know of constraints that were registered with
// the app: a route that has one is taken for the next one if all else fits.
// Mount middleware that changes the path before the limiter: it has to see the
// path that will be routed.
//
// # What Fiber can't tell
//
// A request's context (fiber.Ctx.Context) does not end when the client
// hangs up. A policy that counts by outcome goes by the status when the handler
// has returned; if it returned an error, by that which the error is answered
// with, and settles when the answer has been sent. Where something else than
// fasthttp's server runs the app, such as Fiber's adaptor for net/http, that
// status can't be told, and what returned an error counts. Fiber sends the body
// of a stream only when the handler has returned, so that how it ends plays no
// part. The error itself is left to Fiber.
//
// Fiber reuses the buffers of requests. What a limiter gets is copied, also
// what the functions of Config return.
//
// The client's address is found by the limiter (ratelimit.TrustProxies), never
// by fiber.Ctx.IP. Everything returned by this package is safe for concurrent
// use.
package fiberlimit
