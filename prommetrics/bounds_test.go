package prommetrics_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/prommetrics"
)

const random = 100_000

// Whatever clients send, they move no series: 100,000 random paths, addresses
// and keys.
func TestClientsMakeNoSeries(t *testing.T) {
	b := newBench(t)
	l := b.limiter(
		ratelimit.Policy{Name: "ip", Limit: ratelimit.FixedWindow(2, time.Hour)},
		ratelimit.Policy{Name: "key", Key: ratelimit.ByHeader("X-API-Key"), Limit: ratelimit.FixedWindow(1, time.Hour)},
	)
	rng := rand.New(rand.NewPCG(1, 2))
	send := func(clients int) {
		r := get("/users/{id}")
		if rng.IntN(2) == 0 {
			r.route = "" // no route takes a random path
		}
		client := rng.IntN(clients)
		r.peer = fmt.Sprintf("10.%d.%d.%d:%d", client>>16&255, client>>8&255, client&255, 1+rng.IntN(65535))
		r.apiKey = strconv.Itoa(rng.IntN(clients))
		if rng.IntN(2) == 0 {
			r.method = fmt.Sprint("M", rng.Uint32())
		}
		serve(l, 1, r)
	}
	// A few clients show all there is: both routes, known methods and others,
	// both policies, admitted and refused.
	const first = 2000
	for range first {
		send(500)
	}
	before := b.samples()
	for range random {
		send(1 << 24)
	}
	after := b.samples()
	for name := range after {
		if _, was := before[name]; !was {
			t.Errorf("a new series: %s", name)
		}
	}
	total := 0.0
	for name, value := range after {
		if strings.HasPrefix(name, "rate_limit_requests_total") {
			total += value
		}
	}
	if want := float64(first + random); total != want {
		t.Errorf("%v requests are counted, want %v", total, want)
	}
}

// What the program itself makes without end is bounded: 10,000 policies and
// 100,000 tiers and routes, all but the first of which are counted under
// "other".
func TestProgramsMakeABoundedNumberOfSeries(t *testing.T) {
	bounds := prommetrics.Bounds{Policies: 7, Tiers: 5, Routes: 3, Series: 50}
	for label, bounded := range map[string]struct {
		total int
		// most is how many values the label gets beside "other".
		most int
		// send makes a function that sends the nth request.
		send func(b *bench) func(n int)
	}{
		"policy": {10_000, bounds.Policies, func(b *bench) func(int) {
			return func(n int) {
				serve(b.limiter(ratelimit.Policy{Name: fmt.Sprint("policy", n), Limit: ratelimit.PerMinute(1)}), 1, get("/"))
			}
		}},
		"tier": {random, bounds.Tiers, func(b *bench) func(int) {
			tiers := &ratelimit.Tiers{Limits: make(map[string]ratelimit.Limit, random), Default: "\xff0"}
			for n := range random {
				tiers.Limits[fmt.Sprintf("\xff%d", n)] = ratelimit.PerMinute(1) // not even UTF-8
			}
			tiers.Resolve = func(r *ratelimit.Request) (ratelimit.Identity, error) {
				return ratelimit.Identity{Key: "k", Tier: r.Header("X-API-Key")}, nil
			}
			l := b.limiter(ratelimit.Policy{Name: "p", Tiers: tiers})
			return func(n int) {
				r := get("/")
				r.apiKey = fmt.Sprintf("\xff%d", n)
				serve(l, 1, r)
			}
		}},
		"route": {random, bounds.Routes, func(b *bench) func(int) {
			l := b.limiter(ratelimit.Policy{Name: "p", Limit: ratelimit.PerMinute(1)})
			return func(n int) { serve(l, 1, get(fmt.Sprintf("/route\xff%d", n))) }
		}},
	} {
		t.Run(label, func(t *testing.T) {
			b := newBench(t, prommetrics.WithBounds(bounds))
			send := bounded.send(b)
			for n := range 100 {
				send(n)
			}
			before := b.samples()
			for n := range bounded.total - 100 {
				send(100 + n)
			}
			after := b.samples()
			if len(after) != len(before) {
				t.Errorf("%d series, %d before", len(after), len(before))
			}
			values := make(map[string]float64)
			for name, value := range after {
				if _, rest, found := strings.Cut(name, label+`="`); found && strings.HasPrefix(name, "rate_limit_requests_total") {
					text, _, _ := strings.Cut(rest, `"`)
					values[text] += value
				}
			}
			want := float64(bounded.total - bounded.most)
			if values[prommetrics.Other] != want || len(values) != bounded.most+1 {
				t.Errorf("%v requests under %q and %d values in all, want %v and %d",
					values[prommetrics.Other], prommetrics.Other, len(values), want, bounded.most+1)
			}
		})
	}
}

// All together they are bounded once more.
func TestSeriesAreBoundedTogether(t *testing.T) {
	const most = 40
	b := newBench(t, prommetrics.WithBounds(prommetrics.Bounds{Series: most}))
	var limiters []*ratelimit.Limiter
	for i := range 10 {
		limiters = append(limiters, b.limiter(ratelimit.Policy{Name: fmt.Sprint("p", i), Limit: ratelimit.PerMinute(1e6)}))
	}
	var wait sync.WaitGroup
	for worker := range 8 {
		wait.Go(func() {
			for i := range 500 {
				serve(limiters[i%10], 1, get(fmt.Sprint("/", (i+worker)%20)))
			}
		})
	}
	wait.Wait()
	found, total, others := 0, 0.0, 0.0
	for name, value := range b.samples() {
		if strings.HasPrefix(name, "rate_limit_requests_total") {
			found++
			total += value
			if strings.Contains(name, `policy="other"`) && strings.Contains(name, `route="other"`) && strings.Contains(name, `method="OTHER"`) {
				others += value
			}
		}
	}
	if found != most+1 || total != 8*500 || others == 0 || others == total {
		t.Errorf("%d series for %v decisions, %v of them other; want %d for %d", found, total, others, most+1, 8*500)
	}
}

// Kinds of errors come from stores, and are bounded as well.
func TestKindsAreBounded(t *testing.T) {
	b := newBench(t)
	store := &failing{}
	l := b.on(store, ratelimit.Policy{Name: "p", Limit: ratelimit.PerMinute(1)})
	for i := range 1000 {
		store.err = errors.New(fmt.Sprint("error ", i))
		l.Allow(t.Context(), "k")
	}
	found, others := 0, 0.0
	for name, value := range b.samples() {
		if strings.HasPrefix(name, "rate_limit_store_failures_total") {
			found++
			if strings.Contains(name, `kind="other"`) {
				others = value
			}
		}
	}
	if found != 51 || others != 950 {
		t.Errorf("%d series, %v failures of another kind; want 51 and 950", found, others)
	}
}

func TestOptionsNameWhatIsWrongAndTheMend(t *testing.T) {
	for mend, option := range map[string]prommetrics.Option{
		"option 1 is nil: leave it out":                                      nil,
		"Bounds.Policies -1 is out of range: use 1 to 10000":                 prommetrics.WithBounds(prommetrics.Bounds{Policies: -1}),
		"Bounds.Tiers 10001 is out of range: use 1 to 10000":                 prommetrics.WithBounds(prommetrics.Bounds{Tiers: 10_001}),
		"Bounds.Routes -5 is out of range: use 1 to 10000, or 0":             prommetrics.WithBounds(prommetrics.Bounds{Routes: -5}),
		"Bounds.Series 2000000 is out of range: use 1 to 1000000":            prommetrics.WithBounds(prommetrics.Bounds{Series: 2_000_000}),
		"WithNearLimit(80) is out of range: use a share such as 0.8":         prommetrics.WithNearLimit(80),
		"WithNearLimit(0) is out of range: use a share such as 0.8":          prommetrics.WithNearLimit(0),
		"WithNearLimit(-0.8) is out of range: use a share such as 0.8, from": prommetrics.WithNearLimit(-0.8),
		"WithNearLimit(NaN) is out of range":                                 prommetrics.WithNearLimit(math.NaN()),
	} {
		wantError(t, "prommetrics: "+mend, func() error {
			_, err := prommetrics.New(prometheus.NewRegistry(), option)
			return err
		})
	}
}

// Near is what the user says, exactly.
func TestNearLimit(t *testing.T) {
	for share, want := range map[float64]float64{0.3: 8, 0.35: 7, 0.7: 4, 0.95: 1, 1: 1, 0.001: 10} {
		b := newBench(t, prommetrics.WithNearLimit(share))
		serve(b.limiter(ratelimit.Policy{Name: "p", Limit: ratelimit.FixedWindow(10, time.Hour)}), 12, get("/"))
		if got := b.samples()[`rate_limit_near_limit_total{policy="p"}`]; got != want {
			t.Errorf("from %v on: %v of 10 admitted requests are near the limit, want %v", share, got, want)
		}
	}
}
