package memstore

import (
	"sync/atomic"
	"testing"
)

// TestFirstSegment looks at shards that are getting their first segment: who
// sees a directory has to find slots behind it.
func TestFirstSegment(t *testing.T) {
	var at atomic.Pointer[shard]
	stop, seen := make(chan struct{}), make(chan int)
	go func() {
		bad := 0
		for {
			select {
			case <-stop:
				seen <- bad
				return
			default:
			}
			if sh := at.Load(); sh != nil {
				if d := sh.directory.Load(); d != nil && d.paths[0].slots.Load() == nil {
					bad++
				}
			}
		}
	}()
	for range 20_000 {
		sh := new(shard)
		at.Store(sh)
		sh.begin()
	}
	close(stop)
	if bad := <-seen; bad > 0 {
		t.Errorf("%d times a directory led nowhere", bad)
	}
}
