package memstore

import (
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// TestAdjustUnknown changes charges of keys that have no entry: what is given
// back makes none, nor what comes too late; what is added is charged.
func TestAdjustUnknown(t *testing.T) {
	for _, a := range algorithms {
		s, clock := open(10)
		l := limitOf(a, 10, time.Minute)
		at := clock.us.Load()
		adjust := func(cost, newCost int64) {
			t.Helper()
			adjustment := ratelimit.Adjustment{Policy: "policy", Partition: "client", Limit: l, At: at, Cost: cost, NewCost: newCost}
			if err := s.Adjust(t.Context(), []ratelimit.Adjustment{adjustment}); err != nil {
				t.Fatal(err)
			}
		}
		adjust(5, 0)
		if keys := s.Stats().Keys; keys != 0 {
			t.Errorf("%v: %d keys after something was given back", a, keys)
		}
		adjust(2, 5)
		if got := left(t, s, on("client", l, 0)); got != 7 {
			t.Errorf("%v: %d left after 3 of 10 were added", a, got)
		}
		s, clock = open(10)
		clock.advance(3 * time.Minute)
		adjust(2, 5)
		if keys := s.Stats().Keys; a.Bucket() != (keys == 1) {
			t.Errorf("%v: %d keys after something was added too late", a, keys)
		}
	}
}
