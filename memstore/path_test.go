package memstore

import (
	"sync/atomic"
	"testing"
)

// TestPathOrder reads a path that leads to one segment after the other: marks
// are never read that are older than the slots they are read with, or else a
// slot might be looked at that was never used.
func TestPathOrder(t *testing.T) {
	var all [500]segment
	for i := range all {
		all[i] = newSegment()
		all[i].marks[0], all[i].slots[0].base = uint64(i), uint64(i)
	}
	bad := 0
	for range 400 {
		var (
			p       path
			stop    atomic.Bool
			ready   = make(chan struct{})
			stopped = make(chan struct{})
		)
		p.store(all[0])
		go func() {
			defer close(stopped)
			close(ready)
			for !stop.Load() {
				if g := p.load(); g.marks[0] < g.slots[0].base {
					bad++
				}
			}
		}()
		<-ready
		for i := range all {
			p.store(all[i])
		}
		stop.Store(true)
		<-stopped
	}
	if bad > 0 {
		t.Errorf("marks were read %d times with slots younger than they", bad)
	}
}
