package memstore

import (
	"context"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// TestSweptMeanwhile stops a call after it has read the clock, until the key it
// is about has been swept by charges that take no lock. It must not find a key
// that was never there at that instant.
func TestSweptMeanwhile(t *testing.T) {
	clock := newFakeClock()
	var hook func()
	s := New(WithMaxKeys(100), WithSteadyClock(func() time.Time {
		now := clock.now()
		if h := hook; h != nil {
			hook = nil
			h()
		}
		return now
	}))
	table := s.table.Load()
	table.shards = table.shards[:1]
	l := ratelimit.Limit{Algorithm: ratelimit.AlgorithmFixedWindow, Quota: 3, Window: time.Second}
	busy := ratelimit.Limit{Algorithm: ratelimit.AlgorithmFixedWindow, Quota: 1 << 40, Window: 24 * time.Hour}
	admit(t, s, on("busy", busy, 1))
	first := admit(t, s, on("client", l, 3))
	deny(t, s, on("client", l, 1))
	hook = func() {
		clock.advance(time.Second)
		for range 20_000 {
			admit(t, s, on("busy", busy, 1))
		}
		if n, _ := heldKeys(t, s); n != 1 {
			t.Fatalf("%d keys", n)
		}
	}
	var r [1]ratelimit.Result
	if err := s.Take(context.Background(), []ratelimit.Charge{on("client", l, 1)}, r[:]); err != nil {
		t.Fatal(err)
	}
	if r[0].Allowed && r[0].At/1_000_000 == first.At/1_000_000 {
		t.Errorf("4 of 3 admitted in the window of %d: %+v", first.At, r[0])
	}
}
