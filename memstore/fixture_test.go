package memstore

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// fakeClock stands still until it is moved.
type fakeClock struct{ us atomic.Int64 }

func newFakeClock() *fakeClock {
	c := new(fakeClock)
	c.us.Store(1_800_000_000_000_000)
	return c
}

func (c *fakeClock) now() time.Time          { return time.UnixMicro(c.us.Load()) }
func (c *fakeClock) advance(d time.Duration) { c.us.Add(d.Microseconds()) }

// open is a store on a fake clock.
func open(maxKeys int) (*Store, *fakeClock) {
	clock := newFakeClock()
	return New(WithMaxKeys(maxKeys), WithClock(clock.now)), clock
}

// openSteady is a store on a fake clock that never goes back, as its own.
func openSteady(maxKeys int) (*Store, *fakeClock) {
	clock := newFakeClock()
	return New(WithMaxKeys(maxKeys), WithSteadyClock(clock.now)), clock
}

var algorithms = [...]ratelimit.Algorithm{
	ratelimit.AlgorithmFixedWindow, ratelimit.AlgorithmSlidingWindow, ratelimit.AlgorithmSlidingLog,
	ratelimit.AlgorithmTokenBucket, ratelimit.AlgorithmLeakyBucket,
}

// limitOf is a limit of this capacity.
func limitOf(a ratelimit.Algorithm, capacity int64, window time.Duration) ratelimit.Limit {
	l := ratelimit.Limit{Algorithm: a, Quota: capacity, Window: window}
	switch a {
	case ratelimit.AlgorithmTokenBucket:
		l.Burst = capacity
	case ratelimit.AlgorithmLeakyBucket:
		l.Burst = capacity - 1
	}
	return l
}

func on(key string, l ratelimit.Limit, cost int64) ratelimit.Charge {
	return ratelimit.Charge{Policy: "policy", Partition: ratelimit.Partition(key), Limit: l, Cost: cost}
}

func take(t testing.TB, s *Store, charges ...ratelimit.Charge) []ratelimit.Result {
	t.Helper()
	results := make([]ratelimit.Result, len(charges))
	if err := s.Take(t.Context(), charges, results); err != nil {
		t.Fatal(err)
	}
	return results
}

func admit(t testing.TB, s *Store, c ratelimit.Charge) ratelimit.Result {
	t.Helper()
	r := take(t, s, c)[0]
	if !r.Allowed {
		t.Fatalf("%s of %v under %q: denied with %+v", c.Partition, c.Limit, c.Policy, r)
	}
	return r
}

func deny(t testing.TB, s *Store, c ratelimit.Charge) ratelimit.Result {
	t.Helper()
	r := take(t, s, c)[0]
	if r.Allowed {
		t.Fatalf("%s of %v under %q: admitted with %+v", c.Partition, c.Limit, c.Policy, r)
	}
	return r
}

func left(t testing.TB, s *Store, c ratelimit.Charge) int64 {
	t.Helper()
	c.Cost, c.Mode = 0, ratelimit.ModeEnforce
	return take(t, s, c)[0].Remaining
}

// heldKeys counts the entries in the segments, whatever the store's own count
// says, and checks that they can be found.
func heldKeys(t testing.TB, s *Store) (keys, segments int) {
	t.Helper()
	table := s.table.Load()
	for i := range table.shards {
		sh := &table.shards[i]
		first := uint32(0)
		for g := range sh.all() {
			d := sh.directory.Load()
			for i := range uint32(1) << (d.depth - sh.depth(first)) {
				if from := first + i<<(32-d.depth); sh.segment(from) != g || sh.depth(from) != sh.depth(first) {
					t.Fatalf("shard %d: the directory leads %x elsewhere than to the segment of %x, depth %d", i, from, first, sh.depth(first))
				}
			}
			first = sh.end(first)
			segments++
			count := 0
			for j := range g.slots {
				e := &g.slots[j]
				if e.tag == 0 {
					continue
				}
				count++
				if word := e.word; table.clock.steady && word&packedBit != 0 && word&openBit == 0 {
					t.Fatalf("shard %d: the entry in slot %d was left closed", i, j)
				}
				if owner, fraction := table.place(e.tag); owner != sh || sh.find(e.tag, fraction) != e {
					t.Fatalf("shard %d: the entry in slot %d cannot be found", i, j)
				}
			}
			if count != g.count() {
				t.Fatalf("shard %d: a segment counts %d entries and holds %d", i, g.count(), count)
			}
			keys += count
		}
	}
	if int64(keys) != table.keys.Load() {
		t.Fatalf("the store counts %d keys and holds %d", table.keys.Load(), keys)
	}
	return keys, segments
}

func name(i int) string { return fmt.Sprint("client", i) }

// chargeOn charges the keys, none of which is held yet, once each, and then over
// and over from two goroutines, one of which charges two at a time if together is
// set. It returns when both do. stop ends it and looks whether each charge is
// counted.
func chargeOn(t *testing.T, s *Store, l ratelimit.Limit, names []string, together bool) (stop func()) {
	t.Helper()
	for _, key := range names {
		take(t, s, on(key, l, 1))
	}
	charged := make([]atomic.Int64, len(names))
	var (
		stopped atomic.Bool
		wg      sync.WaitGroup
		ready   atomic.Int32
	)
	for w := range 2 {
		wg.Go(func() {
			for i := w; !stopped.Load(); i += 3 {
				keys := []int{i % len(names)}
				if together && w == 1 {
					keys = append(keys, (i+1)%len(names))
				}
				var charges []ratelimit.Charge
				for _, k := range keys {
					charges = append(charges, on(names[k], l, 1))
					charged[k].Add(1)
				}
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
	return func() {
		t.Helper()
		stopped.Store(true)
		wg.Wait()
		for i, key := range names {
			if got, want := l.Quota-left(t, s, on(key, l, 0)), charged[i].Load()+1; got != want {
				t.Fatalf("%s was charged %d times, and %d are counted", key, want, got)
			}
		}
	}
}
