package memstore

import (
	"math/rand/v2"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

// TestSettling reserves and settles through a limiter, to more and to less,
// within a window, at its end and later, against the state machine of each
// algorithm: nothing is ever below zero, nor settled in another window.
func TestSettling(t *testing.T) {
	type reserved struct {
		*ratelimit.Reservation
		at, cost int64
	}
	for _, a := range algorithms {
		t.Run(a.String(), func(t *testing.T) {
			store, clock := open(100)
			limit := limitOf(a, 100, time.Minute)
			if a == ratelimit.AlgorithmLeakyBucket {
				limit.Quota = 200 // no request may be held back for longer than 30 s
			}
			l, err := ratelimit.New(store, ratelimit.Policy{Name: "policy", Limit: limit, Settles: true})
			if err != nil {
				t.Fatal(err)
			}
			var (
				state algorithm.State
				all   []*reserved
				rnd   = rand.New(rand.NewPCG(1, uint64(a)))
			)
			for step := range 3000 {
				rest := time.Minute - time.Duration(clock.us.Load())*time.Microsecond%time.Minute
				clock.advance([]time.Duration{0, 0, 0, time.Microsecond, 7 * time.Second, rest - time.Microsecond, rest, rest + time.Microsecond}[rnd.IntN(8)])
				now := clock.us.Load()
				if len(all) == 0 || rnd.IntN(2) == 0 {
					cost := rnd.Int64N(30)
					d, r := l.Reserve(t.Context(), "client", cost)
					var want ratelimit.Result
					state, want = algorithm.Step(state, now, limit, cost)
					if d.Allowed != want.Allowed || (r != nil) != want.Allowed {
						t.Fatalf("step %d: an estimate of %d is allowed: %t, reserved: %t; want %t", step, cost, d.Allowed, r != nil, want.Allowed)
					}
					if r != nil {
						all = append(all, &reserved{r, want.At, cost})
					}
				} else {
					r := all[max(0, len(all)-1-rnd.IntN(4))]
					cost := []int64{0, 1, rnd.Int64N(40), 150}[rnd.IntN(4)]
					if err := r.Settle(t.Context(), cost); err != nil {
						t.Fatal(err)
					}
					state = algorithm.Adjust(state, now, limit, r.at, r.cost, cost)
					r.cost = cost
				}
				d, want := l.Peek(t.Context(), "client"), algorithm.Look(state, now, limit, 1)
				if d.Result.Remaining != want.Remaining || d.Result.RetryAfter != want.RetryAfter {
					t.Fatalf("step %d: %d left, retry after %v; want %d, %v", step, d.Result.Remaining, d.Result.RetryAfter, want.Remaining, want.RetryAfter)
				}
			}
		})
	}
}
