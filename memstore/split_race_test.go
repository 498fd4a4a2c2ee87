package memstore

import (
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// TestSplitUnderCharges splits segments while their entries are charged without
// the lock: no charge is lost where an entry moves.
func TestSplitUnderCharges(t *testing.T) {
	l := ratelimit.FixedWindow(1<<40, time.Hour)
	names := make([]string, slotsPerSegment)
	for i := range names {
		names[i] = name(i)
	}
	for range 300 {
		s, _ := openSteady(2000)
		table := s.table.Load()
		table.shards = table.shards[:1]
		stop := chargeOn(t, s, l, names, false)
		for i := range 150 {
			take(t, s, on("newcomer"+names[i%slotsPerSegment]+names[i/slotsPerSegment], l, 1))
		}
		stop()
	}
}

// TestMergeUnderCharges splits segments and joins them again while entries of
// theirs are charged without the lock, alone and two at a time: no charge is lost
// where an entry moves.
func TestMergeUnderCharges(t *testing.T) {
	const busy, brief = 24, 150
	forever := ratelimit.FixedWindow(1<<40, ratelimit.MaxWindow)
	short := ratelimit.TokenBucket(1, time.Millisecond, 1)
	names := make([]string, busy)
	for i := range names {
		names[i] = name(i)
	}
	for _, options := range [][]Option{nil, {WithPreallocation()}} {
		clock := newFakeClock()
		s := New(append(options, WithMaxKeys(2000), WithSteadyClock(clock.now))...)
		table := s.table.Load()
		table.shards = table.shards[:1]
		sh := &table.shards[0]
		stop := chargeOn(t, s, forever, names, true)
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
		stop()
		if joined < 50 {
			t.Errorf("segments were joined %d times, want often", joined)
		}
	}
}
