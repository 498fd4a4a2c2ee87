package adaptertest

import (
	"net/http"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// listCases are about deny lists and allow lists.
func listCases() []testCase {
	return []testCase{
		{
			name: "lists/denied",
			why:  "who is on a deny list gets 403, uncharged, with nothing that says why, until when, or what there is to use up",
			f:    deniedByList,
		},
		{
			name: "lists/on-deny",
			why:  "the application's own answer is told that it is 403",
			f:    onDenyByList,
		},
		{
			name: "lists/client",
			why:  "a network on a list is about the client's address, never about what a header claims",
			f:    clientOnList,
		},
		{
			name: "lists/keys",
			why:  "a user on a list is the one that the application names, a key the one that a policy counts by",
			f:    keyOnList,
		},
		{
			name: "lists/allowed",
			why:  "who is on an allow list is answered as if no limiter were there",
			f: func(s *suite) {
				script := NewScript(answers(perIPDenies))
				l := s.limiter(script, perIP, ratelimit.AllowList(s.list(ratelimit.AccessEntry{Network: usualPeer})))
				s.golden("left-alone", s.likeBare(onRoutes(l, ok().handle), request{path: "/u/1"}))
				equal(s, "decisions on who is allowed", len(script.Charges()), 0)
				s.serve(onRoutes(l, ok().handle)).do(request{path: "/u/1", peer: "192.0.2.11"}).is(s, "somebody else", http.StatusTooManyRequests)
			},
		},
		{
			name: "lists/preflight",
			why:  "a CORS preflight that is refused shows in a browser as a CORS error: the request itself will be refused",
			f: func(s *suite) {
				handler := &answering{status: http.StatusNoContent}
				l := s.limiter(NewScript(answers(perIPAdmits)), perIP, ratelimit.DenyList(s.list(ratelimit.AccessEntry{Network: usualPeer})))
				s.golden("preflight", s.serve(onRoutes(l, func(x Exchange) error {
					handler.calls.Add(1)
					return x.Respond(http.StatusNoContent, "")
				})).do(request{
					method: http.MethodOptions, path: "/u/1",
					header: fields("Origin", "https://example.com", "Access-Control-Request-Method", "POST"),
				}))
				handler.ran(s, 1)
			},
		},
	}
}

// list is a list with these entries.
func (s *suite) list(entries ...ratelimit.AccessEntry) *ratelimit.AccessList {
	s.Helper()
	list := new(ratelimit.AccessList)
	if err := list.Add(entries...); err != nil {
		s.Fatalf("the suite's own list: %v", err)
	}
	return list
}

func deniedByList(s *suite) {
	script, handler, list := NewScript(answers(perIPAdmits)), ok(), s.list(ratelimit.AccessEntry{Network: "192.0.2.0/24"})
	counted := perIP
	counted.Counts = ratelimit.CountFailures
	site := onRoutes(s.limiter(script, counted, ratelimit.DenyList(list)), handler.handle)
	site.Use = []Middleware{setting("ETag", `"v1"`, "Cache-Control", "public, max-age=60", "Retry-After", "90", "X-Edge", "1")}
	v := s.serve(site)
	s.golden("deny-listed", v.get("/u/1"))
	s.golden("deny-listed", v.do(request{method: http.MethodPost, path: "/u/1", body: "{}"}))
	s.golden("deny-listed-problem", v.do(request{path: "/u/1", header: fields("Accept", "application/problem+json")}))
	s.golden("deny-listed-head", v.do(request{method: http.MethodHead, path: "/u/1"}))
	handler.ran(s, 0)
	equal(s, "decisions on who is denied", len(script.Charges()), 0)

	list.Remove(ratelimit.AccessEntry{Network: "192.0.2.0/24"})
	v.get("/u/1").is(s, "after it was removed from the list", http.StatusOK)
	if err := list.Add(ratelimit.AccessEntry{Network: usualPeer}); err != nil {
		s.Fatalf("adding to the list: %v", err)
	}
	v.get("/u/1").is(s, "as soon as it is on the list again", http.StatusForbidden)
	handler.ran(s, 1)
}

func onDenyByList(s *suite) {
	handler, decisions := ok(), make(chan ratelimit.Decision, 1)
	a := s.serve(Site{Routes: routes(handler.handle, Middleware{
		Limiter: s.limiter(NewScript(answers(perIPAdmits)), perIP, ratelimit.DenyList(s.list(ratelimit.AccessEntry{Network: usualPeer}))),
		Config: configOf(func(c *Config) {
			c.OnDeny = func(x Exchange, d ratelimit.Decision) error {
				decisions <- d
				return x.Respond(http.StatusNotFound, "nothing here\n")
			}
		}),
	})}).get("/u/1")
	a.is(s, "the application's own answer", http.StatusNotFound)
	a.has(s, "Cache-Control", "no-store")
	handler.ran(s, 0)
	if len(decisions) != 1 {
		s.Fatal("OnDeny was not called")
	}
	d := <-decisions
	equal(s, "decision.Reason", d.Reason, ratelimit.ReasonDenyListed)
	equal(s, "decision.Status", d.Status(), http.StatusForbidden)
}

func clientOnList(s *suite) {
	listed := s.list(ratelimit.AccessEntry{Network: "198.51.100.0/24"}, ratelimit.AccessEntry{Network: "2001:db8:1::/48"})
	direct := s.serve(onRoutes(s.limiter(NewScript(answers(perIPAdmits)), perIP, ratelimit.DenyList(listed)), ok().handle))
	proxied := s.serve(onRoutes(s.limiter(NewScript(answers(perIPAdmits)), perIP, ratelimit.DenyList(listed), ratelimit.TrustProxies("192.0.2.0/24")), ok().handle))
	for _, c := range []struct {
		what          string
		v             *server
		peer, forward string
		status        int
	}{
		{"a listed client", direct, "198.51.100.7", "", http.StatusForbidden},
		{"a listed IPv6 client", direct, "2001:db8:1::7", "", http.StatusForbidden},
		{"a listed client that claims to be another", direct, "198.51.100.7", "192.0.2.99", http.StatusForbidden},
		{"another client", direct, usualPeer, "", http.StatusOK},
		{"another client that claims to be a listed one", direct, usualPeer, "198.51.100.7", http.StatusOK},
		{"a listed client behind a proxy", proxied, usualPeer, "203.0.113.1, 198.51.100.7", http.StatusForbidden},
		{"another client behind a proxy", proxied, usualPeer, "198.51.100.7, 203.0.113.1", http.StatusOK},
	} {
		r := request{path: "/u/1", peer: c.peer}
		if c.forward != "" {
			r.header = fields("X-Forwarded-For", c.forward)
		}
		c.v.do(r).is(s, c.what, c.status)
	}
}

func keyOnList(s *suite) {
	list := s.list(
		ratelimit.AccessEntry{Key: ratelimit.UserKey("mallory-" + secret)},
		ratelimit.AccessEntry{Key: ratelimit.HeaderKey("X-API-Key", "stolen-"+secret)},
	)
	v := s.serve(Site{Routes: routes(ok().handle, Middleware{
		Limiter: s.limiter(NewScript(answers(perIPAdmits, planAdmits)), perIP, plan, ratelimit.DenyList(list)), Config: configOf(userOf("X-Login")),
	})})
	for _, c := range []struct {
		name, value string
		status      int
	}{
		{"X-Login", "mallory-" + secret, http.StatusForbidden},
		{"X-Login", "alice-" + secret, http.StatusOK},
		{"X-API-Key", "stolen-" + secret, http.StatusForbidden},
		{"X-API-Key", "good-" + secret, http.StatusOK},
		{"X-Other", "stolen-" + secret, http.StatusOK},
	} {
		v.do(request{path: "/u/1", header: fields(c.name, c.value)}).is(s, c.name+" "+c.value, c.status)
	}
}
