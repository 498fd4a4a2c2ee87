package memstore

import (
	"testing"
	"testing/synctest"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// TestBoundedWork looks at what single calls do to a store that grows, is at
// its cap, and of which everything has expired: whatever the number of keys, a
// call splits at most one segment and removes no more than a portion.
func TestBoundedWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const maxKeys = 2000
		s := New(WithMaxKeys(maxKeys))
		table := s.table.Load()
		l := limitOf(ratelimit.AlgorithmSlidingWindow, 10, time.Minute)
		mostGrown, mostRemoved, mostExpired := 0, int64(0), int64(0)
		call := func(i int) {
			c := on(name(i), l, 1)
			sh, _ := table.place(table.tag(&c))
			segments, before := distinct(sh), s.Stats()
			admit(t, s, c)
			after := s.Stats()
			mostGrown = max(mostGrown, distinct(sh)-segments)
			mostRemoved = max(mostRemoved, after.Forgotten-before.Forgotten)
			mostExpired = max(mostExpired, after.Expired-before.Expired)
		}
		for i := range 2 * maxKeys {
			call(i)
		}
		if s.Stats().Forgotten < maxKeys/2 {
			t.Fatalf("%+v, want many forgotten keys", s.Stats())
		}
		time.Sleep(time.Hour)
		for i := range 2 * maxKeys {
			call(3*maxKeys + i)
		}
		if mostGrown != 1 {
			t.Errorf("a call made %d segments, want never more than 1", mostGrown)
		}
		if mostRemoved != 1 {
			t.Errorf("a call forgot %d keys, want never more than 1", mostRemoved)
		}
		if mostExpired < 1 || mostExpired > sweepPortion+1 {
			t.Errorf("a call removed %d expired keys, want never more than %d", mostExpired, sweepPortion+1)
		}
	})
}

// distinct counts a shard's segments.
func distinct(sh *shard) int {
	n := 0
	for range sh.all() {
		n++
	}
	return n
}

// TestDirectoryStaysSmall: what is copied when a directory doubles is bounded
// however high the cap is.
func TestDirectoryStaysSmall(t *testing.T) {
	for _, most := range []int64{1, 100, 10_000, 1 << 20, 1 << 31} {
		shards, depth := layout(most)
		if depth > largeShardBits {
			t.Errorf("cap %d: directories of 2^%d segments, want at most 2^%d", most, depth, largeShardBits)
		}
		full := float64(most) / (float64(shards) * float64(int(1)<<depth))
		if most > meanCount && (full > meanCount || full < meanCount/2) {
			t.Errorf("cap %d: %d shards of 2^%d segments, which would hold %.1f keys each", most, shards, depth, full)
		}
	}
}
