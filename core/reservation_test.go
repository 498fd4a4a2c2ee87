package ratelimit_test

import (
	"context"
	"errors"
	"math"
	"runtime"
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
