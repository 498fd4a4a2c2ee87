package memstore

import (
	"math/bits"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

// candidates is how many entries are looked at to find the one that has used
// the least, if one of them can be given up at all; if not, the rest of the
// segment is.
const candidates = 8

const noSlot = -1

// victim picks the slot of a segment that a newcomer may have: that of a fully
// replenished entry, which holds no information, else that of the one with the
// smallest share of its limit used. What is at its limit is never given up;
// noSlot if all are. Neither recency nor expiry counts: by those a flood of new keys
// frees those that are blocked.
func (sh *shard) victim(g *segment, tag uint64, now int64) int {
	return sh.leastUsed(g, home(tag), candidates, now)
}

// leastUsed looks for a victim from a slot on until it has one and has seen
// enough entries.
func (sh *shard) leastUsed(g *segment, from, enough int, now int64) int {
	slot := noSlot
	var used, capacity int64
	seen, i := 0, from
	for range slotsPerSegment {
		if e := &g.slots[i]; e.tag != 0 {
			u, c := sh.used(e, now)
			if u == 0 {
				return i
			}
			if u < c && (slot == noSlot || smaller(u, c, used, capacity)) {
				slot, used, capacity = i, u, c
			}
			if seen++; seen >= enough && slot != noSlot {
				break
			}
		}
		i = next(i)
	}
	return slot
}

// smaller reports whether a/b < c/d.
func smaller(a, b, c, d int64) bool {
	leftHi, leftLo := bits.Mul64(uint64(a), uint64(d))
	rightHi, rightLo := bits.Mul64(uint64(c), uint64(b))
	return leftHi < rightHi || leftHi == rightHi && leftLo < rightLo
}

// used is how much of its capacity an entry has in use, rounded up, and the
// capacity of the limit that it was last written with.
func (sh *shard) used(e *entry, now int64) (used, capacity int64) {
	s, limit := e.state(), sh.limits.of(e.limit())
	if limit.Algorithm == ratelimit.AlgorithmSlidingLog {
		return sh.logs.view(&s, now, limit).used, limit.Quota
	}
	return algorithm.Used(&s, now, limit), limit.Capacity()
}

// room reports whether a newcomer can have an entry of its own, and which slot
// it would have to take (noSlot: a free one). That holds for as long as the
// shard is locked and nobody else is let in.
func (sh *shard) room(t *table, tag uint64, fraction uint32, now int64) (slot int, ok bool) {
	if t.keys.Load() < t.most {
		return noSlot, true
	}
	g := sh.segment(fraction)
	if g == nil {
		return noSlot, false
	}
	slot = sh.victim(g, tag, now)
	return slot, slot != noSlot
}

// admit makes an entry for a newcomer, whose state and limit the caller has to
// write at once; nil if there is no room. The slot is what room has just said,
// or noSlot.
func (sh *shard) admit(t *table, tag uint64, fraction uint32, now int64, slot int) *entry {
	for {
		g := sh.segment(fraction)
		if g == nil {
			if !t.reserve() {
				return nil
			}
			return sh.begin().add(tag)
		}
		full := g.count == slotsPerSegment
		if !full && t.reserve() {
			return g.add(tag)
		}
		if slot == noSlot {
			slot = sh.victim(g, tag, now)
		}
		used := int64(0)
		if slot != noSlot {
			used, _ = sh.used(&g.slots[slot], now)
		}
		if full && (slot == noSlot || used > 0) && t.keys.Load() < t.most && sh.grow(t, g) {
			slot = noSlot
			continue // only the segment was full, not the store
		}
		if slot == noSlot {
			return nil
		}
		sh.counts.evicted(used)
		sh.clear(&g.slots[slot])
		g.remove(slot)
		return g.add(tag)
	}
}

// discard removes the entry in a slot.
func (sh *shard) discard(t *table, g *segment, slot int) {
	sh.clear(&g.slots[slot])
	g.remove(slot)
	t.keys.Add(-1)
}

// clear gives back what an entry refers to.
func (sh *shard) clear(e *entry) {
	sh.denials.withdraw(e)
	number := e.limit()
	if sh.limits.of(number).Algorithm == ratelimit.AlgorithmSlidingLog {
		s := e.state()
		sh.logs.release(&s)
	}
	sh.limits.release(number)
}
