package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// endpointOf returns which entry of a table a request falls under.
func endpointOf(t *testing.T, l *ratelimit.Limiter, r *fakeRequest) string {
	t.Helper()
	var call ratelimit.Call
	l.Begin(&call, r, http.Header{})
	d := call.Decision()
	if d.Allowed || len(d.Policies()) != 1 {
		t.Fatalf("%s %s: %+v, want a denial by one policy", r.method, r.route, d)
	}
	return d.Policies()[0].Endpoint
}

// denying is a table that denies, so that what decided can be seen.
func denying(patterns ...string) map[string]ratelimit.Limit {
	table := make(map[string]ratelimit.Limit)
	for _, pattern := range patterns {
		table[pattern] = ratelimit.PerMinute(0)
	}
	return table
}

func TestMostSpecificEndpointWins(t *testing.T) {
	l := mustNew(t, newModelStore(), ratelimit.Policy{Name: "p", Limit: ratelimit.PerMinute(0), Endpoints: denying(
		"POST /admin/users/:id", "/admin/users/{id}", "POST /admin/users/...", "/admin/users/...", "POST /admin/...", "/admin/...",
		"/...", "delete", "unmatched", "/files/*", "GET /files/...", "HEAD /search", "/org/:org/...",
	)})
	for _, c := range []struct{ method, route, want string }{
		{"POST", "/admin/users/:id", "POST /admin/users/{id}"},
		{"POST", "/admin/users/{id}", "POST /admin/users/{id}"},
		{"PUT", "/admin/users/{id}", "/admin/users/{id}"},
		{"POST", "/admin/users/{name}", "POST /admin/users/..."},
		{"GET", "/admin/users/", "/admin/users/..."},
		{"GET", "/admin/users", "/admin/users/..."},
		{"POST", "/admin/users2", "POST /admin/..."},
		{"GET", "/admin", "/admin/..."},
		{"DELETE", "/admin/x/y/z", "/admin/..."},
		{"GET", "/administrators", "/..."},
		{"DELETE", "/", "/..."},
		{"DELETE", "", "unmatched"},
		{"GET", "", "unmatched"},
		{"POST", "/files/*", "/files/{...}"},
		{"POST", "/files/*path", "/..."}, // another name, another route
		{"GET", "/files/list", "GET /files/..."},
		{"HEAD", "/files/list", "GET /files/..."},
		{"POST", "/files/list", "/..."},
		{"GET", "/search", "GET /search"},
		{"GET", "/org/{org}/members", "/org/{org}/..."},
		{"GET", "/org/acme/members", "/..."},
	} {
		if got := endpointOf(t, l, &fakeRequest{method: c.method, route: c.route}); got != c.want {
			t.Errorf("%s %s is under %q, want %q", c.method, c.route, got, c.want)
		}
	}
	// A route that isn't known is none that an entry names.
	if got := endpointOf(t, l, &fakeRequest{method: "DELETE", unknown: true}); got != "DELETE" {
		t.Errorf("a DELETE of an unknown route is under %q", got)
	}
	if got := endpointOf(t, l, &fakeRequest{method: "GET", unknown: true}); got != "" {
		t.Errorf("a GET of an unknown route is under %q, not under the default", got)
	}
}

// TestMostSpecificEndpointOfMany compares the look-up with a slow one that goes
// by the words of the contract.
func TestMostSpecificEndpointOfMany(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	methods, segments := []string{"", "GET", "POST", "PUT"}, []string{"/a", "/b", "/{id}", "/ab"}
	path := func(longest int) string {
		var path strings.Builder
		for range random.IntN(longest + 1) {
			path.WriteString(segments[random.IntN(len(segments))])
		}
		return path.String()
	}
	for range 300 {
		patterns := []string{"PATCH"}
		for range random.IntN(12) {
			pattern := path(3)
			if random.IntN(2) == 0 {
				pattern += "/..."
			}
			patterns = append(patterns, strings.TrimSpace(methods[random.IntN(len(methods))]+" "+pattern))
		}
		patterns = slices.DeleteFunc(patterns, func(p string) bool { return p == "" })
		l := mustNew(t, newModelStore(), ratelimit.Policy{Name: "p", Limit: ratelimit.PerMinute(0), Endpoints: denying(patterns...)})
		for range 20 {
			method, route := methods[1+random.IntN(3)], "/"+strings.TrimPrefix(path(4), "/")
			if got, want := endpointOf(t, l, &fakeRequest{method: method, route: route}), mostSpecific(patterns, method, route); got != want {
				t.Fatalf("of %q, %s %s is under %q, want %q", patterns, method, route, got, want)
			}
		}
	}
}

func mostSpecific(patterns []string, method, route string) (best string) {
	most := -1
	for _, pattern := range patterns {
		of, path, _ := strings.Cut(pattern, " ")
		if strings.HasPrefix(of, "/") {
			of, path = "", of
		}
		score := 0
		switch stem, subtree := strings.CutSuffix(path, "/..."); {
		case of != "" && of != method, subtree && !strings.HasPrefix(route+"/", stem+"/"), !subtree && path != "" && path != route:
			continue
		case subtree:
			score = 10 * (1 + len(stem))
		case path != "":
			score = 10 * 1000
		}
		if of != "" {
			score++
		}
		if score > most {
			best, most = pattern, score
		}
	}
	return best
}

func TestEndpointsHaveQuotasOfTheirOwn(t *testing.T) {
	store := newModelStore()
	l := mustNew(t, store, ratelimit.Policy{
		Name: "api", Key: ratelimit.ByUser(), Limit: ratelimit.PerHour(3),
		Endpoints: map[string]ratelimit.Limit{
			"POST /login": ratelimit.PerHour(1), "/admin/...": ratelimit.PerHour(2), "/free": ratelimit.Unlimited, "/closed": ratelimit.PerHour(0),
		},
	})
	admitted := func(user, method, route string) (n int) {
		for range 5 {
			if call, _ := begin(l, &fakeRequest{method: method, route: route, user: user}); call.Proceed() {
				n++
			}
		}
		return n
	}
	for _, user := range []string{"ann", "bob"} {
		for _, c := range []struct {
			method, route string
			want          int
		}{
			{"POST", "/login", 1},
			{"GET", "/login", 3}, // the default's
			{"GET", "/other", 0}, // is shared
			{"GET", "/admin/a", 2},
			{"GET", "/admin/b", 0}, // one quota for the whole subtree
			{"GET", "/free", 5},
			{"GET", "/closed", 0},
		} {
			if got := admitted(user, c.method, c.route); got != c.want {
				t.Errorf("%s: %s %s was admitted %d times, want %d", user, c.method, c.route, got, c.want)
			}
		}
	}
	var partitions []string
	for _, charge := range store.charges {
		if p := string(charge.Partition); strings.HasPrefix(p, "user:ann") && !slices.Contains(partitions, p) {
			partitions = append(partitions, p)
		}
	}
	want := []string{"user:ann|endpoint:POST%20/login", "user:ann", "user:ann|endpoint:/admin/...", "user:ann|endpoint:/closed"}
	if !slices.Equal(partitions, want) {
		t.Errorf("partitions %q, want %q", partitions, want)
	}
}

func TestLongEndpointsAreHashedInPartitions(t *testing.T) {
	store := newModelStore()
	long := "/" + strings.Repeat("a", 4000)
	l := mustNew(t, store, ratelimit.Policy{Name: "p", Endpoints: map[string]ratelimit.Limit{long: ratelimit.PerHour(1), long + "/b": ratelimit.PerHour(1)}})
	for _, route := range []string{long, long + "/b"} {
		if call, _ := begin(l, &fakeRequest{method: "GET", route: route}); !call.Proceed() {
			t.Error("the first request of a long route was refused")
		}
	}
	for _, charge := range store.charges {
		if n := len(charge.Partition); n > 200 {
			t.Errorf("a partition of %d bytes", n)
		}
	}
}

func TestEndpointsWithoutADefault(t *testing.T) {
	store := newModelStore()
	l := mustNew(t, store, ratelimit.Policy{Name: "p", Endpoints: map[string]ratelimit.Limit{"/login": ratelimit.PerHour(1)}})
	for range 3 {
		if call, header := begin(l, &fakeRequest{method: "GET", route: "/other"}); !call.Proceed() || len(header) > 0 {
			t.Fatalf("a request that no entry is for: proceeds %v with %v", call.Proceed(), header)
		}
	}
	if d := l.Allow(t.Context(), "k"); !d.Allowed || d.Reason != ratelimit.ReasonNoPolicy {
		t.Errorf("Allow: %+v", d)
	}
	if len(store.charges) > 0 {
		t.Errorf("charged: %+v", store.charges)
	}
}

func TestResetForgetsEveryEndpoint(t *testing.T) {
	l := mustNew(t, newModelStore(), ratelimit.Policy{
		Name: "p", Key: ratelimit.ByUser(), Limit: ratelimit.PerHour(1), Penalty: &ratelimit.Penalty{},
		Endpoints: map[string]ratelimit.Limit{"/a": ratelimit.SlidingLog(1, time.Minute), "/b": ratelimit.PerHour(1), "/c": ratelimit.Unlimited},
	})
	for range 2 {
		for _, route := range []string{"/a", "/b", "/other"} {
			if call, _ := begin(l, &fakeRequest{method: "GET", route: route, user: "ann"}); !call.Proceed() {
				t.Errorf("%s is used up", route)
			}
			if call, _ := begin(l, &fakeRequest{method: "GET", route: route, user: "ann"}); call.Decision().Reason != ratelimit.ReasonBlocked {
				t.Errorf("the second request of %s is not blocked: %v", route, call.Decision().Reason)
			}
		}
		if err := l.Reset(t.Context(), ratelimit.UserKey("ann")); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEndpointsInTheFallback(t *testing.T) {
	store, fallback := newModelStore(), newModelStore()
	store.fails = errors.New("down")
	l := mustNew(t, store, ratelimit.Fallback(fallback, 2), ratelimit.Policy{
		Name: "p", Limit: ratelimit.PerHour(8), OnStoreFailure: ratelimit.FailLocal,
		Endpoints: map[string]ratelimit.Limit{"/a": ratelimit.PerHour(4)},
	})
	_, header := begin(l, &fakeRequest{method: "GET", route: "/a"})
	if got := header.Get("RateLimit-Policy"); got != `"p";q=2;w=3600` {
		t.Errorf("RateLimit-Policy %s", got)
	}
	call, _ := begin(l, &fakeRequest{method: "GET", route: "/a"})
	if call, _ := begin(l, &fakeRequest{method: "GET", route: "/a"}); call.Proceed() {
		t.Error("an endpoint's limit is not divided")
	} else if d := call.Decision(); d.Policies()[0].Endpoint != "/a" {
		t.Errorf("decided by %+v", d.Policies())
	}
	if !call.Proceed() {
		t.Error("an endpoint's share was refused")
	}
	if call, header := begin(l, &fakeRequest{method: "GET", route: "/b"}); !call.Proceed() || header.Get("RateLimit-Policy") != `"p";q=4;w=3600` {
		t.Errorf("the default's share: proceeds %v with %v", call.Proceed(), header)
	}
}

func TestEndpointsAreRegistered(t *testing.T) {
	store := newModelStore()
	table := func(quota int64) ratelimit.Policy {
		return ratelimit.Policy{Name: "p", Endpoints: map[string]ratelimit.Limit{"/a": ratelimit.PerHour(quota), "/b": ratelimit.PerHour(9)}}
	}
	logger, said := newRecords()
	for _, quota := range []int64{4, 4, 5} {
		if _, err := ratelimit.New(store, ratelimit.Logger(logger), table(quota)); err != nil {
			t.Fatal(err)
		}
		if differs := slices.Contains(said.codes, ratelimit.CodePolicyDiffers); differs != (quota == 5) {
			t.Errorf("with a quota of %d: a difference is reported: %v", quota, differs)
		}
	}
}

func TestCostsByTable(t *testing.T) {
	l := mustNew(t, newModelStore(), ratelimit.Policy{
		Name: "p", Limit: ratelimit.PerHour(100),
		Costs: map[string]int64{"POST /export": 50, "/export": 20, "/reports/...": 10, "/health": 0},
		Cost: func(r *ratelimit.Request) int64 {
			if r.Method() == "DELETE" {
				return 3
			}
			return 1
		},
	})
	left := int64(100)
	for _, c := range []struct {
		method, route string
		cost          int64
	}{
		{"POST", "/export", 50},
		{"GET", "/export", 20},
		{"GET", "/reports/:year", 10},
		{"DELETE", "/health", 0},
		{"DELETE", "/other", 3},
		{"GET", "/other", 1},
		{"GET", "", 1},
	} {
		left -= c.cost
		_, header := begin(l, &fakeRequest{method: c.method, route: c.route})
		if got := header.Get("X-Ratelimit-Remaining"); got != strconv.FormatInt(left, 10) {
			t.Errorf("%s %s leaves %s, want %d", c.method, c.route, got, left)
		}
	}
}

func TestTablesNeedTheRoute(t *testing.T) {
	for name, policy := range map[string]ratelimit.Policy{
		"endpoints": {Endpoints: denying("/a")},
		"costs":     {Costs: map[string]int64{"/a/...": 2}},
		"methods":   {Endpoints: denying("POST"), Costs: map[string]int64{"GET": 2}},
	} {
		policy.Name, policy.Limit = "p", ratelimit.PerHour(10)
		logger, said := newRecords()
		l := mustNew(t, newModelStore(), policy, ratelimit.Logger(logger))
		for _, unknown := range []bool{false, true, true} {
			begin(l, &fakeRequest{method: "GET", unknown: unknown})
		}
		want := 1
		if name == "methods" {
			want = 0
		}
		if len(said.codes) != want || want > 0 && said.codes[0] != ratelimit.CodeRouteUnknown {
			t.Errorf("%s: said %q", name, said.codes)
		}
	}
}

func TestTablesThatAreRefused(t *testing.T) {
	tiers := &ratelimit.Tiers{
		Resolve: func(*ratelimit.Request) (ratelimit.Identity, error) { return ratelimit.Identity{}, nil },
		Limits:  map[string]ratelimit.Limit{"free": ratelimit.PerMinute(1)}, Default: "free",
	}
	limit := ratelimit.PerMinute(10)
	for _, c := range []struct {
		policy ratelimit.Policy
		says   string
	}{
		{ratelimit.Policy{Endpoints: denying("POST /u/:id", "post /u/{id}")}, `Policy.Endpoints has "POST /u/:id" and "post /u/{id}", which are the same: leave one out`},
		{ratelimit.Policy{Endpoints: denying("GET /u", "HEAD /u")}, "the same"},
		{ratelimit.Policy{Endpoints: denying("")}, `Policy.Endpoints: an empty pattern`},
		{ratelimit.Policy{Endpoints: denying("api/login")}, `"/search"`},
		{ratelimit.Policy{Endpoints: denying("GET /a, POST /a")}, `"POST" after the route`},
		{ratelimit.Policy{Endpoints: denying("/a/.../b")}, `"/..." before the end`},
		{ratelimit.Policy{Endpoints: map[string]ratelimit.Limit{"/a": {}}}, `Policy.Endpoints["/a"]: Limit is not set`},
		{ratelimit.Policy{Endpoints: map[string]ratelimit.Limit{"/a": ratelimit.LeakyBucket(1, time.Second, 31)}}, `Policy.Endpoints["/a"]: Limit.Burst 31`},
		{ratelimit.Policy{Tiers: tiers, Endpoints: denying("/a")}, "Policy.Endpoints and Policy.Tiers are both set: use several policies with a Match"},
		{ratelimit.Policy{Limit: limit, Costs: map[string]int64{"/a": -1}}, `Policy.Costs["/a"]: cost -1 is negative`},
		{ratelimit.Policy{Limit: limit, Costs: map[string]int64{"/a b": 1}}, "Policy.Costs: "},
		{ratelimit.Policy{Limit: limit, Costs: map[string]int64{"/a": 11}}, `Policy.Costs["/a"]: cost 11 is above`},
		{ratelimit.Policy{Limit: limit, Costs: map[string]int64{"/a": 11}, Endpoints: denying("/b")}, "11 is above"},
	} {
		c.policy.Name = "p"
		_, err := ratelimit.New(newModelStore(), c.policy, quiet)
		if err == nil || !strings.HasPrefix(err.Error(), `ratelimit: policy "p": `) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("New says %q, want %q", err, c.says)
		}
	}
	for _, fine := range []ratelimit.Policy{
		{Limit: limit, Costs: map[string]int64{"/a": 10}},
		{Limit: limit, Costs: map[string]int64{"/a": 11}, Endpoints: map[string]ratelimit.Limit{"/a": ratelimit.PerHour(11)}},
		{Limit: limit, Costs: map[string]int64{"/a": 11}, Endpoints: map[string]ratelimit.Limit{"/b": ratelimit.Unlimited}},
		{Limit: ratelimit.PerHour(0), Costs: map[string]int64{"/a": 11}},
		{Tiers: tiers, Costs: map[string]int64{"/a": 11}},
	} {
		fine.Name = "p"
		mustNew(t, newModelStore(), fine)
	}
}

func TestEndpointsAllocateNothing(t *testing.T) {
	table := make(map[string]ratelimit.Limit)
	for i := range 100 {
		table[fmt.Sprintf("POST /r%d/{id}", i)] = ratelimit.PerHour(10)
		table[fmt.Sprintf("/s%d/...", i)] = ratelimit.PerHour(10)
	}
	allocations := func(policy ratelimit.Policy, route string) float64 {
		policy.Name = "p"
		l := mustNew(t, silentStore{}, policy)
		r, header := &fakeRequest{method: "POST", route: route}, new(silent)
		return leastAllocs(func() { l.Begin(new(ratelimit.Call), r, header) })
	}
	plain := allocations(ratelimit.Policy{Limit: ratelimit.PerHour(10)}, "/r7/{id}")
	for _, route := range []string{"/r7/{id}", "/s7/{id}", "/other"} {
		with := allocations(ratelimit.Policy{Limit: ratelimit.PerHour(10), Endpoints: table, Costs: map[string]int64{route: 2}}, route)
		if with > plain {
			t.Errorf("%s: %v allocations with tables, %v without", route, with, plain)
		}
	}
}

// silentStore admits everything and keeps nothing.
type silentStore struct{ ratelimit.Store }

func (silentStore) Take(_ context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
	for i := range charges {
		results[i] = ratelimit.Result{Allowed: true, Limit: charges[i].Limit.Capacity()}
	}
	return nil
}

func TestMatchOfASubtree(t *testing.T) {
	l := mustNew(t, newModelStore(), ratelimit.Policy{Name: "p", Match: "POST /admin/..., /u/:id", Limit: ratelimit.PerHour(0)})
	for _, c := range []struct {
		method, route string
		matches       bool
	}{
		{"POST", "/admin", true},
		{"POST", "/admin/users/{id}", true},
		{"GET", "/admin/users/{id}", false},
		{"POST", "/admin2", false},
		{"HEAD", "/u/{id}", true},
		{"GET", "/u/{name}", false},
		{"GET", "", false},
	} {
		if call, _ := begin(l, &fakeRequest{method: c.method, route: c.route}); call.Proceed() == c.matches {
			t.Errorf("%s %s: refused %v, want %v", c.method, c.route, !call.Proceed(), c.matches)
		}
	}
}
