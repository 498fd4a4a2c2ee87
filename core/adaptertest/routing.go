package adaptertest

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// routeCases are about the route that a request is counted under.
func routeCases() []testCase {
	return []testCase{
		{
			name: "routes/pattern",
			why:  "the route is the pattern in one spelling for all frameworks, never the path: an id in the path is no fresh quota",
			f: func(s *suite) {
				for place := range mountedAt(nil, nil) {
					if place != "route" && len(RouteInUse.lacking(s.h)) > 0 {
						continue
					}
					p := s.routesSeen(place)
					for path, want := range map[string]string{"/g/u/1": "/g/u/{id}", "/g/u/2?id=3": "/g/u/{id}"} {
						equal(s, "route of "+path+", mounted on the "+place, p.of(path), want)
					}
				}
			},
		},
		{
			name:  "routes/unmatched",
			needs: RouteInUse,
			why:   "requests that match no route share one count under \"unmatched\" and are answered as the framework answers them",
			f: func(s *suite) {
				p := s.routesSeen("application")
				for _, path := range []string{"/nope", "/nope/2", "/g", "/g/nope"} {
					equal(s, "route of "+path, p.of(path), ratelimit.UnmatchedRoute)
				}
				equal(s, "route of a match", p.of("/u/1"), "/u/{id}")
			},
		},
		{
			name: "routes/framework-answers",
			why:  "404, 405 and redirects are the framework's own, and count like anything else",
			f: func(s *suite) {
				for _, r := range []request{
					{path: "/nope"},
					{path: "/nope", method: http.MethodPost, body: "{}"},
					{path: "/u/1", method: http.MethodPut},
					{path: "/u/1", method: http.MethodDelete},
					{path: "/u/1", method: http.MethodHead},
					{path: "/u/1/"},
					{path: "/U/1"},
					{path: "//u/1"},
					{path: "/u/../u/1"},
				} {
					script := NewScript(answers(perIPAdmits))
					site := Site{Use: limits(s.limiter(script, perIP)), Routes: []Route{{Method: "GET", Pattern: "/u/{id}", Handler: ok().handle}}}
					s.Logf("%s %s", r.method, r.path)
					a := s.likeBare(site, r)
					// A router may redirect before any middleware runs.
					if n := len(script.Charges()); n != 1 && (n != 0 || a.status/100 != 3) {
						s.Errorf("a request that is answered with %d was decided %d times, want once", a.status, n)
					}
				}
			},
		},
		{
			name: "routes/spellings",
			why:  "a router may serve several spellings of a path; none of them is a fresh quota",
			f:    spellings,
		},
		{
			name: "routes/match",
			why:  "Policy.Match is about the pattern, however the framework spells it; HEAD matches GET",
			f:    matched,
		},
		{
			name: "routes/rest",
			why:  "all paths below a catch-all pattern are one route",
			f: func(s *suite) {
				script := NewScript(answers(perIPAdmits))
				l := s.limiter(script, ratelimit.Policy{Name: "route", Key: ratelimit.ByRoute(), Limit: ratelimit.PerMinute(100)})
				v := s.serve(Site{Routes: []Route{{Method: "GET", Pattern: "/files/{path...}", Use: limits(l), Handler: ok().handle}}})
				v.get("/files/a").is(s, "a path below a catch-all", http.StatusOK)
				v.get("/files/b/c.txt").is(s, "another one", http.StatusOK)
				first, second := script.Charges()[0][0].Partition, script.Charges()[1][0].Partition
				equal(s, "partitions of two paths", first, second)
				if first == ratelimit.JoinKeys("route:"+ratelimit.UnmatchedRoute) {
					s.Errorf("a catch-all pattern is counted under %q", first)
				}
			},
		},
		{
			name: "routes/unknown",
			why:  "where the framework can't tell the route, requests share one count and a diagnostic says why; Config.Route can tell",
			f:    routeUnknown,
		},
	}
}

// routesSeen is a site that tells which routes requests are counted under.
type routesSeen struct {
	*server
	mu   sync.Mutex
	last string
}

func (s *suite) routesSeen(place string) *routesSeen {
	s.Helper()
	seen := &routesSeen{}
	l := s.limiter(NewScript(answers(perIPAdmits)), perIP, ratelimit.Observe(ratelimit.Observer{
		Decision: func(_ context.Context, o *ratelimit.Observation) {
			seen.mu.Lock()
			defer seen.mu.Unlock()
			seen.last = o.Route
		},
	}))
	seen.server = s.serve(mountedAt(l, ok().handle)[place])
	return seen
}

func (r *routesSeen) of(path string) string {
	r.s.Helper()
	r.mu.Lock()
	r.last = ""
	r.mu.Unlock()
	r.get(path)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// pathSpellings are those of /a/b that a router may take for the same.
var pathSpellings = []string{
	"/a/b", "/a//b", "//a/b", "/a/./b", "/a/c/../b", "/a/b/", "/a/b//", "/%61/b", "/a/%62", "/A/b", "/a/B", "/a/b?x=1", "/a/b?", "/a/b;v=1",
	"/a%2Fb", "/a/b%2F", "/a/b%20", "/a/b.", "/./a/b",
}

func spellings(s *suite) {
	const quota = 3
	byRoute := ratelimit.Policy{Name: "route", Key: ratelimit.ByRoute(), Limit: ratelimit.PerHour(quota)}
	policies := []ratelimit.Policy{byRoute}
	if len(RouteInUse.lacking(s.h)) == 0 {
		matching := byRoute
		matching.Key, matching.Match = ratelimit.ByIP(), "GET /a/b"
		policies = append(policies, matching)
	}
	for _, policy := range policies {
		for place, site := range map[string]func(l *ratelimit.Limiter, h Handler) Site{
			"application": func(l *ratelimit.Limiter, h Handler) Site {
				return Site{Use: limits(l), Routes: []Route{{Method: "GET", Pattern: "/a/b", Handler: h}}}
			},
			"route": func(l *ratelimit.Limiter, h Handler) Site {
				return Site{Routes: []Route{{Method: "GET", Pattern: "/a/b", Use: limits(l), Handler: h}}}
			},
		} {
			handler := ok()
			v := s.serve(site(s.limiter(newModel(), policy), handler.handle))
			for range quota {
				v.get("/a/b").is(s, "a request within the limit", http.StatusOK)
			}
			for _, path := range pathSpellings {
				for range 2 {
					if a := v.get(path); a.status == http.StatusOK {
						s.Errorf("mounted on the %s, match %q: %s was served beyond the limit of /a/b", place, policy.Match, path)
					}
				}
			}
			handler.ran(s, quota)
		}
	}
}

func matched(s *suite) {
	places := []string{"route"}
	if len(RouteInUse.lacking(s.h)) == 0 {
		places = append(places, "group", "application")
	}
	for _, place := range places {
		script := NewScript(answers(perIPDenies))
		matching := perIP
		matching.Match = "GET /g/u/{name}, DELETE /u/{id}"
		// Names of parameters are the program's choice; patterns are compared
		// as they are written, so that this one matches nothing.
		l := s.limiter(script, matching)
		v := s.serve(mountedAt(l, ok().handle)[place])
		v.get("/g/u/1").is(s, "a pattern with another name, mounted on the "+place, http.StatusOK)

		matching.Match = "GET /g/u/{id}"
		v = s.serve(mountedAt(s.limiter(script, matching), ok().handle)[place])
		v.get("/g/u/1").is(s, "GET of the pattern, mounted on the "+place, http.StatusTooManyRequests)
		v.do(request{method: http.MethodHead, path: "/g/u/2"}).is(s, "HEAD of the pattern, mounted on the "+place, http.StatusTooManyRequests)
		v.do(request{method: http.MethodPost, path: "/g/u/1"}).is(s, "POST of the pattern, mounted on the "+place, http.StatusOK)
		if place != "group" {
			v.get("/u/1").is(s, "another pattern, mounted on the "+place, http.StatusOK)
		}
	}
}

func routeUnknown(s *suite) {
	byRoute := ratelimit.Policy{Name: "route", Key: ratelimit.ByRoute(), Limit: ratelimit.PerMinute(100)}
	script := NewScript(answers(perIPAdmits))
	told := Middleware{Limiter: s.limiter(script, byRoute), Config: configOf(func(c *Config) {
		c.Route = func(x Exchange) string { return x.Header("X-Route") }
	})}
	v := s.serve(Site{Use: []Middleware{told}, Routes: routes(ok().handle)})
	v.do(request{path: "/u/1", header: fields("X-Route", "/told/{id}")})
	v.do(request{path: "/u/2", header: fields("X-Route", "/told/:id")})
	equal(s, "partition by Config.Route", script.Charges()[0][0].Partition, ratelimit.Partition("route:/told/%7Bid%7D"))
	equal(s, "partition in another spelling", script.Charges()[1][0].Partition, script.Charges()[0][0].Partition)
	equal(s, "diagnostics, with Config.Route", s.said.times(ratelimit.CodeRouteUnknown), 0)

	if len(RouteInUse.lacking(s.h)) == 0 {
		return
	}
	script = NewScript(answers(perIPAdmits))
	v = s.serve(Site{Use: limits(s.limiter(script, byRoute)), Routes: routes(ok().handle)})
	for i := range 3 {
		v.get(fmt.Sprintf("/u/%d", i))
		equal(s, "partition without a route", script.Charges()[i][0].Partition, ratelimit.Partition("route:"+ratelimit.UnmatchedRoute))
	}
	equal(s, "diagnostics, without a route", s.said.times(ratelimit.CodeRouteUnknown), 1)
}
