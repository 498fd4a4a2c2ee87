package memstore

import "math"

// sweeper removes what has expired little by little: whoever adds a key looks
// after two others, and every sixteenth of the other calls after one. That is
// enough for the table to follow the number of live keys up and down. Nobody
// ever waits for more than one portion. While nothing can have expired, nothing
// is looked at: that would be memory that no cache has.
type sweeper struct {
	due      int
	idle     int64  // until this instant nothing expires
	expiry   int64  // nor does, until this one, anything that this round has seen or was written meanwhile
	fraction uint32 // of the segment that is next
	slot     int
}

const (
	// sweepPortion is how many entries are looked at once.
	sweepPortion = 8
	// sweepSegments is how many segments they are looked for in, at most.
	sweepSegments = 32
	// What a call is worth, and what a portion costs.
	sweepCall, sweepNewKey = 1, 32
	sweepCost              = 16 * sweepPortion
)

// sweep is to be called once for each call, with the shard locked.
func (sh *shard) sweep(t *table, now int64, worth int) {
	if sh.sweeper.due += worth; sh.sweeper.due >= sweepCost {
		sh.sweeper.due = 0
		sh.sweepSome(t, now)
	}
}

// sweepSome looks at one portion: entries of one segment, or of the next ones if
// it has few. What a clock that may go back calls expired may be needed again, and
// is left to make way for newcomers.
func (sh *shard) sweepSome(t *table, now int64) {
	looked, more := 0, true
	for range sweepSegments {
		if !sh.steady || now < sh.sweeper.idle || looked >= sweepPortion || !more {
			return
		}
		looked, more = sh.sweepSegment(t, now, looked)
	}
}

// sweepSegment is sweepSome for the segment that is next, when so many entries
// have been looked at. It returns how many that are now, and whether there may be
// more to do: not if two segments were joined, which is enough for one call.
func (sh *shard) sweepSegment(t *table, now int64, before int) (looked int, more bool) {
	w := &sh.sweeper
	g := sh.segment(w.fraction)
	if g.none() {
		return before, false
	}
	for looked = before; looked < sweepPortion && w.slot < slotsPerSegment; w.slot++ {
		if g.marks.of(w.slot) > freeAgain {
			looked++
			sh.expire(t, g, w.slot, now)
		}
	}
	if w.slot < slotsPerSegment {
		return looked, false
	}
	merged := sh.merge(t, w.fraction)
	if merged {
		w.waitsFor(0) // not all of it has been seen
	}
	w.slot = 0
	if w.fraction = sh.end(w.fraction); w.fraction == 0 {
		w.idle, w.expiry = w.expiry, math.MaxInt64
	}
	return looked, !merged
}

// waitsFor is told of something that is written, or seen and left: it does not
// expire before an instant.
func (w *sweeper) waitsFor(instant int64) {
	w.idle, w.expiry = min(w.idle, instant), min(w.expiry, instant)
}
