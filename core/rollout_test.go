package ratelimit_test

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// enforced tells for which keys a policy is enforced: those that a quota of 0
// refuses.
func enforced(t *testing.T, name string, percent int, keys []ratelimit.Partition) map[ratelimit.Partition]bool {
	t.Helper()
	l := mustNew(t, newModelStore(), ratelimit.Policy{Name: name, Limit: ratelimit.PerMinute(0), EnforcedPercent: percent})
	all := make(map[ratelimit.Partition]bool)
	for _, key := range keys {
		if d := l.Allow(t.Context(), key); !d.Allowed {
			all[key] = true
		}
	}
	return all
}

func TestEnforcedShareOfKeys(t *testing.T) {
	const n = 10_000
	for kind, key := range map[string]func(i int) ratelimit.Partition{
		"users":     func(i int) ratelimit.Partition { return ratelimit.UserKey(strconv.Itoa(i)) },
		"addresses": func(i int) ratelimit.Partition { return ratelimit.Partition(fmt.Sprintf("ip:10.0.%d.%d", i>>8, i&255)) },
		"hashes":    func(i int) ratelimit.Partition { return ratelimit.HeaderKey("X-API-Key", strconv.Itoa(i)) },
	} {
		keys := make([]ratelimit.Partition, n)
		for i := range keys {
			keys[i] = key(i)
		}
		before := map[ratelimit.Partition]bool{}
		for _, percent := range []int{1, 2, 5, 10, 20, 50, 80, 99, 100} {
			now := enforced(t, "p", percent, keys)
			// Five standard deviations, of which there are at most 50 keys.
			if off := len(now) - n*percent/100; off < -250 || off > 250 || percent == 100 && off != 0 || percent <= 2 && (off < -70 || off > 70) {
				t.Errorf("%s: %d %% is %d of %d keys", kind, percent, len(now), n)
			}
			for key := range before {
				if !now[key] {
					t.Fatalf("%s: %s is not enforced any more at %d %%", kind, key, percent)
				}
			}
			before = now
		}
		// Another policy is for others: of its tenth a tenth is also in this one's.
		both, other := 0, enforced(t, "q", 10, keys)
		for key := range enforced(t, "p", 10, keys) {
			if other[key] {
				both++
			}
		}
		if both < 50 || both > 150 {
			t.Errorf("%s: %d keys are in the tenth of both policies, want about 100", kind, both)
		}
	}
}

// Which keys are enforced must not change between processes and versions.
func TestEnforcedKeysAreAlwaysTheSame(t *testing.T) {
	for key, percentile := range map[ratelimit.Partition]int{
		"user:ann": 96, "user:bob": 27, "ip:192.0.2.1": 42, "": 25,
	} {
		for percent := 1; percent < 100; percent++ {
			if got := enforced(t, "per-ip", percent, []ratelimit.Partition{key})[key]; got != (percentile < percent) {
				t.Fatalf("%q is enforced at %d %%: %v, want %d first", key, percent, got, percentile+1)
			}
		}
	}
}

// oneOfEach returns a user for whom a policy "p" is enforced at 50 % and another
// for whom it isn't.
func oneOfEach(t *testing.T) (in, out string) {
	t.Helper()
	for i := range 1000 {
		if in != "" && out != "" {
			return in, out
		}
		user := fmt.Sprint("user", i)
		if key := ratelimit.UserKey(user); enforced(t, "p", 50, []ratelimit.Partition{key})[key] {
			in = user
		} else {
			out = user
		}
	}
	t.Fatalf("of 1000 users none or all are enforced at 50 %%")
	return in, out
}

func TestKeysBeyondTheShareAreInShadow(t *testing.T) {
	in, out := oneOfEach(t)
	tiers := &ratelimit.Tiers{
		Resolve: func(r *ratelimit.Request) (ratelimit.Identity, error) {
			return ratelimit.Identity{Key: ratelimit.UserKey(r.User()), Tier: "free"}, nil
		},
		Limits: map[string]ratelimit.Limit{"free": ratelimit.PerHour(1)}, Default: "free",
	}
	override := &ratelimit.Tiers{Resolve: func(r *ratelimit.Request) (ratelimit.Identity, error) {
		return ratelimit.Identity{Key: ratelimit.UserKey(r.User()), Limit: ratelimit.PerHour(1)}, nil
	}, Limits: map[string]ratelimit.Limit{"": ratelimit.PerHour(9)}}
	for name, policy := range map[string]ratelimit.Policy{
		"limit":    {Key: ratelimit.ByUser(), Limit: ratelimit.PerHour(1)},
		"endpoint": {Key: ratelimit.ByUser(), Endpoints: map[string]ratelimit.Limit{"POST /a": ratelimit.PerHour(1)}},
		"tiers":    {Tiers: tiers},
		"override": {Tiers: override},
		"penalty":  {Key: ratelimit.ByUser(), Limit: ratelimit.PerHour(1), Penalty: &ratelimit.Penalty{}},
		"local":    {Key: ratelimit.ByUser(), Limit: ratelimit.PerHour(1), OnStoreFailure: ratelimit.FailLocal},
	} {
		t.Run(name, func(t *testing.T) {
			policy.Name, policy.EnforcedPercent = "p", 50
			store := newModelStore()
			if name == "local" {
				store.fails = errors.New("down")
			}
			// Another policy, which has the store asked for in any case.
			hidden := ratelimit.Policy{Name: "h", Limit: ratelimit.PerHour(99), Hidden: true, OnStoreFailure: policy.OnStoreFailure}
			l := mustNew(t, store, policy, hidden, ratelimit.Fallback(newModelStore(), 1))
			for i := range 3 {
				call, header := begin(l, &fakeRequest{method: "POST", route: "/a", user: in})
				if call.Proceed() != (i == 0) || header.Get("RateLimit-Policy") == "" && header.Get("RateLimit") == "" {
					t.Errorf("request %d of an enforced key: proceeds %v with %v", i, call.Proceed(), header)
				}
				call, header = begin(l, &fakeRequest{method: "POST", route: "/a", user: out})
				if !call.Proceed() || len(header) > 0 {
					t.Errorf("request %d of a key in shadow: proceeds %v with %v", i, call.Proceed(), header)
				}
			}
		})
	}
}

// Who was blocked while the share was larger is free when it is smaller.
func TestBlocksOfKeysBeyondTheShare(t *testing.T) {
	store, policy := newModelStore(), ratelimit.Policy{Name: "p", Key: ratelimit.ByUser(), Limit: ratelimit.PerHour(1), Penalty: &ratelimit.Penalty{}}
	all := mustNew(t, store, policy)
	policy.EnforcedPercent = 50
	half := mustNew(t, store, policy)
	in, out := oneOfEach(t)
	for _, user := range []string{in, out} {
		for range 2 {
			begin(all, &fakeRequest{user: user})
		}
		want := ratelimit.ReasonWithinLimits
		if user == in {
			want = ratelimit.ReasonBlocked
		}
		if d := half.Allow(t.Context(), ratelimit.UserKey(user)); d.Reason != want || d.Allowed != (user == out) {
			t.Errorf("%s: allowed %v, %v", user, d.Allowed, d.Reason)
		}
	}
}

func TestKeysBeyondTheShareAreReported(t *testing.T) {
	in, out := oneOfEach(t)
	l := mustNew(t, newModelStore(), ratelimit.Policy{Name: "p", Limit: ratelimit.PerHour(1), EnforcedPercent: 50})
	for _, user := range []string{in, out} {
		l.Allow(t.Context(), ratelimit.UserKey(user))
		for _, d := range []ratelimit.Decision{l.Allow(t.Context(), ratelimit.UserKey(user)), l.Peek(t.Context(), ratelimit.UserKey(user))} {
			p := d.Policies()[0]
			if !p.Violated() || p.Shadow != (user == out) || d.Allowed != (user == out) || (d.Policy == "p") != (user == in) {
				t.Errorf("%s: allowed %v by %q, violated %v, shadow %v", user, d.Allowed, d.Policy, p.Violated(), p.Shadow)
			}
		}
	}
}

func TestStoreFailureOfKeysBeyondTheShare(t *testing.T) {
	in, out := oneOfEach(t)
	store := newModelStore()
	store.fails = errors.New("down")
	l := mustNew(t, store, ratelimit.Policy{Name: "p", Limit: ratelimit.PerHour(1), EnforcedPercent: 50, OnStoreFailure: ratelimit.FailClosed})
	for user, reason := range map[string]ratelimit.Reason{in: ratelimit.ReasonFailedClosed, out: ratelimit.ReasonFailedOpen} {
		if d := l.Allow(t.Context(), ratelimit.UserKey(user)); d.Reason != reason {
			t.Errorf("%s: %v, want %v", user, d.Reason, reason)
		}
	}
}

// A key is in or out as a whole, whatever endpoints it uses.
func TestShareIsTheSameForAllEndpoints(t *testing.T) {
	l := mustNew(t, newModelStore(), ratelimit.Policy{
		Name: "p", Key: ratelimit.ByUser(), Limit: ratelimit.PerHour(0), EnforcedPercent: 30, Endpoints: denying("/a", "/b", "/c/..."),
	})
	refusals := 0
	for i := range 300 {
		n := 0
		for _, route := range []string{"/a", "/b", "/c/d", "/e"} {
			if call, _ := begin(l, &fakeRequest{method: http.MethodGet, route: route, user: strconv.Itoa(i)}); !call.Proceed() {
				n++
			}
		}
		if n != 0 && n != 4 {
			t.Errorf("user %d is refused on %d of 4 endpoints", i, n)
		}
		refusals += n / 4
	}
	if refusals < 50 || refusals > 130 {
		t.Errorf("%d of 300 users are refused, want about 90", refusals)
	}
}

func TestEnforcedPercentErrors(t *testing.T) {
	for _, percent := range []int{-1, 101} {
		_, err := ratelimit.New(newModelStore(), ratelimit.Policy{Name: "p", Limit: ratelimit.PerHour(1), EnforcedPercent: percent})
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf(`policy "p": Policy.EnforcedPercent %d is out of range: use 1 to 100`, percent)) {
			t.Errorf("%d: %v", percent, err)
		}
	}
	// In shadow nobody is refused, whatever the share.
	for _, options := range [][]ratelimit.Option{
		{ratelimit.Policy{Name: "p", Limit: ratelimit.PerHour(0), EnforcedPercent: 99, Shadow: true}},
		{ratelimit.Policy{Name: "p", Limit: ratelimit.PerHour(0), EnforcedPercent: 99}, ratelimit.Shadow()},
	} {
		l := mustNew(t, newModelStore(), options...)
		for i := range 20 {
			if d := l.Allow(t.Context(), ratelimit.UserKey(strconv.Itoa(i))); !d.Allowed || !d.Policies()[0].Shadow {
				t.Errorf("refused in shadow: %+v", d)
			}
		}
	}
}

func TestShareAllocatesNothing(t *testing.T) {
	allocations := func(percent int) float64 {
		l := mustNew(t, silentStore{}, ratelimit.Policy{Name: "p", Limit: ratelimit.PerHour(10), EnforcedPercent: percent})
		r, header := &fakeRequest{method: "GET", route: "/"}, new(silent)
		return leastAllocs(func() { l.Begin(new(ratelimit.Call), r, header) })
	}
	if with, without := max(allocations(1), allocations(99)), allocations(0); with > without {
		t.Errorf("%v allocations with a share, %v without", with, without)
	}
}
