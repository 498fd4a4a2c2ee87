package memstore

// sweeper removes what has expired little by little: whoever adds a key looks
// after two others, and every sixteenth of the other calls after one. That is
// enough for the table to follow the number of live keys up and down. Nobody
// ever waits for more than one portion.
type sweeper struct {
	due      int
	fraction uint32 // of the segment that is next
	slot     int
}

const (
	// sweepPortion is how many entries are looked at once.
	sweepPortion = 8
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

// sweepSome looks at one portion of a segment. What a clock that may go back
// calls expired may be needed again, and is left to make way for newcomers.
func (sh *shard) sweepSome(t *table, now int64) {
	w := &sh.sweeper
	g := sh.segment(w.fraction)
	if g == nil || !sh.steady {
		return
	}
	for looked := 0; looked < sweepPortion && w.slot < slotsPerSegment; {
		e := &g.slots[w.slot]
		if e.tag == 0 {
			w.slot++
			continue
		}
		looked++
		if !sh.expire(t, g, w.slot, now) {
			w.slot++
		} // else look at what has moved up
	}
	if w.slot < slotsPerSegment {
		return
	}
	g = sh.merge(g)
	w.slot = 0
	w.fraction = g.end()
}
