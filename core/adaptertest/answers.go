package adaptertest

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// The policies and results that the golden answers are made of.
var (
	perIP = ratelimit.Policy{Name: "per-ip", Limit: ratelimit.PerMinute(100)}
	plan  = ratelimit.Policy{Name: "plan", Key: ratelimit.ByHeader("X-API-Key"), Limit: ratelimit.TokenBucket(1000, time.Hour, 50)}

	perIPAdmits = ratelimit.Result{Allowed: true, Limit: 100, Remaining: 41, ResetAfter: 95*time.Second + time.Microsecond, At: instant}
	perIPDenies = ratelimit.Result{Limit: 100, RetryAfter: 12*time.Second + time.Microsecond, ResetAfter: 119 * time.Second, At: instant}
	planAdmits  = ratelimit.Result{Allowed: true, Limit: 50, Remaining: 12, ResetAfter: 136800 * time.Millisecond, At: instant}
	planDenies  = ratelimit.Result{Limit: 50, RetryAfter: 900 * time.Millisecond, ResetAfter: 3 * time.Minute, At: instant}
)

func answers(results ...ratelimit.Result) Step { return Step{Results: results} }

// answerCases are about requests that are let through.
func answerCases() []testCase {
	return []testCase{
		{
			name: "answers/allowed",
			why:  "an allowed request is the handler's, with the five fields of its policy beside",
			f: func(s *suite) {
				handler := ok()
				v := s.serve(onRoutes(s.limiter(NewScript(answers(perIPAdmits)), perIP), handler.handle))
				s.golden("allowed", v.get("/u/1"))
				s.golden("allowed-head", v.do(request{method: http.MethodHead, path: "/u/1"}))
				handler.ran(s, 2)
			},
		},
		{
			name: "answers/several-policies",
			why:  "RateLimit and RateLimit-Policy list every policy in one line each, X-RateLimit-* tell of the tightest",
			f: func(s *suite) {
				v := s.serve(onRoutes(s.limiter(NewScript(answers(perIPAdmits, planAdmits)), perIP, plan), ok().handle))
				s.golden("allowed-several", v.do(request{path: "/u/1", header: fields("X-API-Key", secret)}))
			},
		},
		{
			name: "answers/header-forms",
			why:  "which fields are sent is the limiter's setting, not the adapter's",
			f:    headerForms,
		},
		{
			name: "answers/left-alone",
			why:  "a request that no policy applies to, that is exempt, or that Config.Skip names is answered as if no limiter were there",
			f:    leftAlone,
		},
		{
			name: "answers/preflight",
			why:  "a CORS preflight that is refused shows in a browser as a CORS error, and it is no use of the service: it is neither charged nor refused",
			f: func(s *suite) {
				script, handler := NewScript(answers(perIPDenies)), &answering{status: http.StatusNoContent}
				site := onRoutes(s.limiter(script, perIP), func(x Exchange) error {
					handler.calls.Add(1)
					return x.Respond(http.StatusNoContent, "")
				})
				v := s.serve(site)
				s.golden("preflight", v.do(request{
					method: http.MethodOptions, path: "/u/1",
					header: fields("Origin", "https://example.com", "Access-Control-Request-Method", "POST"),
				}))
				handler.ran(s, 1)
				equal(s, "decisions", len(script.Charges()), 0)
				v.do(request{method: http.MethodOptions, path: "/u/1"}).is(s, "an OPTIONS request that is no preflight", 429)
				v.do(request{path: "/u/1", header: fields("Access-Control-Request-Method", "POST")}).is(s, "a GET that looks like one", 429)
			},
		},
		{
			name: "answers/failed-open",
			why:  "when the store fails open nothing is known but the policies: RateLimit-Policy alone is sent, and nothing of the error",
			f: func(s *suite) {
				handler := ok()
				script := NewScript(Step{Err: errStore}, answers(perIPAdmits))
				v := s.serve(onRoutes(s.limiter(script, perIP), handler.handle))
				s.golden("failed-open", v.get("/u/1"))
				s.golden("allowed", v.get("/u/1"))
				handler.ran(s, 2)
			},
		},
		{
			name: "answers/earlier-fields",
			why:  "fields that are there already, of a gateway or a limiter further out, are joined and not lost",
			f: func(s *suite) {
				site := onRoutes(s.limiter(NewScript(answers(perIPAdmits)), perIP), ok().handle)
				site.Use = []Middleware{setting("RateLimit-Policy", `"edge";q=5;w=1`, "RateLimit", `"edge";r=4;t=1`, "X-Edge", "1")}
				a := s.serve(site).get("/u/1")
				a.has(s, "RateLimit-Policy", `"edge";q=5;w=1, "per-ip";q=100;w=60`)
				a.has(s, "RateLimit", `"edge";r=4;t=1, "per-ip";r=41;t=96`)
				a.has(s, "X-Edge", "1")
			},
		},
		{
			name: "answers/handler-fields",
			why:  "what the handler itself says is its own: its Retry-After, its validators and its Cache-Control reach the client as they are",
			f: func(s *suite) {
				v := s.serve(onRoutes(s.limiter(NewScript(answers(perIPAdmits)), perIP), func(x Exchange) error {
					x.SetHeader("Content-Type", "text/plain; charset=utf-8")
					x.SetHeader("Retry-After", "7")
					x.SetHeader("Cache-Control", "max-age=60")
					x.SetHeader("ETag", `"v1"`)
					x.SetHeader("X-RateLimit-Limit", "3")
					return x.Respond(http.StatusServiceUnavailable, "back soon\n")
				}))
				s.golden("handler-fields", v.get("/u/1"))
			},
		},
	}
}

// storeError is what a store's failure may say, and no client may see.
type storeError struct{}

func (storeError) Error() string { return "dial tcp 10.9.8.7:6379: " + secret }

var errStore = storeError{}

// setting is a plain middleware that sets response fields.
func setting(pairs ...string) Middleware {
	return Middleware{Around: func(x Exchange, next func(context.Context) error) error {
		for i := 0; i < len(pairs); i += 2 {
			x.SetHeader(pairs[i], pairs[i+1])
		}
		return next(x.Context())
	}}
}

func headerForms(s *suite) {
	for _, form := range []struct {
		name string
		cfg  ratelimit.HeaderConfig
	}{
		{"form-draft-12", ratelimit.HeaderConfig{Draft: ratelimit.Draft12Preview, XRateLimit: ratelimit.ResetDelta}},
		{"form-draft-07", ratelimit.HeaderConfig{Draft: ratelimit.Draft07, XRateLimit: ratelimit.NoXRateLimit}},
		{"form-draft-06", ratelimit.HeaderConfig{Draft: ratelimit.Draft06, XRateLimit: ratelimit.NoXRateLimit}},
		{"form-exposed", ratelimit.HeaderConfig{Draft: ratelimit.NoDraft, ExposeHeaders: true}},
	} {
		l := s.limiter(NewScript(answers(perIPAdmits, planAdmits), answers(perIPDenies, planAdmits)), perIP, plan, ratelimit.Headers(form.cfg))
		site := onRoutes(l, ok().handle)
		site.Use = []Middleware{setting("Access-Control-Expose-Headers", "X-Request-ID")}
		v := s.serve(site)
		s.golden(form.name+"-allowed", v.get("/u/1"))
		s.golden(form.name+"-denied", v.get("/u/1"))
	}
}

func leftAlone(s *suite) {
	other := ratelimit.Policy{Name: "other", Match: "PUT", Limit: ratelimit.PerMinute(1)}
	for _, c := range []struct {
		what    string
		options []ratelimit.Option
		cfg     Config
	}{
		{"no policy", []ratelimit.Option{other}, Config{}},
		{"exempt address", []ratelimit.Option{perIP, ratelimit.Exempt(ratelimit.ExemptIPs("192.0.2.0/24"))}, Config{}},
		{"exempt user", []ratelimit.Option{perIP, ratelimit.Exempt(ratelimit.ExemptUsers("alice-" + secret))}, configOf(userOf("X-User"))},
		{"skipped", []ratelimit.Option{perIP}, configOf(skipIf("X-Skip"))},
		{"unlimited", []ratelimit.Option{ratelimit.Policy{Name: "none", Limit: ratelimit.Unlimited}}, Config{}},
	} {
		script := NewScript(answers(perIPDenies))
		site := Site{Routes: routes(ok().handle, Middleware{Limiter: s.limiter(script, c.options...), Config: c.cfg})}
		a := s.likeBare(site, request{path: "/u/1", header: fields("X-User", "alice-"+secret, "X-Skip", "1")})
		s.golden("left-alone", a)
		equal(s, c.what+": decisions", len(script.Charges()), 0)
	}
	skipped := s.serve(Site{Routes: routes(ok().handle, Middleware{
		Limiter: s.limiter(NewScript(answers(perIPDenies)), perIP), Config: configOf(skipIf("X-Skip")),
	})})
	skipped.get("/u/1").is(s, "a request that Config.Skip does not name", 429)
}

// likeBare sends the same request to the site and to one without limiters. The
// answers have to be alike in all but the limiter's fields.
func (s *suite) likeBare(site Site, r request) answer {
	s.Helper()
	bare, limited := s.serve(site.bare()).do(r), s.serve(site).do(r)
	equal(s, "status, with the limiter", limited.status, bare.status)
	equal(s, "body, with the limiter", limited.body, bare.body)
	equal(s, "fields, with the limiter", frameworkFields(limited), frameworkFields(bare))
	return limited
}

// frameworkFields are all lines of an answer's header but the limiter's and
// the date.
func frameworkFields(a answer) string {
	lines := ownFields(a.header, false)
	for _, name := range []string{"Content-Type", "Content-Length"} {
		lines = append(lines, name+": "+a.header.Get(name))
	}
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "date: ") })
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
