package memstore

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// TestReplenishedAndCharged lets newcomers in below the cap, where all others are
// as good as new, while these are charged again: what is charged is not
// forgotten.
func TestReplenishedAndCharged(t *testing.T) {
	l := ratelimit.Limit{Algorithm: ratelimit.AlgorithmTokenBucket, Quota: 1000, Window: time.Second, Burst: 1000}
	var names [slotsPerSegment]string
	for i := range names {
		names[i] = name(i)
	}
	for range 3_000 {
		s, clock := openSteady(1000)
		table := s.table.Load()
		table.shards = table.shards[:1]
		for i := range names {
			take(t, s, on(names[i], l, 1))
		}
		clock.advance(time.Second)
		var ready atomic.Bool
		done := make(chan struct{})
		go func() {
			defer close(done)
			ready.Store(true)
			for i := range names {
				take(t, s, on(names[i], l, 500))
			}
		}()
		for !ready.Load() {
			runtime.Gosched()
		}
		for i := range 4 {
			take(t, s, on("newcomer"+names[i], l, 1))
		}
		<-done
		if n := s.Stats().Forgotten; n > 0 {
			t.Fatalf("%d keys forgotten below the cap", n)
		}
	}
}
