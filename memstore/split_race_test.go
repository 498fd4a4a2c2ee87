package memstore

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// TestSplitUnderCharges splits segments while their entries are charged without
// the lock: no charge is lost where an entry moves.
func TestSplitUnderCharges(t *testing.T) {
	l := ratelimit.Limit{Algorithm: ratelimit.AlgorithmFixedWindow, Quota: 1 << 40, Window: time.Hour}
	var names [slotsPerSegment]string
	for i := range names {
		names[i] = name(i)
	}
	for range 300 {
		s, _ := openSteady(2000)
		table := s.table.Load()
		table.shards = table.shards[:1]
		for i := range names {
			take(t, s, on(names[i], l, 1))
		}
		var (
			charged [slotsPerSegment]atomic.Int64
			stop    atomic.Bool
			wg      sync.WaitGroup
			ready   atomic.Int32
		)
		for w := range 2 {
			wg.Go(func() {
				for i := w; !stop.Load(); i += 3 {
					k := i % slotsPerSegment
					take(t, s, on(names[k], l, 1))
					charged[k].Add(1)
					if i < 3 {
						ready.Add(1)
					}
				}
			})
		}
		for ready.Load() < 2 {
			runtime.Gosched()
		}
		for i := range 150 {
			take(t, s, on("newcomer"+names[i%slotsPerSegment]+names[i/slotsPerSegment], l, 1))
		}
		stop.Store(true)
		wg.Wait()
		for i := range names {
			if got, want := 1<<40-left(t, s, on(names[i], l, 0)), charged[i].Load()+1; got != want {
				t.Fatalf("%s was charged %d times, and %d are counted", names[i], want, got)
			}
		}
	}
}
