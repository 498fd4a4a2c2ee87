package adaptertest

import (
	"context"
	"net/http"
	"strings"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// refusalCases are about requests that are not let through.
func refusalCases() []testCase {
	return []testCase{
		{
			name: "refusals/denied",
			why:  "a denied request never reaches its handler; the answer is the same, byte for byte, in every framework",
			f: func(s *suite) {
				handler := ok()
				v := s.serve(onRoutes(s.limiter(NewScript(answers(perIPDenies)), perIP), handler.handle))
				s.golden("denied", v.get("/u/1"))
				s.golden("denied", v.do(request{method: http.MethodPost, path: "/u/1", body: "{}"}))
				s.golden("denied-problem", v.do(request{path: "/u/1", header: fields("Accept", "application/problem+json")}))
				// All lines of a field count, not the first alone.
				s.golden("denied-problem", v.do(request{path: "/u/1", header: fields("Accept", "text/html", "Accept", "application/problem+json")}))
				handler.ran(s, 0)
			},
		},
		{
			name: "refusals/several-policies",
			why:  "RateLimit lists the violated policies alone, and Retry-After is the longest of their waits",
			f: func(s *suite) {
				v := s.serve(onRoutes(s.limiter(NewScript(answers(perIPDenies, planAdmits), answers(perIPDenies, planDenies)), perIP, plan), ok().handle))
				r := request{path: "/u/1", header: fields("X-API-Key", secret)}
				s.golden("denied-one-of-two", v.do(r))
				s.golden("denied-both", v.do(r))
				r.header.Set("Accept", "application/problem+json")
				s.golden("denied-both-problem", v.do(r))
			},
		},
		{
			name: "refusals/blocked",
			why:  "who is blocked by a penalty is told so, and for how long, whatever is left of his quota",
			f: func(s *suite) {
				guarded := perIP
				guarded.Penalty = &ratelimit.Penalty{Base: time.Minute}
				free := ratelimit.Result{Allowed: true, Limit: 1, Remaining: 1, At: instant}
				blocks := ratelimit.Result{Limit: 1, RetryAfter: 42 * time.Second, ResetAfter: 25 * time.Hour, At: instant}
				fits := perIPAdmits
				fits.ResetAfter = perIPDenies.ResetAfter
				script, handler := NewScript(answers(perIPAdmits, free), answers(perIPDenies, blocks), answers(fits, blocks)), ok()
				v := s.serve(onRoutes(s.limiter(script, guarded), handler.handle))
				s.golden("allowed", v.get("/u/1"))
				s.golden("blocked", v.get("/u/1")) // by this very request
				s.golden("blocked", v.get("/u/1")) // since before
				s.golden("blocked-problem", v.do(request{path: "/u/1", header: fields("Accept", "application/problem+json")}))
				handler.ran(s, 1)
			},
		},
		{
			name: "refusals/rounded-up",
			why:  "a client that comes back after a Retry-After that was rounded down is refused again",
			f: func(s *suite) {
				for wait, want := range map[time.Duration]string{
					time.Microsecond: "1", time.Second: "1", time.Second + time.Microsecond: "2", 900 * time.Second: "900",
				} {
					l := s.limiter(NewScript(answers(ratelimit.Result{Limit: 100, RetryAfter: wait, ResetAfter: time.Hour, At: instant})), perIP)
					s.serve(onRoutes(l, ok().handle)).get("/u/1").has(s, "Retry-After", want)
				}
			},
		},
		{
			name: "refusals/never",
			why:  "for a cost above the capacity no wait helps, so that a Retry-After would lie",
			f: func(s *suite) {
				never := ratelimit.Result{Limit: 100, Remaining: 100, RetryAfter: ratelimit.Never, At: instant}
				site := onRoutes(s.limiter(NewScript(answers(never)), perIP), ok().handle)
				site.Use = []Middleware{setting("Retry-After", "5")}
				s.golden("denied-never", s.serve(site).get("/u/1"))
			},
		},
		{
			name: "refusals/hidden",
			why:  "a hidden policy refuses without its name or numbers being told",
			f: func(s *suite) {
				hidden := perIP
				hidden.Name, hidden.Hidden = secret, true
				v := s.serve(onRoutes(s.limiter(NewScript(answers(perIPDenies)), hidden), ok().handle))
				s.golden("denied-hidden", v.get("/u/1"))
				s.golden("denied-hidden-problem", v.do(request{path: "/u/1", header: fields("Accept", "application/problem+json")}))
			},
		},
		{
			name: "refusals/head",
			why:  "the answer to HEAD has the fields and the Content-Length of the answer to GET and no body, which would be read as the next answer on the connection",
			f: func(s *suite) {
				v := s.serve(onRoutes(s.limiter(NewScript(answers(perIPDenies)), perIP), ok().handle))
				get := v.get("/u/1")
				head := v.do(request{method: http.MethodHead, path: "/u/1"})
				s.golden("denied-head", head)
				head.has(s, "Content-Length", get.header.Get("Content-Length"))
				equal(s, "the answer after HEAD on the same connection", v.get("/u/1").canonical(), get.canonical())
				if !s.h.HTTP2 {
					_, body, _ := strings.Cut(v.raw("HEAD /u/1 HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n"), "\r\n\r\n")
					equal(s, "what follows the header of the answer to HEAD", body, "")
				}
			},
		},
		{
			name: "refusals/unavailable",
			why:  "FailClosed means 503 when the store fails, with nothing of the error and no numbers that nobody knows",
			f: func(s *suite) {
				closed := perIP
				closed.OnStoreFailure = ratelimit.FailClosed
				handler := ok()
				v := s.serve(onRoutes(s.limiter(NewScript(Step{Err: errStore}), closed), handler.handle))
				s.golden("unavailable", v.get("/u/1"))
				s.golden("unavailable-problem", v.do(request{path: "/u/1", header: fields("Accept", "application/problem+json")}))
				s.golden("unavailable-head", v.do(request{method: http.MethodHead, path: "/u/1"}))
				handler.ran(s, 0)
			},
		},
		{
			name: "refusals/earlier-fields",
			why:  "a refusal must not be cached, nor taken for the resource: no-store instead of what an outer middleware said, and no validators",
			f: func(s *suite) {
				site := onRoutes(s.limiter(NewScript(answers(perIPDenies)), perIP), ok().handle)
				site.Use = []Middleware{setting("ETag", `"v1"`, "Last-Modified", "Fri, 31 Dec 1999 23:59:59 GMT",
					"Cache-Control", "public, max-age=60", "Expires", "Fri, 31 Dec 2099 23:59:59 GMT", "Retry-After", "90", "X-Edge", "1")}
				a := s.serve(site).get("/u/1")
				s.golden("denied-earlier", a)
				a.has(s, "X-Edge", "1")
			},
		},
		{
			name: "refusals/on-deny",
			why:  "Config.OnDeny answers in place of the standard answer, with the fields set already, whatever the reason",
			f:    onDeny,
		},
		{
			name: "refusals/canceled",
			why:  "a request that a leaky bucket holds back ends with its context: the handler doesn't run, and the slot that has passed is not given back",
			f:    canceled,
		},
		{
			name:  "refusals/hung-up",
			needs: ClientGone,
			why:   "a request that is held back ends when its client hangs up, and its handler doesn't run",
			f:     hungUp,
		},
	}
}

func onDeny(s *suite) {
	closed := perIP
	closed.OnStoreFailure, closed.Counts = ratelimit.FailClosed, ratelimit.CountFailures
	handler, decisions := ok(), make(chan ratelimit.Decision, 10)
	custom := Middleware{
		Limiter: s.limiter(NewScript(answers(perIPDenies), answers(perIPDenies), Step{Err: errStore}), closed),
		Config: configOf(func(c *Config) {
			c.OnDeny = func(x Exchange, d ratelimit.Decision) error {
				decisions <- d
				x.SetHeader("Content-Type", "text/plain; charset=utf-8")
				return x.Respond(d.Status()+30, "custom\n")
			}
		}),
	}
	v := s.serve(Site{Routes: routes(handler.handle, custom)})
	s.golden("custom-denied", v.get("/u/1"))
	s.golden("custom-denied-head", v.do(request{method: http.MethodHead, path: "/u/1"}))
	s.golden("custom-unavailable", v.get("/u/1"))
	handler.ran(s, 0)
	reasons := [...]ratelimit.Reason{ratelimit.ReasonRateLimited, ratelimit.ReasonRateLimited, ratelimit.ReasonFailedClosed}
	equal(s, "calls of OnDeny", len(decisions), len(reasons))
	for i := range min(len(decisions), len(reasons)) {
		equal(s, "decision.Reason", (<-decisions).Reason, reasons[i])
	}

	failing := Middleware{
		Limiter: s.limiter(NewScript(answers(perIPDenies)), perIP),
		Config: configOf(func(c *Config) {
			c.OnDeny = func(x Exchange, _ ratelimit.Decision) error { return x.Fail(http.StatusForbidden) }
		}),
	}
	a := s.serve(Site{Routes: routes(handler.handle, failing)}).get("/u/1")
	a.is(s, "OnDeny with an error of the framework", http.StatusForbidden)
	a.has(s, "Retry-After", "13")
	handler.ran(s, 0)
}

func canceled(s *suite) {
	counted := ratelimit.Policy{Name: "smooth", Limit: ratelimit.LeakyBucket(1, time.Second, 9), Counts: ratelimit.CountFailures}
	held := ratelimit.Result{Allowed: true, Limit: 10, Delay: time.Hour, ResetAfter: time.Hour, At: instant}
	script, handler := NewScript(answers(held)), ok()
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	site := onRoutes(s.limiter(script, counted), handler.handle)
	site.Use = []Middleware{{Around: func(x Exchange, next func(context.Context) error) error {
		// The context is still the request's own, and ends with ctx too.
		joint, end := context.WithCancel(x.Context())
		defer context.AfterFunc(ctx, end)()
		defer end()
		return next(joint)
	}}}
	v := s.serve(site)
	answered := make(chan answer, 1)
	go func() {
		a, _ := v.try(request{path: "/u/1"})
		answered <- a
	}()
	s.until(script, "the decision", func() bool { return len(script.Charges()) == 1 })
	cancel()
	select {
	case a := <-answered:
		s.golden("canceled", a)
	case <-time.After(s.patience):
		s.Fatal("a request that is held back does not end with its context")
	}
	handler.ran(s, 0)
	equal(s, "what was given back", len(script.Adjustments()), 0)
}

func hungUp(s *suite) {
	held := ratelimit.Result{Allowed: true, Limit: 10, Delay: time.Hour, ResetAfter: time.Hour, At: instant}
	script, handler, watch := NewScript(answers(held)), ok(), newWatcher()
	site := onRoutes(s.limiter(script, ratelimit.Policy{Name: "smooth", Limit: ratelimit.LeakyBucket(1, time.Second, 9)}), handler.handle)
	site.Use = []Middleware{watch.middleware()}
	v := s.serve(site)
	ctx, hangUp := context.WithCancel(s.Context())
	defer hangUp()
	failed := make(chan error, 1)
	go func() {
		_, err := v.try(request{path: "/u/1", ctx: ctx})
		failed <- err
	}()
	s.until(script, "the decision", func() bool { return len(script.Charges()) == 1 })
	hangUp()
	if <-failed == nil {
		s.Error("a client that hung up has an answer")
	}
	watch.next(s)
	handler.ran(s, 0)
}

// configOf makes a Config.
func configOf(changes ...func(*Config)) Config {
	var c Config
	for _, change := range changes {
		change(&c)
	}
	return c
}

// userOf takes the user from a request field, as what authenticates would.
func userOf(field string) func(*Config) {
	return func(c *Config) {
		c.User = func(x Exchange) string { return x.Header(field) }
	}
}

// skipIf skips requests with this field.
func skipIf(field string) func(*Config) {
	return func(c *Config) {
		c.Skip = func(x Exchange) bool { return x.Header(field) != "" }
	}
}
