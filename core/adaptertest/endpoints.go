package adaptertest

import (
	"net/http"
	"strings"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// endpointCases are about tables of endpoints and costs.
func endpointCases() []testCase {
	return []testCase{
		{
			name: "endpoints/most-specific",
			why:  "of a table the most specific entry is a request's limit, however the framework spells its route; HEAD is GET",
			f:    mostSpecific,
		},
		{
			name: "endpoints/own-quota",
			why:  "each entry is a quota of its own for each client, and one for all routes of \"/...\"",
			f:    ownQuotas,
		},
		{
			name: "endpoints/costs",
			why:  "a request costs what the table says of its route",
			f: func(s *suite) {
				for place := range s.places() {
					script := NewScript(answers(perIPAdmits))
					policy := perIP
					policy.Costs = map[string]int64{"/g/u/:id": 7, "POST /g/...": 5, "HEAD /g/u/{id}": 3}
					v := s.serve(mountedAt(s.limiter(script, policy), ok().handle)[place])
					for i, c := range []struct {
						method string
						cost   int64
					}{{"GET", 3}, {"HEAD", 3}, {"POST", 7}} {
						v.do(request{method: c.method, path: "/g/u/1"})
						equal(s, "cost of "+c.method+", mounted on the "+place, script.Charges()[i][0].Cost, c.cost)
					}
				}
			},
		},
		{
			name: "endpoints/unknown",
			why:  "where the framework can't tell the route, requests fall under the default and a diagnostic says why: nothing is free",
			f: func(s *suite) {
				script := NewScript(answers(perIPAdmits))
				v := s.serve(Site{Use: limits(s.limiter(script, tabled)), Routes: routes(ok().handle)})
				for range 2 {
					v.do(request{method: http.MethodPost, path: "/u/1"})
				}
				known := len(RouteInUse.lacking(s.h)) == 0
				equal(s, "limit of an entry", script.Charges()[0][0].Limit == tabled.Endpoints["POST /u/{id}"], known)
				equal(s, "limit of the default", script.Charges()[0][0].Limit == tabled.Limit, !known)
				equal(s, "diagnostics without a route", s.said.times(ratelimit.CodeRouteUnknown) == 1, !known)
			},
		},
		{
			name:  "endpoints/checked",
			needs: RouteList,
			why:   "an entry that matches no route limits nothing: the adapter's CheckRoutes names it, and nothing else",
			f:     checked,
		},
		{
			name:  "endpoints/checked-in-use",
			needs: RouteListInUse,
			why:   "the first request logs entries that match no route, once, if nobody has looked before; Config.Route takes the routes' place",
			f:     checkedInUse,
		},
	}
}

// tabled is a policy with a limit for POST and another for all the rest.
var tabled = ratelimit.Policy{
	Name: "table", Limit: ratelimit.PerHour(90),
	Endpoints: map[string]ratelimit.Limit{"POST /u/{id}": ratelimit.PerHour(20)},
}

// places are where a limiter can be mounted and knows the route.
func (s *suite) places() map[string]Site {
	places := mountedAt(nil, nil)
	if len(RouteInUse.lacking(s.h)) > 0 {
		places = map[string]Site{"route": places["route"]}
	}
	return places
}

func mostSpecific(s *suite) {
	policy := ratelimit.Policy{Name: "table", Limit: ratelimit.PerHour(90), Endpoints: map[string]ratelimit.Limit{
		"POST /g/u/:id": ratelimit.PerHour(1),
		"/g/u/{id}":     ratelimit.PerHour(2),
		"GET /g/...":    ratelimit.PerHour(3),
		"OPTIONS":       ratelimit.PerHour(4),
	}}
	for place := range s.places() {
		script := NewScript(answers(perIPAdmits))
		v := s.serve(mountedAt(s.limiter(script, policy), ok().handle)[place])
		asked := 0
		for _, c := range []struct {
			method, path string
			quota        int64
		}{
			{"POST", "/g/u/1", 1},
			{"GET", "/g/u/1", 2},
			{"HEAD", "/g/u/2?x=1", 2},
			{"OPTIONS", "/g/u/1", 2},
			{"POST", "/u/1", 90},
			{"OPTIONS", "/u/1", 4},
		} {
			if place == "group" && !strings.HasPrefix(c.path, "/g/") {
				continue
			}
			v.do(request{method: c.method, path: c.path}).is(s, c.method+" "+c.path, http.StatusOK)
			equal(s, "limit of "+c.method+" "+c.path+", mounted on the "+place, script.Charges()[asked][0].Limit.Quota, c.quota)
			asked++
		}
	}
}

func ownQuotas(s *suite) {
	policy := ratelimit.Policy{Name: "table", Limit: ratelimit.PerHour(4), Endpoints: map[string]ratelimit.Limit{
		"POST /g/u/{id}": ratelimit.SlidingLog(2, time.Hour),
		"/u/...":         ratelimit.PerHour(3),
	}}
	for place := range s.places() {
		if place == "group" {
			continue
		}
		handler := ok()
		v := s.serve(mountedAt(s.limiter(newModel(), policy), handler.handle)[place])
		for _, peer := range []string{usualPeer, "192.0.2.11"} {
			for _, c := range []struct {
				method, path string
				quota        int
			}{{"POST", "/g/u/1", 2}, {"GET", "/g/u/1", 4}, {"GET", "/u/1", 3}, {"POST", "/u/1", 0}, {"HEAD", "/g/u/3", 0}} {
				for i := range c.quota + 2 {
					want := http.StatusOK
					if i >= c.quota {
						want = http.StatusTooManyRequests
					}
					v.do(request{method: c.method, path: c.path, peer: peer}).is(s, c.method+" "+c.path+" of "+peer+", mounted on the "+place, want)
				}
			}
		}
		handler.ran(s, 18)
	}
}

// listed is a site with a route of every kind.
func listed(use ...Middleware) Site {
	handler := ok().handle
	return Site{Use: use, Routes: []Route{
		{Method: "GET", Pattern: "/", Handler: handler},
		{Method: "POST", Pattern: "/u/{id}", Handler: handler},
		{Method: "GET", Pattern: "/files/{path...}", Handler: handler},
	}, Groups: []Group{{Prefix: "/g", Routes: []Route{{Method: "GET", Pattern: "/u/{id}", Handler: handler}}}}}
}

// rest is how the framework spells a catch-all route as others do, or with its
// name.
var rest = [2]string{"/files/*", "/files/{path...}"}

// idle are patterns that match no route of [listed], the others ones that do.
func idleAndOthers() (idle, others []string) {
	return []string{"/u/{name}", "DELETE /u/{id}", "/g/u", "/g/{path...}"},
		[]string{"/", "GET /", "/u/:id", "POST /u/{id}", "GET /g/u/{id}", "HEAD /g/u/:id", "/g/...", "/...", "PUT", "unmatched"}
}

func checked(s *suite) {
	idle, others := idleAndOthers()
	var told []error
	check := func(patterns ...string) error {
		policy := ratelimit.Policy{Name: "table", Endpoints: make(map[string]ratelimit.Limit)}
		for _, pattern := range patterns {
			policy.Endpoints[pattern] = ratelimit.PerHour(1)
		}
		site, asked := listed(), false
		site.Built = func(check func(*ratelimit.Limiter) error) {
			asked = true
			told = append(told, check(s.limiter(NewScript(), policy)))
		}
		s.serve(site)
		if !asked {
			s.Fatalf("the harness does not call Site.Built")
		}
		return told[len(told)-1]
	}
	for _, pattern := range idle {
		if err := check(pattern); err == nil || !strings.Contains(err.Error(), pattern) {
			s.Errorf("%q matches no route, CheckRoutes says %v", pattern, err)
		}
	}
	for _, pattern := range others {
		if err := check(pattern); err != nil {
			s.Errorf("CheckRoutes says %v", err)
		}
	}
	if check(rest[0]) != nil && check(rest[1]) != nil {
		s.Errorf("CheckRoutes does not know the catch-all route: %v", told[len(told)-1])
	}
	equal(s, "CheckRoutes that log what they say", s.said.times(ratelimit.CodeEndpointUnmatched) >= len(idle), true)
}

func checkedInUse(s *suite) {
	idle, others := idleAndOthers()
	times := func(pattern string, cfg Config) int {
		s.said = codes{}
		policy := ratelimit.Policy{Name: "match", Match: pattern, Limit: ratelimit.PerHour(9)}
		v := s.serve(listed(Middleware{Limiter: s.limiter(NewScript(), policy), Config: cfg}))
		for range 3 {
			v.get("/nope")
			v.get("/")
		}
		return s.said.times(ratelimit.CodeEndpointUnmatched)
	}
	for _, pattern := range idle {
		equal(s, "diagnostics of "+pattern, times(pattern, Config{}), 1)
	}
	for _, pattern := range others {
		equal(s, "diagnostics of "+pattern, times(pattern, Config{}), 0)
	}
	told := configOf(func(c *Config) { c.Route = func(Exchange) string { return idle[0] } })
	equal(s, "diagnostics of a route that Config.Route tells of", times(idle[0], told), 0)
}
