package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

func TestTimes(t *testing.T) {
	for _, test := range []struct {
		limit ratelimit.Limit
		n     int64
		want  ratelimit.Limit
		valid bool
	}{
		{ratelimit.PerMinute(100), 5, ratelimit.PerMinute(500), true},
		{ratelimit.PerMinute(100), 1, ratelimit.PerMinute(100), true},
		{ratelimit.PerMinute(0), 5, ratelimit.PerMinute(0), true},
		{ratelimit.PerMinute(100), 0, ratelimit.PerMinute(0), true},
		{ratelimit.TokenBucket(100, time.Hour, 10), 5, ratelimit.TokenBucket(500, time.Hour, 50), true},
		{ratelimit.TokenBucket(100, time.Hour, 10), 0, ratelimit.TokenBucket(0, time.Hour, 10), true},
		{ratelimit.LeakyBucket(10, time.Second, 4), 5, ratelimit.LeakyBucket(50, time.Second, 20), true},
		{ratelimit.Unlimited, 5, ratelimit.Unlimited, true},
		{ratelimit.Unlimited, 0, ratelimit.Unlimited, true},
		{ratelimit.PerMinute(100), -1, ratelimit.PerMinute(-100), false},
		{ratelimit.PerMinute(ratelimit.MaxQuota), 2, ratelimit.PerMinute(2 * ratelimit.MaxQuota), false},
		{ratelimit.PerMinute(100), math.MaxInt64, ratelimit.PerMinute(math.MaxInt64), false},
		{ratelimit.PerMinute(3), 1 << 62, ratelimit.PerMinute(math.MaxInt64), false},
		{ratelimit.PerMinute(4), 1 << 62, ratelimit.PerMinute(math.MaxInt64), false},
		{ratelimit.SlidingLog(1000, time.Hour), 1001, ratelimit.SlidingLog(1_001_000, time.Hour), false},
		{ratelimit.Limit{}, 5, ratelimit.Limit{}, false},
	} {
		got := test.limit.Times(test.n)
		if got != test.want || (got.Validate() == nil) != test.valid {
			t.Errorf("%v times %d = %+v, valid: %v; want %+v, %v", test.limit, test.n, got, got.Validate(), test.want, test.valid)
		}
	}
}

func TestOverrides(t *testing.T) {
	d := new(directory)
	store := newModelStore()
	plans := d.tiers()
	l := mustNew(t, store, ratelimit.Policy{Name: "plan", Tiers: plans})
	for _, test := range []struct {
		name  string
		who   ratelimit.Identity
		limit ratelimit.Limit
	}{
		{"none", ratelimit.Identity{Tier: "free"}, ratelimit.TokenBucket(60, time.Hour, 2)},
		{"once", ratelimit.Identity{Tier: "free", Times: 1}, ratelimit.TokenBucket(60, time.Hour, 2)},
		{"five times", ratelimit.Identity{Tier: "free", Times: 5}, ratelimit.TokenBucket(300, time.Hour, 10)},
		{"five times the default", ratelimit.Identity{Times: 5}, ratelimit.TokenBucket(300, time.Hour, 10)},
		{"five times another", ratelimit.Identity{Tier: "gold", Times: 5}, ratelimit.TokenBucket(18000, time.Hour, 250)},
		{"of its own", ratelimit.Identity{Tier: "free", Limit: ratelimit.PerMinute(7)}, ratelimit.PerMinute(7)},
		{"of its own, twice", ratelimit.Identity{Tier: "free", Limit: ratelimit.PerMinute(7), Times: 2}, ratelimit.PerMinute(14)},
		{"of its own for the blocked", ratelimit.Identity{Tier: "blocked", Limit: ratelimit.PerMinute(7)}, ratelimit.PerMinute(7)},
		{"blocked", ratelimit.Identity{Tier: "gold", Limit: ratelimit.PerMinute(0)}, ratelimit.PerMinute(0)},
		{"blocked times five", ratelimit.Identity{Tier: "blocked", Times: 5}, ratelimit.TokenBucket(0, time.Hour, 5)},
		{"not valid", ratelimit.Identity{Tier: "gold", Limit: ratelimit.TokenBucket(5, time.Hour, 0)}, ratelimit.TokenBucket(3600, time.Hour, 50)},
		{"too large", ratelimit.Identity{Tier: "gold", Times: math.MaxInt64}, ratelimit.TokenBucket(3600, time.Hour, 50)},
		{"too long a wait", ratelimit.Identity{Tier: "gold", Limit: ratelimit.LeakyBucket(1, time.Second, 31)}, ratelimit.TokenBucket(3600, time.Hour, 50)},
		{"negative", ratelimit.Identity{Tier: "gold", Times: -5}, ratelimit.TokenBucket(3600, time.Hour, 50)},
	} {
		test.who.Key = ratelimit.UserKey(test.name)
		d.set(test.name, "", "")
		d.clients[test.name] = test.who
		for range 2 { // the second time it is remembered
			_, header := begin(l, with(test.name))
			charge := store.charges[len(store.charges)-1]
			if charge.Limit != test.limit || charge.Partition != test.who.Key {
				t.Errorf("%s: charged %v to %s, want %v", test.name, charge.Limit, charge.Partition, test.limit)
			}
			if got, want := header.Get("RateLimit-Policy"), fmt.Sprintf(`"plan";q=%d;w=%d`, test.limit.Quota, test.limit.Window/time.Second); got[:min(len(got), len(want))] != want {
				t.Errorf("%s: RateLimit-Policy %q, want %q", test.name, got, want)
			}
		}
	}
	charges := len(store.charges)
	d.clients["own"] = ratelimit.Identity{Key: "user:own", Tier: "free", Limit: ratelimit.Unlimited}
	d.clients["times"] = ratelimit.Identity{Key: "user:times", Tier: "staff", Times: 3}
	d.clients["exempt"] = ratelimit.Identity{Key: "user:exempt", Tier: "monitoring", Limit: ratelimit.PerMinute(1)}
	for _, key := range []string{"own", "times", "exempt"} {
		if call, header := begin(l, with(key)); !call.Proceed() || len(header) > 0 || len(store.charges) != charges {
			t.Errorf("%s: proceeds %v, fields %v, %d charges", key, call.Proceed(), header, len(store.charges)-charges)
		}
	}
}

// A limit of one's own says whose tier it stands in for, and is reset with it.
func TestOverridesAreSeenAndReset(t *testing.T) {
	d := new(directory)
	d.clients = map[string]ratelimit.Identity{"k": {Key: ratelimit.UserKey("ann"), Tier: "gold", Limit: ratelimit.SlidingLog(1, time.Minute)}}
	l := mustNew(t, newModelStore(), ratelimit.Policy{Name: "plan", Tiers: d.tiers()})
	begin(l, with("k"))
	call, _ := begin(l, with("k"))
	if call.Proceed() || call.Decision().Tier != "gold" {
		t.Errorf("the second request: %+v", call.Decision())
	}
	if err := l.Reset(t.Context(), ratelimit.UserKey("ann")); err != nil {
		t.Fatal(err)
	}
	if call, _ := begin(l, with("k")); !call.Proceed() {
		t.Errorf("after Reset: %+v", call.Decision())
	}
}

func TestOverridesAreDividedForTheFallback(t *testing.T) {
	d := new(directory)
	d.clients = map[string]ratelimit.Identity{"k": {Key: ratelimit.UserKey("ann"), Tier: "gold", Times: 2}}
	store, fallback := newModelStore(), newModelStore()
	store.fails = errors.New("down")
	l := mustNew(t, store, ratelimit.Policy{Name: "plan", Tiers: d.tiers(), OnStoreFailure: ratelimit.FailLocal}, ratelimit.Fallback(fallback, 10))
	_, header := begin(l, with("k"))
	if got, want := fallback.charges[0].Limit, ratelimit.TokenBucket(720, time.Hour, 10); got != want || header.Get("X-RateLimit-Limit") != "10" {
		t.Errorf("the fallback was charged %v, want %v; fields %v", got, want, header)
	}
}

// More different overrides than are remembered are right as well.
func TestManyOverrides(t *testing.T) {
	const n = 10_000
	store := newModelStore()
	i := 0
	l := mustNew(t, store, ratelimit.Policy{Name: "plan", Tiers: &ratelimit.Tiers{
		Resolve: func(*ratelimit.Request) (ratelimit.Identity, error) {
			return ratelimit.Identity{Key: "key:one", Limit: ratelimit.PerMinute(int64(n + i%n))}, nil
		},
		Limits: map[string]ratelimit.Limit{"free": ratelimit.PerMinute(1)}, Default: "free",
	}})
	for i = range 2 * n {
		begin(l, &fakeRequest{})
		if got := store.charges[i].Limit.Quota; got != int64(n+i%n) {
			t.Fatalf("request %d: quota %d", i, got)
		}
	}
}

// still is a store that admits everything and allocates nothing.
type still struct{}

func (still) Take(_ context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
	for i := range charges {
		results[i] = ratelimit.Result{Allowed: true, Limit: charges[i].Limit.Capacity(), Remaining: 1}
	}
	return nil
}
func (still) Adjust(context.Context, []ratelimit.Adjustment) error { return nil }
func (still) Reset(context.Context, []ratelimit.Key) error         { return nil }

func TestTiersAllocateNothing(t *testing.T) {
	allocations := func(p ratelimit.Policy) float64 {
		l := mustNew(t, still{}, p)
		request, header := with("k"), new(silent)
		call := new(ratelimit.Call)
		return leastAllocs(func() {
			*call = ratelimit.Call{}
			l.Begin(call, request, header)
		})
	}
	limit := ratelimit.TokenBucket(3600, time.Hour, 50)
	want := allocations(ratelimit.Policy{Name: "plan", Key: ratelimit.ByConstant("who"), Limit: limit})
	for name, who := range map[string]ratelimit.Identity{
		"tier":         {Key: "key:who", Tier: "gold"},
		"unknown":      {Key: "key:who"},
		"unknown tier": {Key: "key:who", Tier: "what"},
		"times":        {Key: "key:who", Tier: "gold", Times: 5},
		"override":     {Key: "key:who", Tier: "gold", Limit: limit.Times(3)},
	} {
		d := &directory{clients: map[string]ratelimit.Identity{"k": who}}
		// ByHeader hashes, which is not what this is about.
		plans := d.tiers()
		plans.By = ratelimit.ByConstant("k")
		if got := allocations(ratelimit.Policy{Name: "plan", Tiers: plans}); got > want {
			t.Errorf("%s: %v allocations, without tiers %v", name, got, want)
		}
	}
}
