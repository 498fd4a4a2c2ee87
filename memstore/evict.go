package memstore

import (
	"math/bits"
	"sync/atomic"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

// candidates is how many entries are looked at, at least, to find the one that
// has used the least.
const candidates = 8

const noSlot = -1

// share is how much of a limit's capacity is used, rounded up.
type share struct {
	used, capacity int64
}

// all reports whether nothing is left.
func (s share) all() bool { return s.used >= s.capacity }

// below reports whether s is the smaller share.
func (s share) below(o share) bool {
	leftHi, leftLo := bits.Mul64(uint64(s.used), uint64(o.capacity))
	rightHi, rightLo := bits.Mul64(uint64(o.used), uint64(s.capacity))
	return leftHi < rightHi || leftHi == rightHi && leftLo < rightLo
}

// victim picks the slot of a segment that a newcomer may have: that of a fully
// replenished entry, which holds no information, else that of the one with the
// smallest share of its limit used. What is at its limit is never given up;
// noSlot if all are. Neither recency nor expiry counts: by those a flood of new
// keys frees those that are blocked.
//
// The search begins where the newcomer's tag belongs. It ends after a few
// entries if one of them has used no larger a share than the newcomer's own
// will be, which during a flood of his like is nearly always so; else all of
// the segment are candidates.
func (sh *shard) victim(g segment, tag uint64, own share, now int64) int {
	return sh.leastUsed(g, home(tag), candidates, own, now)
}

func (sh *shard) leastUsed(g segment, from, enough int, own share, now int64) int {
	slot, least, seen := noSlot, share{}, 0
	i := from
	for range slotsPerSegment {
		if e := &g.slots[i]; e.tag != 0 {
			s := sh.used(e, now)
			if s.used == 0 {
				return i
			}
			if !s.all() && (slot == noSlot || s.below(least)) {
				slot, least = i, s
			}
			if seen++; seen >= enough && slot != noSlot && !own.below(least) {
				break
			}
		}
		i = next(i)
	}
	return slot
}

// used is the share that an entry has used, of the limit that it was last
// written with. Unless it is closed that may be more by the time it is known.
func (sh *shard) used(e *entry, now int64) share {
	sh.trim(e, now)
	s, limit := sh.state(e, now), &sh.limits.of(e.limit()).limit
	if limit.Algorithm == ratelimit.AlgorithmSlidingLog {
		return share{sh.logs.view(&s, now, limit).used, limit.Quota}
	}
	if limit.Algorithm == ratelimit.AlgorithmPenalty {
		return usedPenalty(&s, now, limit)
	}
	return share{algorithm.Used(&s, now, limit), limit.Capacity()}
}

// surelyUsed is until when at least something of an entry's limit is used, as
// can be told without unpacking it; 0 if it is not packed.
func (sh *shard) surelyUsed(e *entry) (until int64) {
	word := atomic.LoadUint64(&e.word)
	if word&packedBit == 0 {
		return 0
	}
	return sh.limits.of(e.limit()).rate.unusedAt(word>>packShift, int64(e.base>>timeShift))
}

// room reports whether a newcomer can have an entry of its own, and notes which
// slot it would have to take (noSlot: a free one). That holds for as long as
// the shard is locked and nobody else is let in.
func (sh *shard) room(t *table, k *key, now int64) bool {
	k.slot = noSlot
	if t.keys.Load() < t.most {
		return true
	}
	g := sh.segment(k.fraction)
	if (g.none() || g.count() < sparse) && t.elsewhere(sh, k, now, false) {
		return true
	}
	if g.none() {
		return false
	}
	k.slot = sh.victim(g, k.tag, k.own, now)
	return k.slot != noSlot
}

// admit makes an entry for a newcomer, whose state and limit the caller has to
// write at once; nil if there is no room.
func (sh *shard) admit(t *table, k *key, now int64) *entry {
	slot := k.slot
	for {
		g := sh.segment(k.fraction)
		if g.none() {
			if !t.reserve() && !t.elsewhere(sh, k, now, true) {
				return nil
			}
			return sh.begin().add(k.tag)
		}
		full := g.vacancy(k.tag) == noSlot
		if !full && t.reserve() || g.count() < sparse && t.elsewhere(sh, k, now, true) {
			return g.add(k.tag)
		}
		if slot == noSlot {
			slot = sh.victim(g, k.tag, k.own, now)
		}
		used := int64(0)
		if slot != noSlot {
			used = sh.used(&g.slots[slot], now).used
		}
		below := full && t.keys.Load() < t.most // only the segment is full, not the store
		if below && (slot == noSlot || used > 0) && sh.grow(t, k.fraction) {
			slot = noSlot
			continue
		}
		if slot == noSlot {
			return nil
		}
		if sh.evict(g, slot, now, below && used == 0) {
			return g.add(k.tag)
		}
		slot = noSlot // and look for another
	}
}

// evict removes the entry in a slot in favour of a newcomer, unless it has come
// to its limit meanwhile or, if it has to be unused, has been charged.
func (sh *shard) evict(g segment, slot int, now int64, unused bool) bool {
	e := &g.slots[slot]
	opened := e.close()
	used := sh.used(e, now)
	if used.used > 0 && (unused || used.all()) {
		if opened {
			e.open()
		}
		return false
	}
	sh.counts.evicted(used.used)
	sh.clear(e)
	g.remove(slot)
	return true
}

// discard removes the entry in a slot, whatever it holds.
func (sh *shard) discard(t *table, g segment, slot int) {
	e := &g.slots[slot]
	e.close()
	sh.clear(e)
	g.remove(slot)
	t.keys.Add(-1)
}

// expire removes the entry in a slot if it holds no information.
func (sh *shard) expire(t *table, g segment, slot int, now int64) {
	e := &g.slots[slot]
	until := sh.surelyUsed(e)
	if now < until || sh.used(e, now).used > 0 {
		sh.sweeper.waitsFor(until)
		return
	}
	if e.close() && sh.used(e, now).used > 0 { // charged meanwhile
		e.open()
		sh.sweeper.waitsFor(until)
		return
	}
	sh.counts.expired++
	sh.discard(t, g, slot)
}

// clear gives back what a closed entry refers to.
func (sh *shard) clear(e *entry) {
	sh.denials.withdraw(e)
	number := e.limit()
	if sh.limits.of(number).limit.Algorithm == ratelimit.AlgorithmSlidingLog {
		s := sh.state(e, 0)
		sh.logs.release(&s)
	}
	sh.limits.release(number)
}
