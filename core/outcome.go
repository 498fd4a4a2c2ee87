package ratelimit

import "net/http"

// Outcome says which requests count against a policy, by how they end. The
// zero Outcome counts every request.
//
// A request is charged before its handler runs, so that attempts running at the
// same time can't all slip through, and given back afterwards if it does not
// count. A client that hangs up before it has the answer is always counted.
type Outcome struct {
	counts func(status int) bool
	// panics is whether a handler that panicked counts.
	panics bool
}

// The ready outcomes.
var (
	// CountEverything counts every request; it is the zero Outcome.
	CountEverything = Outcome{}
	// CountFailures counts requests that end with a status of 400 or above, in
	// a panic, or abandoned by the client.
	CountFailures = Outcome{counts: func(status int) bool { return status >= http.StatusBadRequest }, panics: true}
	// CountSuccesses counts requests that end with a status below 400, or
	// abandoned by the client.
	CountSuccesses = Outcome{counts: func(status int) bool { return status < http.StatusBadRequest }}
)

// CountStatus counts requests for whose status f returns true. A panic is
// status 500; a client that hangs up is counted whatever f says.
func CountStatus(f func(status int) bool) Outcome {
	if f == nil {
		return CountEverything
	}
	return Outcome{counts: f, panics: f(http.StatusInternalServerError)}
}

func (o Outcome) everything() bool { return o.counts == nil }

// ending is how a request ended.
type ending struct {
	status    int
	panicked  bool
	abandoned bool
}

func (o Outcome) count(e ending) bool {
	switch {
	case o.everything(), e.abandoned:
		return true
	case e.panicked:
		return o.panics
	default:
		return o.counts(e.status)
	}
}
