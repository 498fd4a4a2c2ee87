package ratelimit_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"weak"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// tokens is a policy with an estimate of 10 out of 100.
func tokens(changes ...func(*ratelimit.Policy)) ratelimit.Policy {
	p := ratelimit.Policy{
		Name: "tokens", Limit: ratelimit.SlidingLog(100, time.Hour), Settles: true,
		Cost: func(*ratelimit.Request) int64 { return 10 },
	}
	for _, change := range changes {
		change(&p)
	}
	return p
}

// used is what the address of a fakeRequest has used of tokens' 100.
func used(t *testing.T, l *ratelimit.Limiter) int64 {
	t.Helper()
	return usedBy(t, l, "ip:192.0.2.1")
}

func usedBy(t *testing.T, l *ratelimit.Limiter, key ratelimit.Partition) int64 {
	t.Helper()
	d := l.Peek(t.Context(), key)
	for _, p := range d.Policies() {
		if p.Policy == "tokens" {
			return p.Result.Limit - p.Result.Remaining
		}
	}
	t.Fatal("there is no policy \"tokens\"")
	return 0
}

func TestSettle(t *testing.T) {
	for _, c := range []struct {
		name    string
		settled []int64
		want    int64
	}{
		{"never", nil, 10},
		{"to the same", []int64{10}, 10},
		{"to more", []int64{40}, 40},
		{"to less", []int64{3}, 3},
		{"to nothing", []int64{0}, 0},
		{"as it grows", []int64{20, 30, 31}, 31},
		{"to and fro", []int64{50, 0, 0, 7, 7, 60, 2}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := newModelStore()
			l := mustNew(t, store, tokens())
			call, _ := begin(l, &fakeRequest{})
			for _, cost := range c.settled {
				if err := ratelimit.Settle(call, "tokens", cost); err != nil {
					t.Fatal(err)
				}
				if got := used(t, l); got != cost {
					t.Errorf("settled to %d, %d are used", cost, got)
				}
			}
			call.Finish(500, false)
			if got := used(t, l); got != c.want {
				t.Errorf("%d are used, want %d", got, c.want)
			}
			for _, change := range store.adjustments {
				if change.Cost == change.NewCost {
					t.Errorf("the store was asked for no change: %+v", change)
				}
			}
		})
	}
}

func TestSettlingBeyondTheLimitIsDebt(t *testing.T) {
	l := mustNew(t, newModelStore(), tokens())
	call, _ := begin(l, &fakeRequest{})
	if err := ratelimit.Settle(call, "tokens", 400); err != nil {
		t.Fatal(err)
	}
	if next, _ := begin(l, &fakeRequest{}); next.Proceed() {
		t.Error("a request passed while its key was in debt")
	}
	if err := ratelimit.Settle(call, "tokens", 90); err != nil {
		t.Fatal(err)
	}
	if next, _ := begin(l, &fakeRequest{}); !next.Proceed() {
		t.Error("a request did not pass after the debt was taken back")
	}
	if err := ratelimit.Settle(call, "tokens", math.MaxInt64); err != nil {
		t.Fatal(err)
	}
	if err := ratelimit.Settle(call, "tokens", 0); err != nil {
		t.Fatal(err)
	}
	if got := used(t, l); got != 10 {
		t.Errorf("%d are used, want the 10 of the other request", got)
	}
}

func TestNothingReserved(t *testing.T) {
	// The estimate of 0 is a look, which passes if there is no debt.
	l := mustNew(t, newModelStore(), tokens(func(p *ratelimit.Policy) { p.Cost = func(*ratelimit.Request) int64 { return 0 } }))
	for range 2 {
		call, _ := begin(l, &fakeRequest{})
		if !call.Proceed() {
			t.Fatal("a look was refused")
		}
		if err := ratelimit.Settle(call, "tokens", 60); err != nil {
			t.Fatal(err)
		}
	}
	if call, _ := begin(l, &fakeRequest{}); call.Proceed() {
		t.Error("a look passed in debt")
	}
}

func TestSettleWhereNothingWasCharged(t *testing.T) {
	down := errors.New("down")
	for _, c := range []struct {
		name    string
		options []ratelimit.Option
		fails   error
		// proceeds is false for a request that is refused.
		proceeds bool
	}{
		{"exempt", []ratelimit.Option{tokens(), ratelimit.Exempt(ratelimit.ExemptIPs("192.0.2.0/24"))}, nil, true},
		{"exempt from the policy", []ratelimit.Option{tokens(func(p *ratelimit.Policy) {
			p.Exempt = []ratelimit.Exemption{ratelimit.ExemptIPs("192.0.2.0/24")}
		})}, nil, true},
		{"unlimited", []ratelimit.Option{tokens(func(p *ratelimit.Policy) { p.Limit = ratelimit.Unlimited })}, nil, true},
		{"another route", []ratelimit.Option{tokens(func(p *ratelimit.Policy) { p.Match = "/other" })}, nil, true},
		{"not even in shadow", []ratelimit.Option{ratelimit.Shadow(), tokens(func(p *ratelimit.Policy) { p.Limit = ratelimit.PerHour(9) })}, nil, true},
		{"refused", []ratelimit.Option{tokens(func(p *ratelimit.Policy) { p.Limit = ratelimit.PerHour(9) })}, nil, false},
		{"refused by another", []ratelimit.Option{tokens(), ratelimit.Policy{Name: "none", Limit: ratelimit.PerHour(0)}}, nil, false},
		{"failed open", []ratelimit.Option{tokens()}, down, true},
		{"failed closed", []ratelimit.Option{tokens(func(p *ratelimit.Policy) { p.OnStoreFailure = ratelimit.FailClosed })}, down, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			logger, log := newRecords()
			store := newModelStore()
			store.fails = c.fails
			l := mustNew(t, store, append(c.options, ratelimit.Logger(logger))...)
			call, _ := begin(l, &fakeRequest{})
			if call.Proceed() != c.proceeds {
				t.Fatalf("the request proceeds: %t", call.Proceed())
			}
			if ratelimit.ReservationOf(call, "tokens") != nil {
				t.Error("there is a reservation")
			}
			for _, cost := range []int64{50, 0} {
				if err := ratelimit.Settle(call, "tokens", cost); err != nil {
					t.Error(err)
				}
			}
			if len(store.adjustments) > 0 {
				t.Errorf("adjusted %+v", store.adjustments)
			}
			if slices.Contains(log.codes, ratelimit.CodeSettlesUnknown) {
				t.Error("it was logged as a mistake")
			}
		})
	}
	if err := ratelimit.Settle(t.Context(), "tokens", 5); err != nil {
		t.Errorf("without a limiter: %v", err)
	}
}

func TestSettlingUnderAnUnknownNameIsLogged(t *testing.T) {
	logger, log := newRecords()
	store := newModelStore()
	for _, name := range []string{"tokns", "plain"} {
		l := mustNew(t, store, ratelimit.Logger(logger), tokens(), ratelimit.Policy{Name: "plain", Limit: ratelimit.PerHour(9)})
		call, _ := begin(l, &fakeRequest{})
		for range 2 {
			if err := ratelimit.Settle(call, name, 5); err != nil {
				t.Error(err)
			}
		}
	}
	plain := mustNew(t, store, ratelimit.Logger(logger), ratelimit.Policy{Name: "plain", Limit: ratelimit.PerHour(9)})
	if _, r := plain.Reserve(t.Context(), "k", 1); r != nil {
		t.Error("Reserve without a policy that settles returns a reservation")
	}
	if want := slices.Repeat([]string{ratelimit.CodeSettlesUnknown}, 3); !slices.Equal(log.codes, want) {
		t.Errorf("logged %v, want %v: once for each limiter", log.codes, want)
	}
	if len(store.adjustments) > 0 {
		t.Errorf("adjusted %+v", store.adjustments)
	}
}

func TestSettlingANegativeCost(t *testing.T) {
	l := mustNew(t, newModelStore(), tokens())
	call, _ := begin(l, &fakeRequest{})
	for _, ctx := range []context.Context{call, t.Context()} {
		if err := ratelimit.Settle(ctx, "tokens", -1); err == nil || !strings.Contains(err.Error(), "-1 is negative") {
			t.Errorf("error %v", err)
		}
	}
	if got := used(t, l); got != 10 {
		t.Errorf("%d are used, want the estimate", got)
	}
}

func TestSettlingInShadow(t *testing.T) {
	store := newModelStore()
	call, _ := begin(mustNew(t, store, ratelimit.Shadow(), tokens()), &fakeRequest{})
	if err := ratelimit.Settle(call, "tokens", 30); err != nil {
		t.Fatal(err)
	}
	if got := used(t, mustNew(t, store, tokens())); got != 30 {
		t.Errorf("%d are used, want 30", got)
	}
}

// TestReservationOutlivesItsRequest settles when the handler has returned and
// the request's context has ended.
func TestReservationOutlivesItsRequest(t *testing.T) {
	l := mustNew(t, newModelStore(), tokens())
	ctx, cancel := context.WithCancel(t.Context())
	call, _ := begin(l, &fakeRequest{ctx: ctx})
	r := ratelimit.ReservationOf(call, "tokens")
	cancel()
	if err := ratelimit.Settle(call, "tokens", 20); err != nil {
		t.Errorf("in a request that was given up: %v", err)
	}
	call.Finish(200, false)
	if err := r.Settle(ctx, 30); err != nil || used(t, l) != 30 {
		t.Errorf("after the handler: %v, %d are used", err, used(t, l))
	}
	if err := ratelimit.Settle(call, "tokens", 40); err != nil || used(t, l) != 40 {
		t.Errorf("after the handler, with its context: %v, %d are used", err, used(t, l))
	}
}

// TestReservationKeepsNothingOfItsRequest sees the request go while its
// reservation stays.
func TestReservationKeepsNothingOfItsRequest(t *testing.T) {
	call, _ := begin(mustNew(t, constantStore{}, tokens()), &fakeRequest{})
	r, gone := ratelimit.ReservationOf(call, "tokens"), weak.Make(call)
	for range 10 {
		runtime.GC()
	}
	if gone.Value() != nil {
		t.Error("the reservation keeps the memory of its request")
	}
	if err := r.Settle(t.Context(), 5); err != nil {
		t.Error(err)
	}
}

func TestSettlingAndOutcome(t *testing.T) {
	failures := func(p *ratelimit.Policy) { p.Counts = ratelimit.CountFailures }
	for _, c := range []struct {
		name   string
		settle bool
		status int
		want   int64
		late   int64
	}{
		{"counts", true, 500, 30, 40},
		{"does not count", true, 200, 0, 0},
		{"never settled, counts", false, 500, 10, 40},
		{"never settled, does not count", false, 200, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := mustNew(t, newModelStore(), tokens(failures))
			call, _ := begin(l, &fakeRequest{})
			if !call.Settles() {
				t.Fatal("the adapter is not asked for the status")
			}
			if c.settle {
				if err := ratelimit.Settle(call, "tokens", 30); err != nil {
					t.Fatal(err)
				}
			}
			call.Finish(c.status, false)
			call.Finish(c.status, false)
			if got := used(t, l); got != c.want {
				t.Errorf("after the handler %d are used, want %d", got, c.want)
			}
			if err := ratelimit.Settle(call, "tokens", 40); err != nil {
				t.Fatal(err)
			}
			if got := used(t, l); got != c.late {
				t.Errorf("settled late %d are used, want %d", got, c.late)
			}
		})
	}
	l := mustNew(t, newModelStore(), tokens())
	if call, _ := begin(l, &fakeRequest{}); call.Settles() {
		t.Error("a policy that counts everything asks the adapter for the status")
	}
}

func TestSettlesGoesToTheStore(t *testing.T) {
	store := newModelStore()
	l := mustNew(t, store, tokens(), ratelimit.Policy{Name: "plain", Limit: ratelimit.PerHour(9)})
	begin(l, &fakeRequest{})
	l.Reserve(t.Context(), "k", 1)
	for _, charge := range store.charges {
		if charge.Settles != (charge.Policy == "tokens") {
			t.Errorf("Charge.Settles of %q is %t", charge.Policy, charge.Settles)
		}
	}
}

// TestFailedSettlement has a store fail, of which it can't be known whether it
// had made the change: in doubt the client has used more, never less.
func TestFailedSettlement(t *testing.T) {
	for _, c := range []struct {
		name          string
		to, again     int64
		stays, wanted int64 // after the failure, and after settling again
	}{
		{"to more, and again", 40, 40, 10, 40},
		{"to more, then less", 40, 5, 10, 5},
		{"to less, and again", 4, 4, 10, 10},
		{"to less, then more", 4, 30, 10, 36},
		{"to less, then nothing", 4, 0, 10, 6},
	} {
		for _, made := range []bool{false, true} {
			t.Run(c.name, func(t *testing.T) {
				store := newModelStore()
				var failures []ratelimit.StoreFailure
				l := mustNew(t, store, tokens(), ratelimit.Observe(ratelimit.Observer{
					StoreFailure: func(_ context.Context, f *ratelimit.StoreFailure) { failures = append(failures, *f) },
				}))
				call, _ := begin(l, &fakeRequest{})
				down := errors.New("down")
				store.fails = down
				if err := ratelimit.Settle(call, "tokens", c.to); !errors.Is(err, down) || !strings.HasPrefix(err.Error(), "ratelimit: ") {
					t.Errorf("error %v", err)
				}
				store.fails = nil
				if len(failures) != 1 || failures[0].Operation != "adjust" || failures[0].Fallback {
					t.Errorf("failures %+v", failures)
				}
				want := c.wanted
				if made {
					// The error came when the change had been made.
					key := store.charges[0]
					if err := store.Adjust(t.Context(), []ratelimit.Adjustment{{
						Policy: key.Policy, Partition: key.Partition, Limit: key.Limit, At: store.states[key.Key()].Log[0].At, Cost: 10, NewCost: c.to,
					}}); err != nil {
						t.Fatal(err)
					}
					want += c.to - 10
				} else if got := used(t, l); got != c.stays {
					t.Errorf("after a failure %d are used, want %d", got, c.stays)
				}
				if err := ratelimit.Settle(call, "tokens", c.again); err != nil {
					t.Fatal(err)
				}
				got := used(t, l)
				if got != want {
					t.Errorf("settled again, the change made: %t: %d are used, want %d", made, got, want)
				}
				if got < c.again {
					t.Errorf("settled to %d, only %d are used", c.again, got)
				}
			})
		}
	}
}

func TestSettlingGoesToTheStoreThatCharged(t *testing.T) {
	store, fallback := newModelStore(), newModelStore()
	store.fails = errors.New("down")
	var failures []ratelimit.StoreFailure
	l := mustNew(t, store, ratelimit.Fallback(fallback, 2), tokens(func(p *ratelimit.Policy) { p.OnStoreFailure = ratelimit.FailLocal }),
		ratelimit.Observe(ratelimit.Observer{
			StoreFailure: func(_ context.Context, f *ratelimit.StoreFailure) { failures = append(failures, *f) },
		}))
	call, _ := begin(l, &fakeRequest{})
	store.fails = nil
	if err := ratelimit.Settle(call, "tokens", 20); err != nil {
		t.Fatal(err)
	}
	if len(store.adjustments) != 0 || len(fallback.adjustments) != 1 || fallback.adjustments[0].Limit.Quota != 50 {
		t.Errorf("the store was asked for %+v, the fallback for %+v", store.adjustments, fallback.adjustments)
	}
	failures, fallback.fails = nil, errors.New("down as well")
	if err := ratelimit.Settle(call, "tokens", 30); !errors.Is(err, fallback.fails) || len(failures) != 1 || !failures[0].Fallback {
		t.Errorf("error %v, failures %+v", err, failures)
	}
}

// TestSettlingWithinOthers finds the reservation of the innermost limiter that
// made one, through limiters that have nothing to do with it.
func TestSettlingWithinOthers(t *testing.T) {
	storeA, storeB := newModelStore(), newModelStore()
	a, b := mustNew(t, storeA, tokens()), mustNew(t, storeB, tokens())
	plain := mustNew(t, newModelStore(), ratelimit.Policy{Name: "plain", Limit: ratelimit.PerHour(9)})
	outer, _ := begin(a, &fakeRequest{})
	middle, _ := begin(b, &fakeRequest{ctx: outer})
	inner, _ := begin(plain, &fakeRequest{ctx: context.WithValue(middle, someKey{}, 1)})
	again, _ := begin(a, &fakeRequest{ctx: inner})
	if err := ratelimit.Settle(again, "tokens", 30); err != nil {
		t.Fatal(err)
	}
	if err := ratelimit.Settle(outer, "tokens", 50); err != nil {
		t.Fatal(err)
	}
	if used(t, a) != 50 || used(t, b) != 30 {
		t.Errorf("%d and %d are used, want 50 and 30", used(t, a), used(t, b))
	}
}

type someKey struct{}

// TestConcurrentSettling has a request settled by many at once: each change
// goes out from the one before, so that the last one is what counts.
func TestConcurrentSettling(t *testing.T) {
	store := newModelStore()
	l := mustNew(t, store, tokens(func(p *ratelimit.Policy) { p.Counts = ratelimit.CountFailures }))
	for _, status := range []int{500, 200} {
		call, _ := begin(l, &fakeRequest{})
		before := len(store.adjustments)
		var all sync.WaitGroup
		for cost := range int64(50) {
			all.Go(func() {
				if err := ratelimit.ReservationOf(call, "tokens").Settle(call, cost); err != nil {
					t.Error(err)
				}
			})
		}
		call.Finish(status, false)
		all.Wait()
		last := int64(10)
		for _, change := range store.adjustments[before:] {
			if change.Cost != last {
				t.Errorf("a change goes from %d to %d, the one before ended at %d", change.Cost, change.NewCost, last)
			}
			last = change.NewCost
		}
		if status == 200 && last != 0 {
			t.Errorf("the request does not count, but %d are charged", last)
		}
		if got := used(t, l); status == 500 && got != last {
			t.Errorf("%d are used, settled last was %d", got, last)
		}
		store.states = newModelStore().states
	}
}

func TestReserve(t *testing.T) {
	store := newModelStore()
	l := mustNew(t, store, tokens(), ratelimit.Policy{Name: "runs", Limit: ratelimit.SlidingLog(1000, time.Hour)},
		tokens(func(p *ratelimit.Policy) { p.Name, p.Limit = "rows", ratelimit.SlidingLog(500, time.Hour) }))
	d, r := l.Reserve(t.Context(), "k", 60)
	if !d.Allowed || d.Result.Remaining != 40 {
		t.Fatalf("decision %+v", d)
	}
	if refused, none := l.Reserve(t.Context(), "k", 60); refused.Allowed || none != nil || none.Settle(t.Context(), 5) != nil {
		t.Errorf("beyond the limit: %+v, %v", refused, none)
	}
	if err := r.Settle(t.Context(), 20); err != nil {
		t.Fatal(err)
	}
	if len(store.adjustments) != 2 {
		t.Errorf("adjusted %+v, want tokens and rows", store.adjustments)
	}
	if got := usedBy(t, l, "k"); got != 20 {
		t.Errorf("%d tokens are used, want 20", got)
	}
	store.fails = errors.New("down")
	if d, r := l.Reserve(t.Context(), "k", 1); !d.Allowed || r != nil {
		t.Errorf("failed open: %+v, %v", d, r)
	}
}

func TestNoSettlingCostsNothing(t *testing.T) {
	allocs := func(p ratelimit.Policy) float64 {
		l := mustNew(t, constantStore{}, p)
		r, header, least := &fakeRequest{}, nowhere{}, math.Inf(1)
		for range 50 { // the race detector has pools forget now and then
			least = min(least, testing.AllocsPerRun(1, func() { l.Begin(new(ratelimit.Call), r, header) }))
		}
		return least
	}
	plain, settles := allocs(ratelimit.Policy{Name: "p", Limit: ratelimit.PerHour(9)}), allocs(tokens())
	if settles <= plain {
		t.Errorf("%v allocations with a policy that settles, %v without: the measure sees nothing", settles, plain)
	}
	// The Call and the text of the fields.
	if plain > 2 {
		t.Errorf("%v allocations without a policy that settles, want 2", plain)
	}
}

// constantStore admits everything and allocates nothing.
type constantStore struct{}

func (constantStore) Take(_ context.Context, _ []ratelimit.Charge, results []ratelimit.Result) error {
	for i := range results {
		results[i] = ratelimit.Result{Allowed: true, Limit: 9, Remaining: 8, At: 1}
	}
	return nil
}
func (constantStore) Adjust(context.Context, []ratelimit.Adjustment) error { return nil }
func (constantStore) Reset(context.Context, []ratelimit.Key) error         { return nil }

// nowhere is a header that nobody reads.
type nowhere struct{}

func (nowhere) Get(string) string  { return "" }
func (nowhere) Set(string, string) {}
func (nowhere) Del(string)         {}
