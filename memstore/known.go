package memstore

import (
	"math/bits"
	"sync/atomic"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

// The fast path: a charge of a key that has an entry, which is packed and was
// last written with the same limit, as nearly all are. It takes no lock, and
// is written for speed, which BenchmarkStore/one_key and /denied show; all of
// that is in this file. What is to be answered is that of package algorithm,
// from which TestKnown lets it differ in nothing.

// soon is up to which wait, in microseconds, a denial has the clock read again.
// It was read before the entry was, so the entry may hold charges younger than
// that, but nothing of what has drained meanwhile, which may be just what is
// missing. (In between are a few nanoseconds, or as long as a goroutine may be
// kept from going on.)
const soon = 1_000_000

// tries is how often somebody else may be faster before the lock is taken.
const tries = 8

// takeKnown reports false, having done nothing, if a charge takes more than is
// done here. What it reads belongs together if the entry's word is the same at
// the end, see entry. The answer is written after that: a compare-and-swap
// waits for what was written before it, but not the calculation for the
// compare-and-swap; nor is h waited for, the limit that the entry probably has.
func (sh *shard) takeKnown(t *table, c *ratelimit.Charge, h *heldLimit, tag uint64, fraction uint32, now, latest int64, r *ratelimit.Result) outcome {
	g := sh.segment(fraction)
	if g.none() || h == nil || c.Mode >= ratelimit.ModeOnDenial {
		return undecided
	}
	e := g.find(tag)
	if e == nil {
		return undecided
	}
	word := atomic.LoadUint64(&e.word)
	base, rest := atomic.LoadUint64(&e.base), atomic.LoadUint64(&e.rest)
	if word&openBit == 0 || atomic.LoadUint64(&e.tag) != tag {
		return undecided
	}
	if held := sh.limits.of(limitNumber(base, rest)); held != h {
		if held == nil {
			return overtaken
		}
		h = held
	}
	if h.limit.Quota != c.Limit.Quota || h.limit.Burst != c.Limit.Burst || c.Limit.Block != (ratelimit.Block{}) {
		return undecided // (the tag is that of an algorithm and a window)
	}
	q, packed, from := &h.rate, word>>packShift, int64(base>>timeShift)
	now, latest = max(now, from), max(latest, from)
	if q.kind == kindWindow {
		done := unsure
		if now == latest || latest-from < q.window {
			done = h.takeWindow(e, word, rest>>restShift, from, now, now == latest, c, r)
		}
		if done == unsure || done == looked && !r.Allowed && r.RetryAfter <= soon*time.Microsecond {
			now = max(t.clock.now(), from)
			done = h.takeWindow(e, word, rest>>restShift, from, now, true, c, r)
		}
		if done == charged {
			sh.sweepNow(t, word+tag)
		}
		return done
	}
	if c.Cost > q.capacity {
		return undecided
	}
	var debt, drained uint64
	var fits bool
	need := uint64(c.Cost) * q.step
	for reread := false; ; reread = true {
		if now-from >= q.horizon {
			return undecided
		}
		if drained, debt = uint64(now-from)*q.speed, 0; packed > drained {
			debt = packed - drained
		}
		fits = debt+need <= q.full
		if now != latest {
			// A bucket that is still in debt at the latest time owes the same
			// after the charge whenever it is made.
			if fits && need > 0 && c.Mode <= ratelimit.ModeShadow && packed >= uint64(latest-from)*q.speed &&
				h.limit.Algorithm == ratelimit.AlgorithmTokenBucket {
				break
			}
		} else if fits || reread || debt+need-q.full > q.soon {
			break
		}
		now = max(t.clock.now(), from)
		latest = now
	}
	before := debt
	if need > 0 && (fits && c.Mode <= ratelimit.ModeShadow || c.Mode == ratelimit.ModeForce) {
		debt += need
		next := drained + debt
		if next >= packLimit {
			return undecided
		}
		if !atomic.CompareAndSwapUint64(&e.word, word, word^(packed^next)<<packShift) {
			return overtaken
		}
		sh.sweepNow(t, next+tag)
	} else if atomic.LoadUint64(&e.word) != word {
		return overtaken
	}

	h.tellBucket(c, before, debt, fits, now, r)
	return charged
}

// tellBucket is the answer to a charge of a bucket that found a debt of before
// and left one of after.
func (h *heldLimit) tellBucket(c *ratelimit.Charge, before, after uint64, fits bool, now int64, r *ratelimit.Result) {
	q := &h.rate
	r.Allowed, r.Limit, r.At = fits, q.capacity, now
	r.RetryAfter, r.Delay = 0, 0
	if !fits {
		if r.Allowed = c.Mode == ratelimit.ModeForce; !r.Allowed {
			r.RetryAfter = q.wait(before + uint64(c.Cost)*q.step - q.full)
		}
	}
	if h.limit.Algorithm == ratelimit.AlgorithmLeakyBucket && r.Allowed {
		if r.Delay = h.limit.LongestWait(); fits {
			r.Delay = q.wait(before)
		}
	}
	r.Remaining = max(q.capacity-q.units(after), 0)
	r.ResetAfter = q.wait(after)
}

type outcome uint8

const (
	undecided outcome = iota // it takes more than is done here
	overtaken                // somebody else was faster: once more
	unsure                   // the clock has to be read
	looked
	charged
)

// takeWindow is the part of takeKnown for fixed and sliding windows. If exact
// is not set, now is not to be told to who is not admitted.
func (h *heldLimit) takeWindow(e *entry, word, previous uint64, from, now int64, exact bool, c *ratelimit.Charge, r *ratelimit.Result) outcome {
	window, current := h.rate.window, int64(word>>packShift)
	if now-from >= window {
		return undecided // it is another one
	}
	done := looked
	if c.Cost > 0 && c.Mode != ratelimit.ModePeek {
		fits := c.Cost <= h.limit.Quota-current
		if fits && previous > 0 {
			viewHi, viewLo := bits.Mul64(previous, uint64(window-(now-from)))
			spareHi, spareLo := bits.Mul64(uint64(h.limit.Quota-current-c.Cost), uint64(window))
			fits = viewHi < spareHi || viewHi == spareHi && viewLo <= spareLo
		}
		if !exact && (!fits || c.Mode > ratelimit.ModeShadow) {
			return unsure
		}
		if fits || c.Mode == ratelimit.ModeForce {
			if current+min(c.Cost, packLimit) >= packLimit {
				return undecided
			}
			if !atomic.CompareAndSwapUint64(&e.word, word, word+uint64(c.Cost)<<packShift) {
				return overtaken
			}
			done = charged
		}
	}
	if done == looked && !exact {
		return unsure
	}
	if done == looked && atomic.LoadUint64(&e.word) != word {
		return overtaken
	}
	s := algorithm.State{Time: from, Level: current, Rest: int64(previous)}
	algorithm.Apply(actions[c.Mode&7], &s, now, &h.limit, c.Cost, r)
	return done
}

// units is a debt in units, rounded up; a multiplication instead of a division.
func (q *rate) units(debt uint64) int64 {
	up := debt + q.step - 1
	units, _ := bits.Mul64(up, q.perStep)
	if up-units*q.step >= q.step {
		units++ // perStep is rounded down
	}
	return int64(units)
}

// wait is how long a debt takes to drain, rounded up to a microsecond.
func (q *rate) wait(debt uint64) time.Duration {
	if q.speed > 1 {
		debt = (debt + q.speed - 1) / q.speed
	}
	return time.Duration(debt) * time.Microsecond
}

// sweepNow does what [shard.sweep] does after every so many calls, for calls
// that have nothing but a number that is never the same to tell when.
func (sh *shard) sweepNow(t *table, number uint64) {
	const onceIn = sweepCost / sweepCall
	if number*0x9e3779b97f4a7c15 < 1<<64/onceIn {
		sh.trySweep(t)
	}
}

func (sh *shard) trySweep(t *table) {
	if sh.mu.TryLock() {
		// Whoever has read the clock before must not miss what is swept here.
		sh.sweepSome(t, sh.at(t, t.clock.now(), nil))
		sh.mu.Unlock()
	}
}

// actions is what a mode does when it is taken on its own.
var actions = [8]algorithm.Action{
	ratelimit.ModeEnforce:  algorithm.ActionStep,
	ratelimit.ModeShadow:   algorithm.ActionStep,
	ratelimit.ModePeek:     algorithm.ActionLook,
	ratelimit.ModeForce:    algorithm.ActionForce,
	ratelimit.ModeOnDenial: algorithm.ActionForce,
}
