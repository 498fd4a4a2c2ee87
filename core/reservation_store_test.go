package ratelimit_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

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
