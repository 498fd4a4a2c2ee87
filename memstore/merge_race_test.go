package memstore

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// TestMergeUnderCharges splits segments and joins them again while entries of
// theirs are charged without the lock, alone and two at a time: no charge is lost
// where an entry moves.
func TestMergeUnderCharges(t *testing.T) {
	const busy, brief = 24, 150
	forever := ratelimit.Limit{Algorithm: ratelimit.AlgorithmFixedWindow, Quota: 1 << 40, Window: ratelimit.MaxWindow}
	short := ratelimit.Limit{Algorithm: ratelimit.AlgorithmTokenBucket, Quota: 1, Window: time.Millisecond, Burst: 1}
	for _, options := range [][]Option{nil, {WithPreallocation()}} {
		clock := newFakeClock()
		s := New(append(options, WithMaxKeys(2000), WithSteadyClock(clock.now))...)
		table := s.table.Load()
		table.shards = table.shards[:1]
		sh := &table.shards[0]
		var names [busy]string
		for i := range names {
			names[i] = name(i)
			take(t, s, on(names[i], forever, 1))
		}
		var (
			charged [busy]atomic.Int64
			stop    atomic.Bool
			ready   atomic.Int32
			wg      sync.WaitGroup
		)
		for w := range 2 {
			wg.Go(func() {
				for i := w; !stop.Load(); i += 3 {
					charges := []ratelimit.Charge{on(names[i%busy], forever, 1)}
					if w == 1 {
						charges = append(charges, on(names[(i+1)%busy], forever, 1))
						charged[(i+1)%busy].Add(1)
					}
					charged[i%busy].Add(1)
					take(t, s, charges...)
					if i < 3 {
						ready.Add(1)
					}
				}
			})
		}
		for ready.Load() < 2 {
			runtime.Gosched()
		}
		joined := 0
		for round := range 100 {
			for i := range brief {
				take(t, s, on(name(busy+round*brief+i), short, 1))
			}
			most := distinct(sh)
			clock.advance(time.Second)
			for range 50 {
				sh.mu.Lock()
				sh.sweepSome(table, sh.at(table, table.clock.now(), nil))
				sh.mu.Unlock()
			}
			joined += most - distinct(sh)
		}
		stop.Store(true)
		wg.Wait()
		if joined < 50 {
			t.Errorf("segments were joined %d times, want often", joined)
		}
		for i := range names {
			if got, want := 1<<40-left(t, s, on(names[i], forever, 0)), charged[i].Load()+1; got != want {
				t.Fatalf("%s was charged %d times, and %d are counted", names[i], want, got)
			}
		}
	}
}
