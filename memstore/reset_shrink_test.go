package memstore

import (
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// TestResetShrinks resets all keys long before they would expire: the segments
// go, as they do when keys expire.
func TestResetShrinks(t *testing.T) {
	s, _ := openSteady(5000)
	table := s.table.Load()
	table.shards = table.shards[:1]
	l := ratelimit.Limit{Algorithm: ratelimit.AlgorithmFixedWindow, Quota: 1 << 40, Window: 24 * time.Hour}
	var keys []ratelimit.Key
	for i := range 3000 {
		c := on(name(i), l, 1)
		take(t, s, c)
		keys = append(keys, c.Key())
	}
	for range 100_000 { // the sweep finds that nothing can expire for long
		take(t, s, on(name(0), l, 1))
	}
	if err := s.Reset(t.Context(), keys[1:]); err != nil {
		t.Fatal(err)
	}
	for range 200_000 {
		take(t, s, on(name(0), l, 1))
	}
	if keys, segments := heldKeys(t, s); keys != 1 || segments != 1 {
		t.Errorf("%d segments for %d keys", segments, keys)
	}
}
