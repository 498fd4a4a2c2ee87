package adapter

import (
	"strings"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// Config is what a limiter has to be told about the framework's requests. It
// is generic over the framework's context C, and every adapter has an alias of
// it. The zero value is ready. The functions are called within the request, at
// most once each, and must not keep the context.
type Config[C any] struct {
	// User returns the id of the authenticated user, or "": mount the limiter
	// behind what authenticates. Never return what a client merely claims.
	User func(C) string
	// Account returns the account that a request is about, such as the name in
	// a login form, or "". The adapter's JSONField is a ready one.
	Account func(C) string
	// Skip lets a request pass without a decision, a charge or a header field.
	Skip func(C) bool
	// Route returns the pattern of the route that will handle the request, or
	// "" if none will, for frameworks that don't know it where the limiter is
	// mounted.
	Route func(C) string
	// OnDeny answers a refused request in place of the standard answer. The
	// header fields are set already; decision.Status is the status of the
	// standard answer: 429 if the request is over a limit, 403 if its client is
	// on a deny list, 503 if the store failed (decision.Reason). Its error goes
	// where the framework takes a handler's error; net/http, which takes none,
	// drops it.
	OnDeny func(c C, decision ratelimit.Decision) error
}

// Cloned returns configs whose functions return copies of what the given ones
// do, for frameworks that reuse the buffers of a request: what a limiter is
// told may be kept.
func Cloned[C any](configs []Config[C]) []Config[C] {
	cloned := make([]Config[C], len(configs))
	for i, config := range configs {
		for _, f := range []*func(C) string{&config.User, &config.Account, &config.Route} {
			if told := *f; told != nil {
				*f = func(c C) string { return strings.Clone(told(c)) }
			}
		}
		cloned[i] = config
	}
	return cloned
}
