package ratelimit_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

func TestDenialByOnePolicyCostsTheOthersNothing(t *testing.T) {
	store := newModelStore()
	l := mustNew(t, store,
		ratelimit.Policy{Name: "user", Key: ratelimit.ByUser(), Limit: ratelimit.SlidingLog(1, time.Minute)},
		ratelimit.Policy{Name: "ip", Limit: ratelimit.SlidingLog(10, time.Minute)})
	admitted := 0
	for range 11 {
		if call, _ := begin(l, &fakeRequest{user: "u1"}); call.Proceed() {
			admitted++
		}
	}
	if admitted != 1 {
		t.Errorf("user u1 was admitted %d times, want 1", admitted)
	}
	call, header := begin(l, &fakeRequest{user: "u2"})
	if !call.Proceed() {
		t.Error("user u2 was refused")
	}
	// u2's own quota of 1 has the smallest share left.
	if got := header.Get("RateLimit"); got != `"user";r=0;t=60, "ip";r=8;t=60` {
		t.Errorf("RateLimit: %s", got)
	}
}

func TestBindingPolicy(t *testing.T) {
	limit := func(quota int64) ratelimit.Limit { return ratelimit.SlidingLog(quota, time.Minute) }
	tests := []struct {
		name     string
		policies ratelimit.Policies
		calls    int
		want     string
		retry    time.Duration
	}{
		{"smallest share", ratelimit.Policies{{Name: "a", Limit: limit(100)}, {Name: "b", Limit: limit(10)}, {Name: "c", Limit: limit(1000)}}, 1, "b", 0},
		{"ties in the order given", ratelimit.Policies{{Name: "a", Limit: limit(10)}, {Name: "b", Limit: limit(10)}}, 1, "a", 0},
		{"shadow does not bind", ratelimit.Policies{{Name: "a", Limit: limit(1), Shadow: true}, {Name: "b", Limit: limit(100)}}, 3, "b", 0},
		{"hidden does not bind", ratelimit.Policies{{Name: "a", Limit: limit(2), Hidden: true}, {Name: "b", Limit: limit(100)}}, 1, "b", 0},
		{"longest wait on a denial", ratelimit.Policies{
			{Name: "a", Limit: ratelimit.SlidingLog(1, time.Second)},
			{Name: "b", Limit: ratelimit.SlidingLog(1, time.Hour)},
		}, 2, "b", time.Hour},
		{"a violated one before the smallest share", ratelimit.Policies{
			{Name: "a", Limit: limit(0)}, {Name: "b", Limit: limit(5)},
		}, 1, "a", ratelimit.Never},
		{"a hidden refusal has no name but its wait", ratelimit.Policies{
			{Name: "a", Limit: ratelimit.SlidingLog(1, time.Hour), Hidden: true}, {Name: "b", Limit: limit(5)},
		}, 2, "", time.Hour},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := mustNew(t, newModelStore(), test.policies)
				var d ratelimit.Decision
				for range test.calls {
					d = l.Allow(t.Context(), "k")
				}
				if d.Policy != test.want || d.RetryAfter != test.retry {
					t.Errorf("binding policy %q, retry after %v; want %q, %v", d.Policy, d.RetryAfter, test.want, test.retry)
				}
				if d.Allowed != (test.retry == 0) {
					t.Errorf("allowed: %v", d.Allowed)
				}
			})
		})
	}
}

func TestMatchAndMethod(t *testing.T) {
	l := mustNew(t, newModelStore(),
		ratelimit.Policy{Name: "search", Match: "GET /search/:id, /reports", Limit: ratelimit.SlidingLog(1, time.Hour)})
	tests := []struct {
		method, route string
		applies       bool
	}{
		{"GET", "/search/{id}", true},
		{"HEAD", "/search/:id", true},
		{"POST", "/search/{id}", false},
		{"POST", "/reports", true},
		{"GET", "GET /reports", true},
		{"GET", "/", false},
		{"GET", "", false},
	}
	for _, test := range tests {
		_, header := begin(l, &fakeRequest{method: test.method, route: test.route, peer: test.method + test.route})
		if applies := header.Get("RateLimit-Policy") != ""; applies != test.applies {
			t.Errorf("%s %s: applies %v, want %v", test.method, test.route, applies, test.applies)
		}
	}
}

func TestRouteSpellings(t *testing.T) {
	for _, spellings := range [][]string{
		{"/users/{id}", "/users/:id", "GET /users/{id}", "example.com/users/{id}", "/users/{id:[0-9]+}", "/users/:id<int>", "/users/:id?"},
		{"/files/{path...}", "/files/*path"},
		{"/files/{...}", "/files/*", "/files/*1", "/files/+"},
	} {
		store := newModelStore()
		l := mustNew(t, store, ratelimit.Policy{Name: "p", Key: ratelimit.ByRoute(), Limit: ratelimit.PerMinute(100)})
		for _, route := range spellings {
			begin(l, &fakeRequest{route: route})
		}
		for _, charge := range store.charges {
			if charge.Partition != store.charges[0].Partition {
				t.Errorf("%v: partitions %q and %q", spellings, store.charges[0].Partition, charge.Partition)
			}
		}
	}
}

func TestExemptions(t *testing.T) {
	policy := ratelimit.Policy{Name: "p", Limit: ratelimit.SlidingLog(0, time.Hour)}
	spared := policy
	spared.Name, spared.Exempt = "q", []ratelimit.Exemption{ratelimit.ExemptUsers("root")}
	l := mustNew(t, newModelStore(), policy, spared,
		ratelimit.Exempt(ratelimit.ExemptIPs("192.0.2.0/24"), ratelimit.ExemptIf(func(r *ratelimit.Request) bool { return r.Header("X-Probe") == "1" })))
	tests := []struct {
		name string
		r    fakeRequest
		pass bool
	}{
		{"network", fakeRequest{peer: "192.0.2.9:1"}, true},
		{"mapped address", fakeRequest{peer: "[::ffff:192.0.2.9]:1"}, true},
		{"another network", fakeRequest{peer: "198.51.100.1:1"}, false},
		{"a forged header", fakeRequest{peer: "198.51.100.1:1", header: http.Header{"X-Forwarded-For": {"192.0.2.9"}}}, false},
		{"function", fakeRequest{peer: "198.51.100.1:1", header: http.Header{"X-Probe": {"1"}}}, true},
		{"policy's own exemption is for that policy", fakeRequest{peer: "198.51.100.1:1", user: "root"}, false},
	}
	for _, test := range tests {
		call, header := begin(l, &test.r)
		if call.Proceed() != test.pass {
			t.Errorf("%s: proceeds %v, want %v", test.name, call.Proceed(), test.pass)
		}
		if test.pass && len(header) > 0 {
			t.Errorf("%s: exempt, but has fields %v", test.name, header)
		}
	}
	only := mustNew(t, newModelStore(), spared)
	if call, header := begin(only, &fakeRequest{user: "root"}); !call.Proceed() || len(header) > 0 {
		t.Errorf("a policy's exempt user: proceeds %v, fields %v", call.Proceed(), header)
	}
}

func TestTiers(t *testing.T) {
	failing := errors.New("directory is down")
	var err error
	plans := &ratelimit.Tiers{
		Resolve: func(r *ratelimit.Request) (ratelimit.Identity, error) {
			if err != nil {
				return ratelimit.Identity{Key: "bogus", Tier: "gold"}, err
			}
			if r.User() == "" {
				return ratelimit.Identity{}, nil
			}
			return ratelimit.Identity{Key: ratelimit.UserKey(r.User()), Tier: r.Header("X-Tier")}, nil
		},
		Limits: map[string]ratelimit.Limit{
			"free": ratelimit.TokenBucket(60, time.Hour, 2), "gold": ratelimit.TokenBucket(3600, time.Hour, 50),
			"staff": ratelimit.Unlimited, "blocked": ratelimit.TokenBucket(0, time.Hour, 1),
		},
		Default: "free",
	}
	store := newModelStore()
	l := mustNew(t, store, ratelimit.Policy{Name: "plan", Tiers: plans})
	as := func(user, tier string) (*ratelimit.Call, http.Header) {
		return begin(l, &fakeRequest{user: user, header: http.Header{"X-Tier": {tier}}})
	}
	for _, test := range []struct{ user, tier, limit, partition string }{
		{"ann", "gold", "50", "user:ann"},
		{"bob", "free", "2", "user:bob"},
		{"cid", "unheard-of", "2", "user:cid"},
		{"dan", "", "2", "user:dan"},
		{"", "gold", "2", "anon-ip:192.0.2.1"},
	} {
		_, header := as(test.user, test.tier)
		if got := header.Get("X-RateLimit-Limit"); got != test.limit {
			t.Errorf("user %q of tier %q: limit %s, want %s", test.user, test.tier, got, test.limit)
		}
		if got := store.charges[len(store.charges)-1].Partition; string(got) != test.partition {
			t.Errorf("user %q: partition %q, want %q", test.user, got, test.partition)
		}
	}
	asked := len(store.charges)
	if call, header := as("eve", "staff"); !call.Proceed() || len(header) != 0 || len(store.charges) != asked {
		t.Errorf("an unlimited tier: proceeds %v, fields %v, %d charges", call.Proceed(), header, len(store.charges)-asked)
	}
	// What was used stays when the tier changes.
	as("fay", "free")
	as("fay", "free")
	if call, _ := as("fay", "free"); call.Proceed() {
		t.Error("a third request of the free tier passed")
	}
	if _, header := as("fay", "gold"); header.Get("X-RateLimit-Remaining") != "47" {
		t.Errorf("after the upgrade %s are left, want 47", header.Get("X-RateLimit-Remaining"))
	}
	err = failing
	if _, header := as("ann", "gold"); header.Get("X-RateLimit-Limit") != "2" {
		t.Errorf("with a failing resolver the limit is %s, want the default tier's 2", header.Get("X-RateLimit-Limit"))
	}
}

func TestFailurePolicies(t *testing.T) {
	down := errors.New("dial 10.9.8.7: refused")
	policy := func(name string, on ratelimit.FailurePolicy) ratelimit.Policy {
		return ratelimit.Policy{Name: name, Limit: ratelimit.SlidingLog(9, time.Hour), OnStoreFailure: on}
	}
	shadow := policy("s", ratelimit.FailClosed)
	shadow.Shadow = true
	tests := []struct {
		name     string
		policies []ratelimit.Policy
		status   int
		reason   ratelimit.Reason
		limit    string
	}{
		{"open", []ratelimit.Policy{policy("a", ratelimit.FailOpen)}, 0, ratelimit.ReasonFailedOpen, ""},
		{"closed beats local", []ratelimit.Policy{policy("a", ratelimit.FailLocal), policy("b", ratelimit.FailClosed)}, 503, ratelimit.ReasonFailedClosed, ""},
		{"closed beats open", []ratelimit.Policy{policy("a", ratelimit.FailOpen), policy("b", ratelimit.FailClosed)}, 503, ratelimit.ReasonFailedClosed, ""},
		{"local beats open", []ratelimit.Policy{policy("a", ratelimit.FailOpen), policy("b", ratelimit.FailLocal)}, 0, ratelimit.ReasonWithinLimits, "4"},
		{"shadow refuses nothing", []ratelimit.Policy{policy("a", ratelimit.FailOpen), shadow}, 0, ratelimit.ReasonFailedOpen, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			store := newModelStore()
			store.fails = down
			var seen []ratelimit.Decision
			var failures []ratelimit.StoreFailure
			options := []ratelimit.Option{
				ratelimit.Fallback(newModelStore(), 2),
				ratelimit.Observe(ratelimit.Observer{
					Decision:     func(_ context.Context, o *ratelimit.Observation) { seen = append(seen, *o.Decision) },
					StoreFailure: func(_ context.Context, f *ratelimit.StoreFailure) { failures = append(failures, *f) },
				}),
			}
			for _, p := range test.policies {
				options = append(options, p)
			}
			l := mustNew(t, store, options...)
			call, header := begin(l, &fakeRequest{})
			if got := call.Answer().Status; got != test.status || call.Proceed() != (test.status == 0) {
				t.Errorf("status %d, proceeds %v; want %d", got, call.Proceed(), test.status)
			}
			if got := header.Get("X-RateLimit-Limit"); got != test.limit {
				t.Errorf("X-RateLimit-Limit %q, want %q", got, test.limit)
			}
			if len(seen) != 1 || seen[0].Reason != test.reason || !seen[0].Degraded || !errors.Is(seen[0].Err, down) {
				t.Errorf("observed decisions %+v, want one degraded for %v", seen, test.reason)
			}
			if len(failures) != 1 || failures[0].Operation != "take" || !errors.Is(failures[0].Err, down) {
				t.Errorf("observed failures %+v", failures)
			}
		})
	}
}

func TestFailLocalDividesByReplicas(t *testing.T) {
	store := newModelStore()
	store.fails = errors.New("down")
	l := mustNew(t, store, ratelimit.Fallback(newModelStore(), 3),
		ratelimit.Policy{Name: "p", Limit: ratelimit.TokenBucket(10, time.Hour, 7), OnStoreFailure: ratelimit.FailLocal})
	admitted := 0
	for range 10 {
		if d := l.Allow(t.Context(), "k"); d.Allowed {
			admitted++
		}
	}
	if admitted != 2 {
		t.Errorf("a third of a burst of 7 admitted %d, want 2", admitted)
	}
	store.fails = nil
	if d := l.Allow(t.Context(), "k"); !d.Allowed || d.Degraded || d.Result.Remaining != 6 {
		t.Errorf("after the recovery: %+v", d)
	}
}

func TestBothStoresFail(t *testing.T) {
	store, fallback := newModelStore(), newModelStore()
	store.fails, fallback.fails = errors.New("main down"), errors.New("fallback down")
	l := mustNew(t, store, ratelimit.Fallback(fallback, 1),
		ratelimit.Policy{Name: "p", Limit: ratelimit.PerMinute(1), OnStoreFailure: ratelimit.FailLocal})
	d := l.Allow(t.Context(), "k")
	if !d.Allowed || d.Reason != ratelimit.ReasonFailedOpen || !errors.Is(d.Err, store.fails) || !errors.Is(d.Err, fallback.fails) {
		t.Errorf("decision %+v", d)
	}
}

func TestCanceledIsNeitherDenialNorFailure(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	failures := 0
	l := mustNew(t, newModelStore(), ratelimit.Policy{Name: "p", Limit: ratelimit.PerMinute(1), OnStoreFailure: ratelimit.FailClosed},
		ratelimit.Observe(ratelimit.Observer{StoreFailure: func(context.Context, *ratelimit.StoreFailure) { failures++ }}))
	d := l.Allow(ctx, "k")
	if d.Allowed || d.Reason != ratelimit.ReasonCanceled || !errors.Is(d.Err, context.Canceled) || failures != 0 {
		t.Errorf("decision %+v, %d failures", d, failures)
	}
	call, header := begin(l, &fakeRequest{ctx: ctx})
	if call.Proceed() || call.Answer().Status != http.StatusServiceUnavailable || header.Get("X-RateLimit-Limit") != "" {
		t.Errorf("answer %+v, fields %v", call.Answer(), header)
	}
}

func TestNegativeCostIsOne(t *testing.T) {
	store := newModelStore()
	l := mustNew(t, store, ratelimit.Policy{Name: "p", Limit: ratelimit.PerMinute(5), Cost: func(*ratelimit.Request) int64 { return -7 }})
	begin(l, &fakeRequest{})
	l.AllowN(t.Context(), "k", -3)
	for _, charge := range store.charges {
		if charge.Cost != 1 {
			t.Errorf("charged %d, want 1", charge.Cost)
		}
	}
}

func TestWholeLimiterInShadow(t *testing.T) {
	var refused int
	l := mustNew(t, newModelStore(), ratelimit.Shadow(), ratelimit.Policy{Name: "p", Limit: ratelimit.SlidingLog(1, time.Hour)},
		ratelimit.Observe(ratelimit.Observer{Decision: func(_ context.Context, o *ratelimit.Observation) {
			for _, p := range o.Decision.Policies() {
				if p.Violated() {
					refused++
				}
			}
		}}))
	for range 3 {
		if call, header := begin(l, &fakeRequest{}); !call.Proceed() || len(header) > 0 {
			t.Errorf("in shadow: proceeds %v, fields %v", call.Proceed(), header)
		}
	}
	if refused != 2 {
		t.Errorf("%d would have been refused, want 2", refused)
	}
}

func TestDiagnosticsOnceEach(t *testing.T) {
	logger, log := newRecords()
	store := newModelStore()
	l := mustNew(t, store, ratelimit.Logger(logger), ratelimit.Policy{Name: "p", Match: "GET /a", Key: ratelimit.ByRoute(), Limit: ratelimit.PerMinute(5)},
		ratelimit.Policy{Name: "q", Limit: ratelimit.PerMinute(5), Cost: func(*ratelimit.Request) int64 { return -1 }})
	for range 2 {
		begin(l, &fakeRequest{unknown: true, header: http.Header{"X-Forwarded-For": {"192.0.2.1"}}})
		begin(l, &fakeRequest{peer: "@"})
		call, _ := begin(l, &fakeRequest{})
		begin(l, &fakeRequest{ctx: call})
		l.AccountUnset()
		l.UserUnset()
	}
	byWhom := mustNew(t, newModelStore(), ratelimit.Logger(logger),
		ratelimit.Policy{Name: "account", Key: ratelimit.Combine(ratelimit.ByRoute(), ratelimit.ByAccount()), Limit: ratelimit.PerMinute(5)},
		ratelimit.Policy{Name: "user", Key: ratelimit.FirstOf(ratelimit.Combine(ratelimit.ByUserOnly()), ratelimit.ByIP()), Limit: ratelimit.PerMinute(5)})
	for range 2 {
		byWhom.AccountUnset()
		byWhom.UserUnset()
	}
	mustNew(t, store, ratelimit.Logger(logger), ratelimit.Policy{Name: "p", Limit: ratelimit.PerMinute(6)}, ratelimit.TrustProxies("0.0.0.0/0"))
	want := []string{
		ratelimit.CodeAddressUnknown, ratelimit.CodeMountedTwice, ratelimit.CodeNegativeCost, ratelimit.CodePolicyDiffers,
		ratelimit.CodeRouteUnknown, ratelimit.CodeUntrustedForwarding, ratelimit.CodeWideTrust,
		ratelimit.CodeAccountUnset, ratelimit.CodeUserUnset,
	}
	slices.Sort(log.codes)
	slices.Sort(want)
	if !slices.Equal(log.codes, want) {
		t.Errorf("logged %v\nwant   %v", log.codes, want)
	}
}

func TestFailedOpenAdvertisesWhatWouldHaveApplied(t *testing.T) {
	store, fallback := newModelStore(), newModelStore()
	store.fails, fallback.fails = errors.New("main down"), errors.New("fallback down")
	l := mustNew(t, store, ratelimit.Fallback(fallback, 2),
		ratelimit.Policy{Name: "a", Limit: ratelimit.PerMinute(10)},
		ratelimit.Policy{Name: "b", Limit: ratelimit.PerMinute(20), OnStoreFailure: ratelimit.FailLocal})
	call, header := begin(l, &fakeRequest{})
	if got := header.Get("RateLimit-Policy"); !call.Proceed() || got != `"a";q=10;w=60, "b";q=20;w=60` || len(header) != 1 {
		t.Errorf("proceeds %v, fields %v", call.Proceed(), header)
	}
}
