package memstore

import (
	"sync/atomic"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

// key is where a charge is counted: in its own entry, or together with other
// newcomers (see spill.go).
type key struct {
	tag      uint64
	fraction uint32
	where    where
	slot     int   // of the entry that would have to make way, see shard.room
	own      share // what a newcomer will have used, if he is let in
}

type where uint8

const (
	alone    where = iota
	together       // tag is the one of the shared count
	nowhere        // not even there: denied
)

// newcomer decides where a charge is counted whose key has no entry, and
// returns the entry if there is one after all, the shared one.
func (sh *shard) newcomer(t *table, k *key, c *ratelimit.Charge, now int64) *entry {
	k.own = share{max(c.Cost, 1), c.Limit.Capacity()}
	if sh.room(t, k, now) {
		return nil
	}
	k.tag, k.where = t.spillTag(c), together
	if c.Cost > 0 {
		sh.counts.spilled++
	}
	e := sh.spilled(k.tag)
	if e == nil && !sh.roomTogether(now) {
		k.where = nowhere
	}
	return e
}

// entry finds the key's entry, if it has one.
func (sh *shard) entry(k *key) *entry {
	if k.where == alone {
		return sh.find(k.tag, k.fraction)
	}
	return sh.spilled(k.tag)
}

// take applies an action to a key, whose entry is e or nil, and writes what
// becomes of it. The entry is closed afterwards.
func (sh *shard) take(t *table, e *entry, k *key, do algorithm.Action, now int64, c *ratelimit.Charge, r *ratelimit.Result) {
	if k.where == nowhere {
		crowded(do, now, &c.Limit, r)
		return
	}
	var s algorithm.State
	if e != nil {
		s = sh.state(e, now)
	}
	if !sh.apply(do, &s, now, &c.Limit, c.Cost, r) {
		return
	}
	if e != nil {
		sh.write(e, &s, &c.Limit)
		return
	}
	if e = sh.create(t, k, now); e != nil {
		sh.set(e, &s, sh.limits.hold(&c.Limit))
		return
	}
	// The room that was there a moment ago was taken, by another shard or by
	// another charge of this Take. Not to count it would be to let it through
	// for free.
	if k.where == alone {
		k.tag, k.where = t.spillTag(c), together
		var ignored ratelimit.Result
		sh.take(t, sh.spilled(k.tag), k, algorithm.ActionForce, now, c, &ignored)
	}
}

// look answers as for a cost of 0, and allowed in any case.
func (sh *shard) look(e *entry, k *key, now int64, l *ratelimit.Limit, r *ratelimit.Result) {
	if k.where == nowhere {
		crowded(algorithm.ActionForce, now, l, r)
		return
	}
	var s algorithm.State
	if e != nil {
		s = sh.state(e, now)
	}
	sh.apply(algorithm.ActionLook, &s, now, l, 0, r)
	r.Allowed, r.RetryAfter = true, 0
}

// apply is [algorithm.Apply] for all algorithms.
func (sh *shard) apply(do algorithm.Action, s *algorithm.State, now int64, l *ratelimit.Limit, cost int64, r *ratelimit.Result) (taken bool) {
	if l.Algorithm == ratelimit.AlgorithmSlidingLog {
		return sh.logs.apply(do, s, now, l, cost, r)
	}
	return algorithm.Apply(do, s, now, l, cost, r)
}

// create makes the entry of a key that has none.
func (sh *shard) create(t *table, k *key, now int64) *entry {
	if k.where == alone {
		return sh.admit(t, k, now)
	}
	return sh.admitTogether(k.tag, now)
}

// state is what the algorithms work on. If the clock cannot go back, a bucket is
// seen as of now: what was charged has drained at the quota of the charge.
func (sh *shard) state(e *entry, now int64) algorithm.State {
	s := algorithm.State{Time: int64(e.base >> timeShift), Rest: int64(e.rest >> restShift)}
	h, word := sh.limits.of(e.limit()), atomic.LoadUint64(&e.word)
	if word&packedBit != 0 {
		h.rate.unpack(word>>packShift, &s, now)
		return s
	}
	s.Level = int64(word >> levelShift)
	if sh.steady {
		s = algorithm.AsOf(s, now, &h.limit)
	}
	return s
}

// turn makes a charge's limit that of a closed entry, if it was another. A clock
// that may go back has to find the state as it was committed.
func (sh *shard) turn(e *entry, now int64, c *ratelimit.Charge) {
	if sh.steady && c.Mode != ratelimit.ModePeek && sh.limits.of(e.limit()).limit != c.Limit {
		s := sh.state(e, now)
		sh.write(e, &s, &c.Limit)
	}
}

// write changes a closed entry, perhaps to another limit.
func (sh *shard) write(e *entry, s *algorithm.State, l *ratelimit.Limit) {
	sh.denials.withdraw(e)
	number := e.limit()
	if sh.limits.of(number).limit != *l {
		sh.limits.release(number)
		number = sh.limits.hold(l)
	}
	sh.set(e, s, number)
}

// set writes a closed entry, which stays closed.
func (sh *shard) set(e *entry, s *algorithm.State, number uint32) {
	base := uint64(s.Time)<<timeShift | uint64(number&0xff)
	if sh.steady {
		q := &sh.limits.of(number).rate
		if packed, rest, ok := q.pack(s); ok {
			sh.sweeper.waitsFor(q.unusedAt(packed, s.Time))
			e.write(packed<<packShift|sh.nextStamp()<<stampShift|packedBit, base, rest<<restShift|uint64(number>>8))
			return
		}
	}
	sh.sweeper.waitsFor(0)
	e.write(uint64(s.Level)<<levelShift, base, uint64(s.Rest)<<restShift|uint64(number>>8))
}

func (sh *shard) nextStamp() uint64 {
	sh.stamp = (sh.stamp + 1) & stampMask
	return sh.stamp
}
