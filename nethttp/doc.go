// Package httplimit limits requests to net/http handlers with a Floodgate
// limiter. Import it under its name:
//
//	import httplimit "github.com/go-floodgate/floodgate/nethttp"
//
// It is a middleware of the usual form, for a whole mux or for one handler:
//
//	handler := httplimit.New(api)(mux)
//	mux.Handle("POST /login", httplimit.Wrap(login, signIn, httplimit.Config{Account: httplimit.JSONField("username")}))
//
// [Transport] is for the other side: clients of servers that limit.
//
// The ResponseWriter is handed on as it is; only if a policy counts by outcome
// it is wrapped, with every optional interface it has. Everything returned by
// this package is safe for concurrent use.
package httplimit
