package adaptertest

import (
	"context"
	"net/http"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// mountingCases are about where a limiter stands.
func mountingCases() []testCase {
	return []testCase{
		{
			name: "mounting/everywhere",
			why:  "a limiter answers alike on the application, on a group and on a single route",
			f:    mountedEverywhere,
		},
		{
			name: "mounting/only-there",
			why:  "a limiter on a group or a route is not about what lies beside it",
			f:    mountedOnlyThere,
		},
		{
			name: "mounting/stacked",
			why:  "with two limiters in line the client sees both, and X-RateLimit-* of the one with the least left",
			f: func(s *suite) {
				// The inner one is the tighter, then the outer one.
				for _, c := range []struct {
					name         string
					outer, inner ratelimit.Result
				}{
					{"stacked-inner-tighter", perIPAdmits, planAdmits},
					{"stacked-outer-tighter", withRemaining(perIPAdmits, 3), planAdmits},
				} {
					handler := ok()
					a := s.serve(stacked(s, answers(c.outer), answers(c.inner), handler)).get("/u/1")
					s.golden(c.name, a)
					handler.ran(s, 1)
				}
			},
		},
		{
			name: "mounting/stacked-denied",
			why:  "a denial shows the fields of the limiter that denied, not quota to spare from another one",
			f: func(s *suite) {
				handler := ok()
				s.golden("stacked-inner-denied", s.serve(stacked(s, answers(perIPAdmits), answers(planDenies), handler)).get("/u/1"))
				s.golden("stacked-outer-denied", s.serve(stacked(s, answers(perIPDenies), answers(planAdmits), handler)).get("/u/1"))
				handler.ran(s, 0)
			},
		},
		{
			name: "mounting/twice",
			why:  "a limiter that is on a request's way twice counts it once, says so in a diagnostic, and sets no field twice",
			f:    mountedTwice,
		},
		{
			name: "mounting/context",
			why:  "the handler runs under the request's own context: values, cancellation and all",
			f:    contextPassedOn,
		},
	}
}

func withRemaining(r ratelimit.Result, remaining int64) ratelimit.Result {
	r.Remaining = remaining
	return r
}

// mountedAt returns three sites with the limiter for the whole application, on
// a group, and on the routes, and the path that leads to the handler.
func mountedAt(l *ratelimit.Limiter, handler Handler) map[string]Site {
	return map[string]Site{
		"application": {Use: limits(l), Routes: routes(handler), Groups: []Group{{Prefix: "/g", Routes: routes(handler)}}},
		"group":       {Groups: []Group{{Prefix: "/g", Use: limits(l), Routes: routes(handler)}}},
		"route":       {Routes: routes(handler, limits(l)...), Groups: []Group{{Prefix: "/g", Routes: routes(handler, limits(l)...)}}},
	}
}

func mountedEverywhere(s *suite) {
	for place := range mountedAt(nil, nil) {
		s.Logf("mounted on: %s", place)
		handler := ok()
		l := s.limiter(NewScript(answers(perIPAdmits), answers(perIPDenies)), perIP)
		v := s.serve(mountedAt(l, handler.handle)[place])
		s.golden("allowed", v.get("/g/u/1"))
		a := v.get("/g/u/1")
		a.is(s, "denied on "+place, http.StatusTooManyRequests)
		s.golden("denied", a)
		handler.ran(s, 1)
	}
}

func mountedOnlyThere(s *suite) {
	script, handler := NewScript(answers(perIPDenies)), ok()
	l := s.limiter(script, perIP)
	v := s.serve(Site{
		Routes: []Route{
			{Method: "GET", Pattern: "/limited/{id}", Use: limits(l), Handler: handler.handle},
			{Method: "GET", Pattern: "/free/{id}", Handler: handler.handle},
		},
		Groups: []Group{
			{Prefix: "/g", Use: limits(l), Routes: routes(handler.handle)},
			{Prefix: "/h", Routes: routes(handler.handle)},
		},
	})
	v.get("/free/1").is(s, "a route beside the limited one", http.StatusOK)
	v.get("/h/u/1").is(s, "a group beside the limited one", http.StatusOK)
	equal(s, "decisions on what is not limited", len(script.Charges()), 0)
	v.get("/limited/1").is(s, "the limited route", http.StatusTooManyRequests)
	v.get("/g/u/1").is(s, "the limited group", http.StatusTooManyRequests)
	handler.ran(s, 2)
}

// stacked is a site with a limiter for the application and another on the
// routes.
func stacked(s *suite, outer, inner Step, handler *answering) Site {
	s.Helper()
	return Site{
		Use:    limits(s.limiter(NewScript(outer), perIP)),
		Routes: routes(handler.handle, limits(s.limiter(NewScript(inner), plan))...),
	}
}

func mountedTwice(s *suite) {
	// Directly after each other, and with another limiter and a route between.
	for _, far := range []bool{false, true} {
		script, between, handler := NewScript(answers(perIPAdmits)), NewScript(answers(planAdmits)), ok()
		s.said = codes{}
		l := s.limiter(script, perIP)
		site := Site{Use: limits(l), Routes: routes(handler.handle, limits(l)...)}
		name := "twice"
		if far {
			name = "twice-far"
			site.Use = append(site.Use, Middleware{Limiter: s.limiter(between, plan)})
		}
		v := s.serve(site)
		for range 3 {
			s.golden(name, v.get("/u/1"))
		}
		handler.ran(s, 3)
		equal(s, "decisions on three requests", len(script.Charges()), 3)
		equal(s, "diagnostics of it", s.said.times(ratelimit.CodeMountedTwice), 1)
	}
}

type contextKey struct{}

func contextPassedOn(s *suite) {
	// With and without the adapter having to know how the handler ends.
	for _, counts := range []ratelimit.Outcome{ratelimit.CountEverything, ratelimit.CountFailures} {
		policy := perIP
		policy.Counts = counts
		var value any
		var ended error
		site := onRoutes(s.limiter(NewScript(answers(perIPAdmits)), policy), func(x Exchange) error {
			value, ended = x.Context().Value(contextKey{}), x.Context().Err()
			return x.Respond(http.StatusOK, "")
		})
		site.Use = []Middleware{{Around: func(x Exchange, next func(context.Context) error) error {
			return next(context.WithValue(x.Context(), contextKey{}, "outer"))
		}}}
		v := s.serve(site)
		v.get("/u/1")
		equal[any](s, "a value of the request's context", value, "outer")
		equal(s, "an error of the request's context", ended, nil)

		site.Use = []Middleware{{Around: func(x Exchange, next func(context.Context) error) error {
			// The decision is under the request's context as well, but a
			// scripted store doesn't mind.
			canceled, cancel := context.WithCancel(x.Context())
			cancel()
			return next(canceled)
		}}}
		s.serve(site).get("/u/1")
		equal(s, "an error of a context that has ended", ended, context.Canceled)
	}
}
