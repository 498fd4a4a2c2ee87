package memory

import (
	"runtime"
	"runtime/metrics"

	"github.com/go-floodgate/floodgate/bench/measure"
)

// Metrics beside those of measure.Speed.
const (
	HeapPerKey = "heap" // bytes
	GCCycle    = "gc"   // CPU milliseconds that the keys add to a garbage collection
)

const (
	// collections are how many a CPU time is averaged over.
	collections = 2
	// looks are how many sizes are looked at for the most that a growing store takes.
	looks = 24
)

// heap tells what the keys take and what they add to a garbage collection. A
// growing store is looked at again and again from half of its keys on, which
// makes it double at least once: what it took most per key is told.
func (s *session) heap(o measure.Order) (map[string]float64, error) {
	if s.contender.Growing {
		return s.growingHeap(o)
	}
	if s.grown < o.Keys {
		if _, err := s.grow(o); err != nil {
			return nil, err
		}
	}
	for range max(s.contender.Entries, 1) - 1 {
		if _, err := s.fill(s.crowd, o, 0); err != nil {
			return nil, err
		}
	}
	bytes, milliseconds := collected()
	runtime.KeepAlive(s.crowd)
	return map[string]float64{
		HeapPerKey: (bytes - s.emptyHeap) / float64(s.grown),
		GCCycle:    max(milliseconds-s.emptyGC, 0),
	}, nil
}

func (s *session) growingHeap(o measure.Order) (map[string]float64, error) {
	most := 0.0
	for size := range looks + 1 {
		step := o
		step.Keys = o.Keys/2 + size*(o.Keys/2)/looks
		if _, err := s.grow(step); err != nil {
			return nil, err
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		most = max(most, (float64(m.HeapAlloc)-s.emptyHeap)/float64(s.grown))
	}
	runtime.KeepAlive(s.crowd)
	return map[string]float64{HeapPerKey: most}, nil
}

// collected returns the bytes in use and the CPU milliseconds that a garbage
// collection takes.
func collected() (bytes, milliseconds float64) {
	runtime.GC() // of what was garbage already
	used := func() float64 {
		sample := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}}
		metrics.Read(sample)
		return sample[0].Value.Float64()
	}
	before := used()
	for range collections {
		runtime.GC()
	}
	took := used() - before
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc), took * 1000 / collections
}
