// Package ginlimit limits requests to a Gin engine with a Floodgate limiter.
// Import it under its name:
//
//	import ginlimit "github.com/go-floodgate/floodgate/gin"
//
// It is a middleware for an engine, a group or a single route:
//
//	r.Use(ginlimit.New(api, ginlimit.Config{User: currentUser}))
//	r.POST("/login", ginlimit.New(login, ginlimit.Config{Account: ginlimit.JSONField("username")}), signIn)
//
// The client's address is found by the limiter (ratelimit.TrustProxies), never
// by gin.Context.ClientIP. Everything returned by this package is safe for
// concurrent use.
package ginlimit
