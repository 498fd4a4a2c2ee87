package prommetrics_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// Every series of one policy, after 25 requests against a limit of 10.
func TestEverySeriesOfAPolicy(t *testing.T) {
	b := newBench(t)
	serve(b.limiter(ratelimit.Policy{Name: "ip", Limit: ratelimit.FixedWindow(10, time.Hour)}), 25, get("/users/:id"))
	b.want("rate_limit_", map[string]float64{
		`rate_limit_requests_total{method="GET",outcome="allowed",policy="ip",reason="within_limits",route="/users/{id}"}`: 10,
		`rate_limit_requests_total{method="GET",outcome="refused",policy="ip",reason="rate_limited",route="/users/{id}"}`:  15,

		`rate_limit_exceeded_total{policy="ip"}`:        15,
		`rate_limit_near_limit_total{policy="ip"}`:      3, // with 8, 9 and 10 of 10 used
		`rate_limit_remaining_ratio_count{policy="ip"}`: 25,

		// What was left: 9 to 0 tenths, and nothing 15 times.
		`rate_limit_remaining_ratio_bucket{policy="ip",le="0"}`:    16,
		`rate_limit_remaining_ratio_bucket{policy="ip",le="0.05"}`: 16,
		`rate_limit_remaining_ratio_bucket{policy="ip",le="0.1"}`:  17,
		`rate_limit_remaining_ratio_bucket{policy="ip",le="0.2"}`:  18,
		`rate_limit_remaining_ratio_bucket{policy="ip",le="0.3"}`:  19,
		`rate_limit_remaining_ratio_bucket{policy="ip",le="0.5"}`:  21,
		`rate_limit_remaining_ratio_bucket{policy="ip",le="0.7"}`:  23,
		`rate_limit_remaining_ratio_bucket{policy="ip",le="0.9"}`:  25,
		`rate_limit_remaining_ratio_bucket{policy="ip",le="1"}`:    25,
	})
}

// A request is counted once, by the policy that binds; policies are counted each
// by itself.
func TestSeveralPolicies(t *testing.T) {
	b := newBench(t)
	plans := &ratelimit.Tiers{
		Resolve: func(r *ratelimit.Request) (ratelimit.Identity, error) {
			key := r.Header("X-API-Key")
			return ratelimit.Identity{Key: ratelimit.UserKey(key), Tier: key}, nil
		},
		Default: "free",
		Limits:  map[string]ratelimit.Limit{"free": ratelimit.FixedWindow(2, time.Hour), "paid": ratelimit.FixedWindow(20, time.Hour)},
	}
	l := b.limiter(
		ratelimit.Policy{Name: "ip", Limit: ratelimit.FixedWindow(8, time.Hour)},
		ratelimit.Policy{Name: "plan", Tiers: plans},
		ratelimit.Policy{Name: "trial", Limit: ratelimit.FixedWindow(3, time.Hour), Shadow: true},
		ratelimit.Policy{Name: "reports", Match: "POST /reports", Limit: ratelimit.FixedWindow(100, time.Hour)},
	)
	free, paid := get("/a"), get("/a")
	free.apiKey, paid.apiKey = "free", "paid"
	serve(l, 5, free) // 2 pass, 3 are over their plan
	serve(l, 9, paid) // 6 pass, 3 are over the address's limit, which binds all along
	b.want("rate_limit_requests_total", map[string]float64{
		`rate_limit_requests_total{method="GET",outcome="allowed",policy="plan",reason="within_limits",route="/a",tier="free"}`: 2,
		`rate_limit_requests_total{method="GET",outcome="refused",policy="plan",reason="rate_limited",route="/a",tier="free"}`:  3,
		`rate_limit_requests_total{method="GET",outcome="allowed",policy="ip",reason="within_limits",route="/a"}`:               6,
		`rate_limit_requests_total{method="GET",outcome="refused",policy="ip",reason="rate_limited",route="/a"}`:                3,
	})
	b.want("rate_limit_exceeded_total", map[string]float64{
		`rate_limit_exceeded_total{policy="plan",tier="free"}`: 3,
		`rate_limit_exceeded_total{policy="ip"}`:               3,
	})
	b.want("rate_limit_remaining_ratio_count", map[string]float64{
		`rate_limit_remaining_ratio_count{policy="plan",tier="free"}`: 5,
		`rate_limit_remaining_ratio_count{policy="plan",tier="paid"}`: 9,
		`rate_limit_remaining_ratio_count{policy="ip"}`:               14,
		`rate_limit_remaining_ratio_count{policy="trial"}`:            14,
	})
	// The policy in shadow is charged with what passes: after 3 of the 8 it
	// would have refused the other 5, and the 3 that the address's limit refuses.
	b.want("rate_limit_shadow_exceeded_total", map[string]float64{`rate_limit_shadow_exceeded_total{policy="trial"}`: 8})
}

// What is not decided by limits.
func TestOtherReasons(t *testing.T) {
	b := newBench(t)
	l := b.limiter(
		ratelimit.Policy{Name: "ip", Match: "GET /limited", Limit: ratelimit.Unlimited},
		ratelimit.Exempt(ratelimit.ExemptIPs("198.51.100.0/24")),
	)
	exempt, odd, ended := get("/limited"), get(""), get("/hidden")
	exempt.peer = "198.51.100.1:1"
	odd.method = "BREW"
	serve(l, 1, exempt)
	serve(l, 2, odd)
	serve(l, 3, get("/limited"))

	// A hidden policy refuses: here it has its name.
	hidden := b.limiter(ratelimit.Policy{Name: "hidden", Limit: ratelimit.FixedWindow(0, time.Hour), Hidden: true})
	serve(hidden, 4, get("/hidden"))

	// Without HTTP.
	b.limiter(ratelimit.Policy{Name: "jobs", Limit: ratelimit.FixedWindow(9, time.Hour)}).Allow(t.Context(), "job")

	// The request ends before it is decided.
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	ended.context = gone
	serve(b.on(&failing{err: context.Canceled}, ratelimit.Policy{Name: "ip", Limit: ratelimit.PerMinute(9)}), 5, ended)

	b.want("rate_limit_requests_total", map[string]float64{
		`rate_limit_requests_total{method="GET",outcome="allowed",reason="exempt",route="/limited"}`:                      1,
		`rate_limit_requests_total{method="OTHER",outcome="allowed",reason="no_policy",route="unmatched"}`:                2,
		`rate_limit_requests_total{method="GET",outcome="allowed",reason="within_limits",route="/limited"}`:               3,
		`rate_limit_requests_total{method="GET",outcome="refused",policy="hidden",reason="rate_limited",route="/hidden"}`: 4,
		`rate_limit_requests_total{method="GET",outcome="canceled",reason="canceled",route="/hidden"}`:                    5,
		`rate_limit_requests_total{outcome="allowed",policy="jobs",reason="within_limits"}`:                               1,
	})
	b.want("rate_limit_store_failures_total", map[string]float64{})
}

// A block by a penalty has a reason of its own.
func TestBlocks(t *testing.T) {
	b := newBench(t)
	l := b.limiter(ratelimit.Policy{Name: "ip", Limit: ratelimit.FixedWindow(1, time.Hour), Penalty: &ratelimit.Penalty{}})
	serve(l, 4, get("/"))
	b.want("rate_limit_requests_total", map[string]float64{
		`rate_limit_requests_total{method="GET",outcome="allowed",policy="ip",reason="within_limits",route="/"}`: 1,
		`rate_limit_requests_total{method="GET",outcome="refused",policy="ip",reason="blocked",route="/"}`:       3,
	})
	b.want("rate_limit_exceeded_total", map[string]float64{`rate_limit_exceeded_total{policy="ip"}`: 3})
}

// A store that fails by a script: 2 calls of each of two kinds, and in between
// it works.
func TestFailingStores(t *testing.T) {
	for _, test := range []struct {
		on       ratelimit.FailurePolicy
		fallback error
		want     map[string]float64
	}{
		{ratelimit.FailOpen, nil, map[string]float64{
			`rate_limit_requests_total{outcome="allowed",reason="failed_open"}`:                 4,
			`rate_limit_requests_total{outcome="allowed",policy="p",reason="within_limits"}`:    1,
			`rate_limit_degraded_total{mode="open"}`:                                            4,
			`rate_limit_remaining_ratio_count{policy="p"}`:                                      1,
			`rate_limit_store_failures_total{fallback="false",kind="network",operation="take"}`: 2,
			`rate_limit_store_failures_total{fallback="false",kind="timeout",operation="take"}`: 2,
		}},
		{ratelimit.FailClosed, nil, map[string]float64{
			`rate_limit_requests_total{outcome="refused",reason="failed_closed"}`:               4,
			`rate_limit_requests_total{outcome="allowed",policy="p",reason="within_limits"}`:    1,
			`rate_limit_degraded_total{mode="closed"}`:                                          4,
			`rate_limit_remaining_ratio_count{policy="p"}`:                                      1,
			`rate_limit_store_failures_total{fallback="false",kind="network",operation="take"}`: 2,
			`rate_limit_store_failures_total{fallback="false",kind="timeout",operation="take"}`: 2,
		}},
		{ratelimit.FailLocal, nil, map[string]float64{
			`rate_limit_requests_total{outcome="allowed",policy="p",reason="within_limits"}`:    3, // the fallback has 2
			`rate_limit_requests_total{outcome="refused",policy="p",reason="rate_limited"}`:     2,
			`rate_limit_exceeded_total{policy="p"}`:                                             2,
			`rate_limit_near_limit_total{policy="p"}`:                                           1,
			`rate_limit_degraded_total{mode="local"}`:                                           4,
			`rate_limit_remaining_ratio_count{policy="p"}`:                                      5,
			`rate_limit_store_failures_total{fallback="false",kind="network",operation="take"}`: 2,
			`rate_limit_store_failures_total{fallback="false",kind="timeout",operation="take"}`: 2,
		}},
		{ratelimit.FailLocal, errors.New("full"), map[string]float64{
			`rate_limit_requests_total{outcome="allowed",reason="failed_open"}`:                 4,
			`rate_limit_requests_total{outcome="allowed",policy="p",reason="within_limits"}`:    1,
			`rate_limit_degraded_total{mode="open"}`:                                            4,
			`rate_limit_remaining_ratio_count{policy="p"}`:                                      1,
			`rate_limit_store_failures_total{fallback="false",kind="network",operation="take"}`: 2,
			`rate_limit_store_failures_total{fallback="false",kind="timeout",operation="take"}`: 2,
			`rate_limit_store_failures_total{fallback="true",kind="full",operation="take"}`:     4,
		}},
	} {
		t.Run(fmt.Sprint(test.on, test.fallback), func(t *testing.T) {
			b := newBench(t)
			main := &failing{Store: b.store}
			fallback := &failing{Store: b.store, err: test.fallback}
			l := b.on(main, ratelimit.Fallback(fallback, 5),
				ratelimit.Policy{Name: "p", Limit: ratelimit.FixedWindow(10, time.Hour), OnStoreFailure: test.on})
			for _, err := range []error{errors.New("network"), errors.New("timeout"), nil, errors.New("network"), errors.New("timeout")} {
				main.err = err
				l.Allow(t.Context(), ratelimit.NamedKey(strconv.FormatBool(err == nil)))
			}
			b.wantWithout("_bucket", test.want)
		})
	}
}

// What differs by method, route or outcome alone is told apart.
func TestMethodsRoutesAndOutcomes(t *testing.T) {
	b := newBench(t)
	decided := b.metrics.Observer().Decision
	want := make(map[string]float64)
	for round := range 2 {
		n := 0
		for _, method := range []string{"GET", "POST"} {
			for _, route := range []string{"/a", "/b"} {
				for _, allowed := range []bool{true, false} {
					n++
					for range n {
						decided(t.Context(), &ratelimit.Observation{Decision: &ratelimit.Decision{Allowed: allowed}, Method: method, Route: route})
					}
					outcome := map[bool]string{true: "allowed", false: "refused"}[allowed]
					name := fmt.Sprintf("rate_limit_requests_total{method=%q,outcome=%q,reason=%q,route=%q}", method, outcome, "within_limits", route)
					want[name] = float64((round + 1) * n)
				}
			}
		}
	}
	b.want("rate_limit_requests_total", want)
}

// The labels have all reasons that the core knows, also those to come.
func TestReasonsHaveTheirOwnNames(t *testing.T) {
	b := newBench(t)
	observer := b.metrics.Observer()
	var names []string
	for reason := ratelimit.Reason(0); reason.String() != "unknown"; reason++ {
		observer.Decision(t.Context(), &ratelimit.Observation{Decision: &ratelimit.Decision{Reason: reason, Allowed: true}, Method: http.MethodGet, Route: "/"})
		names = append(names, reason.String())
	}
	found := 0
	for name, value := range b.samples() {
		if strings.HasPrefix(name, "rate_limit_requests_total") && value == 1 &&
			slices.ContainsFunc(names, func(reason string) bool { return strings.Contains(name, fmt.Sprintf("reason=%q", reason)) }) {
			found++
		}
	}
	if found != len(names) || found < 8 {
		t.Errorf("%d series for the reasons %q", found, names)
	}
}
