package memstore

import (
	"bytes"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// TestPreallocated fills stores that have taken all their memory to the cap:
// hardly any segment is made then, and none goes when all keys have expired.
func TestPreallocated(t *testing.T) {
	for _, most := range []int{1, meanCount, 1000, 5 * meanCount * manyShards, 50_000} {
		synctest.Test(t, func(t *testing.T) {
			s := New(WithMaxKeys(most), WithPreallocation())
			_, depth := layout(int64(most))
			made := len(s.table.Load().shards) << depth
			if held, segments := heldKeys(t, s); held != 0 || segments != made {
				t.Fatalf("cap %d: %d keys in %d segments in the beginning, want %d", most, held, segments, made)
			}
			before := slotsOf(s)
			hour := limitOf(ratelimit.AlgorithmTokenBucket, 3, time.Hour)
			for i := range most {
				admit(t, s, on(name(i), hour, 1))
			}
			if held, segments := heldKeys(t, s); held != most || segments > made+made/20+1 {
				t.Errorf("cap %d: %d keys in %d segments, want them in little more than %d", most, held, segments, made)
			}
			time.Sleep(2 * time.Hour)
			brief := limitOf(ratelimit.AlgorithmTokenBucket, 1, time.Millisecond)
			for i := range 2 * most {
				time.Sleep(time.Millisecond)
				admit(t, s, on(name(most+i), brief, 1))
			}
			held, segments := heldKeys(t, s)
			if few := made/2 + 4*len(s.table.Load().shards); segments > made+made/20+1 || held > few {
				t.Errorf("cap %d: %d keys in %d segments are left of expired ones, want %d at most in %d", most, held, segments, few, made)
			}
			after := slotsOf(s)
			for slots := range before {
				if !after[slots] {
					t.Errorf("cap %d: a segment of those that were made in the beginning is not used any more", most)
				}
			}
			if stats := s.Stats(); stats.Forgotten != 0 {
				t.Errorf("cap %d: %+v, want none forgotten", most, stats)
			}
		})
	}
}

func slotsOf(s *Store) map[*[slotsPerSegment]entry]bool {
	all := make(map[*[slotsPerSegment]entry]bool)
	table := s.table.Load()
	for i := range table.shards {
		for g := range table.shards[i].all() {
			all[g.slots] = true
		}
	}
	return all
}

// TestPreallocatedAnswers sends the same requests to stores that grow and to
// those that do not, restored ones among them.
func TestPreallocatedAnswers(t *testing.T) {
	const maxKeys = 3000
	s, clock := busy(t, maxKeys)
	grown := New(WithMaxKeys(maxKeys), WithClock(clock.now))
	whole := New(WithMaxKeys(3*meanCount*manyShards), WithClock(clock.now), WithPreallocation())
	for _, to := range []*Store{grown, whole} {
		if err := to.Restore(bytes.NewReader(dump(t, s))); err != nil {
			t.Fatal(err)
		}
	}
	_, depth := layout(whole.table.Load().most)
	if _, segments := heldKeys(t, whole); segments < len(whole.table.Load().shards)<<depth {
		t.Errorf("%d segments after Restore, want all there can be", segments)
	}
	goOn(t, clock, 3000, 4*time.Second, []*Store{s, grown, whole})
}

// TestSweepOfFewKeys has few clients at a time where there is room for many:
// expired keys go about as fast as where memory grows.
func TestSweepOfFewKeys(t *testing.T) {
	held := func(options ...Option) int64 {
		var most int64
		synctest.Test(t, func(t *testing.T) {
			s := New(append(options, WithMaxKeys(300_000))...)
			brief := limitOf(ratelimit.AlgorithmTokenBucket, 2, 2*time.Second)
			for i := range 200_000 {
				if i%10 == 0 {
					time.Sleep(10 * time.Millisecond) // so that 1000 are live
				}
				admit(t, s, on(name(i), brief, 1))
				most = max(most, s.table.Load().keys.Load())
			}
		})
		return most
	}
	if growing, whole := held(), held(WithPreallocation()); whole > 4*growing {
		t.Errorf("up to %d keys are held, %d where memory grows", whole, growing)
	}
}

// TestRestoreOfNothing fails before it takes memory.
func TestRestoreOfNothing(t *testing.T) {
	s := New(WithMaxKeys(100_000), WithPreallocation())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, text := range []string{"", "x", dumpMagic} {
		if err := s.Restore(strings.NewReader(text)); err == nil {
			t.Errorf("%q is restored", text)
		}
	}
	runtime.ReadMemStats(&after)
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 1<<20 {
		t.Errorf("it took %d bytes to see that there is nothing to restore", taken)
	}
}

// TestPreallocatedDoesNotAllocate: new keys take no memory, but for the few
// segments that by chance get more than others.
func TestPreallocatedDoesNotAllocate(t *testing.T) {
	const most, first, each = 20_000, 6000, 7000
	s := New(WithMaxKeys(most), WithPreallocation())
	charges, results := []ratelimit.Charge{on("", limitOf(ratelimit.AlgorithmSlidingWindow, 3, time.Hour), 1)}, make([]ratelimit.Result, 1)
	next := 0
	names := make([]ratelimit.Partition, most)
	for i := range names {
		names[i] = ratelimit.Partition(name(i))
	}
	call := func(times int) {
		for range times {
			charges[0].Partition = names[next]
			next++
			if err := s.Take(t.Context(), charges, results); err != nil || !results[0].Allowed {
				t.Fatalf("key %d: %+v, %v", next, results[0], err)
			}
		}
	}
	call(first) // until each shard knows the limit
	if allocations := testing.AllocsPerRun(1, func() { call(each) }); allocations > 50 {
		t.Errorf("%d new keys allocate %v times", each, allocations)
	}
}
