package ratelimit_test

import (
	"slices"
	"strings"
	"testing"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

func TestCheckRoutes(t *testing.T) {
	routes := []string{
		"GET /", "POST /login", "GET /users/:id", "DELETE /users/:id", "GET /files/*", "/anything", "HEAD /ping",
		"GET example.com/hosted", "GET example.com/tree/", "PUT /admin/users/{id}", "GET /Mixed/", "GET /café",
	}
	for _, c := range []struct {
		policy ratelimit.Policy
		says   string // "" if all is well
	}{
		{ratelimit.Policy{Endpoints: denying("POST /login", "/users/{id}", "GET /files/*", "DELETE /anything", "/hosted", "HEAD /ping", "GET /", "/tree/")}, ""},
		{ratelimit.Policy{Endpoints: denying("/admin/...", "PUT /admin/users/...", "/users/...", "/...", "/files/...", "/café", "GET /users/{id}/...")}, ""},
		{ratelimit.Policy{Endpoints: denying("POST", "PURGE", "unmatched", "POST unmatched")}, ""},
		{ratelimit.Policy{Match: "GET /", Limit: ratelimit.PerHour(1)}, ""},

		{ratelimit.Policy{Endpoints: denying("/logn")}, `Endpoints "/logn"`},
		{ratelimit.Policy{Endpoints: denying("/login/")}, `Endpoints "/login/" (is "POST /login" meant?)`},
		{ratelimit.Policy{Endpoints: denying("/mixed")}, `Endpoints "/mixed" (is "GET /Mixed/" meant?)`},
		{ratelimit.Policy{Endpoints: denying("/users/{name}")}, `Endpoints "/users/{name}" (is "GET /users/{id}" meant?)`},
		{ratelimit.Policy{Endpoints: denying("/files/*path")}, `Endpoints "/files/{path...}" (is "GET /files/{...}" meant?)`},
		{ratelimit.Policy{Endpoints: denying("PATCH /users/:id")}, `Endpoints "PATCH /users/{id}" (it is there for DELETE, GET)`},
		{ratelimit.Policy{Endpoints: denying("POST /admin/...")}, `Endpoints "POST /admin/..." (it is there for PUT)`},
		{ratelimit.Policy{Endpoints: denying("/admin/*")}, `Endpoints "/admin/{...}" ("/admin/..." is for all routes below it)`},
		{ratelimit.Policy{Endpoints: denying("/adm/...")}, `Endpoints "/adm/..."`},
		{ratelimit.Policy{Match: "GET, POST /serach", Limit: ratelimit.PerHour(1)}, `Match "POST /serach"`},
		{ratelimit.Policy{Limit: ratelimit.PerHour(9), Costs: map[string]int64{"/export": 2}}, `Costs "/export"`},
		{ratelimit.Policy{Match: "GET", Endpoints: denying("POST /login")}, `Endpoints "POST /login" (the policy's Match leaves it out)`},
		{ratelimit.Policy{Match: "GET /users/:id", Endpoints: denying("DELETE /users/:id")}, "leaves it out"},
	} {
		c.policy.Name = "p"
		logger, said := newRecords()
		l := mustNew(t, newModelStore(), c.policy, ratelimit.Logger(logger))
		for range 2 {
			err := l.CheckRoutes(routes...)
			switch {
			case c.says == "" && err != nil:
				t.Errorf("of nothing wrong it says %v", err)
			case c.says != "" && (err == nil || !strings.HasSuffix(err.Error(), `: policy "p": `+c.says) && !strings.HasSuffix(err.Error(), c.says+")") || !strings.HasPrefix(err.Error(), "ratelimit: ")):
				t.Errorf("it says %v, want %s", err, c.says)
			}
		}
		var want []string
		if c.says != "" {
			want = []string{ratelimit.CodeEndpointUnmatched}
		}
		if !slices.Equal(said.codes, want) {
			t.Errorf("%s: logged %q, want %q", c.says, said.codes, want)
		}
	}
}

func TestCheckRoutesNamesAll(t *testing.T) {
	l := mustNew(t, newModelStore(), ratelimit.Policies{
		{Name: "a", Endpoints: denying("/x", "/y", "/")},
		{Name: "b", Match: "/z", Limit: ratelimit.PerHour(1)},
	})
	want := `ratelimit: patterns match no route of the application: policy "a": Endpoints "/x"; policy "a": Endpoints "/y"; policy "b": Match "/z"`
	if err := l.CheckRoutes("GET /"); err == nil || err.Error() != want {
		t.Errorf("it says %v", err)
	}
	if err := l.CheckRoutes("/", "/x", "/y", "/z"); err != nil {
		t.Errorf("it says %v", err)
	}
	if err := l.CheckRoutes(); err == nil {
		t.Error("an application without routes has every one of them")
	}
}

func TestRoutePatterns(t *testing.T) {
	l := mustNew(t, newModelStore(), ratelimit.Policies{
		{Name: "a", Match: "POST, GET /u/:id", Endpoints: denying("/admin/...", "get /u/{id}", "DELETE")},
		{Name: "b", Limit: ratelimit.PerHour(9), Costs: map[string]int64{"GET /u/:id": 2, "/files/*": 2}},
	})
	want := []string{"/admin/...", "/files/{...}", "GET /u/{id}"}
	if got := l.RoutePatterns(); !slices.Equal(got, want) {
		t.Errorf("patterns %q, want %q", got, want)
	}
}
