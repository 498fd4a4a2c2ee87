package memstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// Take decides all charges of one request as one; see [ratelimit.Store]. It
// allocates nothing for up to 8 charges of keys that are known, takes no lock
// for a single charge of a key that is known and has the limit of the last
// time, and does a bounded amount of work, however many keys there are: for
// each charge a segment of 64 entries is searched, and a few others at the cap,
// one may be split and a few entries swept. (A sliding log is decided on under
// a lock, and adds the entries that have left it since it was last looked at,
// and for a cost above 1 those that have to leave.)
func (s *Store) Take(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(charges) != len(results) {
		return fmt.Errorf("memstore: Take of %d charges with %d results: give one result for each charge", len(charges), len(results))
	}
	for i := range charges {
		if c := &charges[i]; c.Cost < 0 || c.Mode > ratelimit.ModePenalty {
			return badCharge(c)
		}
	}
	t := s.table.Load()
	if len(charges) != 1 {
		return t.takeAll(charges, results)
	}
	c, r := &charges[0], &results[0]
	var now, latest int64
	if s.clock.outside == nil && s.clock.coarse == nil {
		now = s.clock.since(time.Since(s.clock.start)) // clock.now, inline
		latest = now
	} else {
		now, latest = s.clock.between()
	}
	tag := t.tag(c)
	sh, fraction := t.place(tag)
	for range tries {
		done := sh.takeKnown(t, c, sh.limits.likely(&c.Limit), tag, fraction, now, latest, r)
		if done >= looked {
			return nil
		}
		if done != overtaken {
			break
		}
	}
	if now != latest {
		now = s.clock.now()
	}
	return sh.takeOne(t, c, tag, fraction, now, r)
}

// badCharge is the error for what can be said of a charge without its limit,
// which is checked where it is not the same as the last time.
func badCharge(c *ratelimit.Charge) error {
	if c.Cost < 0 {
		return fmt.Errorf("memstore: Charge.Cost %d is negative: use 0 to look, Adjust to give back", c.Cost)
	}
	return fmt.Errorf("memstore: Charge.Mode %d is unknown: use one of the constants", c.Mode)
}

func checkLimit(l *ratelimit.Limit) error {
	if l.IsUnlimited() {
		return errors.New("memstore: Charge.Limit is Unlimited, which counts nothing: leave the charge out")
	}
	if err := l.Validate(); err != nil {
		return fmt.Errorf("memstore: %w", err)
	}
	return nil
}

// checkLimit needs not look at a limit that others have.
func (sh *shard) checkLimit(l *ratelimit.Limit) error {
	if h := sh.limits.likely(l); h != nil && h.limit == *l {
		return nil
	}
	return checkLimit(l)
}

func (t *table) tag(c *ratelimit.Charge) uint64 {
	return t.hasher.tag(c.Policy, c.Partition, c.Limit.Algorithm, int64(c.Limit.Window))
}

func (t *table) spillTag(c *ratelimit.Charge) uint64 {
	return t.hasher.spillTag(c.Policy, c.Limit.Algorithm, int64(c.Limit.Window))
}

// takeOne decides a single charge under the lock.
func (sh *shard) takeOne(t *table, c *ratelimit.Charge, tag uint64, fraction uint32, now int64, r *ratelimit.Result) error {
	if c.Limit.Algorithm == ratelimit.AlgorithmSlidingLog && c.Mode == ratelimit.ModeEnforce && sh.denials.answer(tag, c, now, r) {
		return nil
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	var e *entry
	g := sh.segment(fraction)
	if !g.none() {
		e = g.find(tag)
	}
	if e == nil && sh.takeFresh(t, c, g, tag, sh.at(t, now, nil), r) {
		return nil
	}
	if e == nil || sh.limits.of(e.limit()).limit != c.Limit {
		if err := sh.checkLimit(&c.Limit); err != nil {
			return err
		}
	}
	if e != nil {
		e.close()
	}
	now = sh.at(t, now, e)
	if e == nil {
		sh.takeNew(t, c, tag, fraction, now, r)
		return nil
	}
	sh.turn(e, now, c)
	k := key{tag: tag, fraction: fraction}
	switch c.Mode {
	case ratelimit.ModePenalty:
		sh.peek(e, now, &c.Limit, r)
	case ratelimit.ModeOnDenial:
		sh.look(e, &k, now, &c.Limit, r)
	default:
		sh.trim(e, now)
		sh.take(t, e, &k, actions[c.Mode&7], now, c, r)
		if !r.Allowed && c.Mode == ratelimit.ModeEnforce {
			sh.publish(e, now, c.Cost)
		}
	}
	e.open()
	sh.sweep(t, now, sweepCall)
	return nil
}

// takeNew decides on a key that has no entry.
func (sh *shard) takeNew(t *table, c *ratelimit.Charge, tag uint64, fraction uint32, now int64, r *ratelimit.Result) {
	k := key{tag: tag, fraction: fraction, slot: noSlot}
	switch c.Mode {
	case ratelimit.ModePenalty:
		sh.peek(nil, now, &c.Limit, r)
		return
	case ratelimit.ModeOnDenial:
		sh.look(sh.newcomer(t, &k, c, now), &k, now, &c.Limit, r)
	default:
		sh.take(t, sh.newcomer(t, &k, c, now), &k, actions[c.Mode&7], now, c, r)
	}
	if e := sh.entry(&k); e != nil {
		e.open()
	}
	sh.sweep(t, now, sweepNewKey)
}
