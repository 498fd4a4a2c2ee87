package memstore

import (
	"context"
	"errors"
	"fmt"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

// Take decides all charges of one request as one; see [ratelimit.Store]. It
// allocates nothing for up to 8 charges of keys that are known, locks nothing
// to deny a single charge again that was denied before, and does a bounded
// amount of work, however many keys there are: for each charge a segment of 63
// entries is searched, and a few others at the cap, one may be split and a few
// entries swept. (A sliding log adds the entries that have left it since it was last looked at, and for a cost above 1 those that have to leave.)
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
	t, now := s.table.Load(), s.clock.now()
	if len(charges) == 1 {
		return t.takeOne(&charges[0], now, &results[0])
	}
	return t.takeAll(charges, now, results)
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

func (t *table) tag(c *ratelimit.Charge) uint64 {
	return t.hasher.tag(c.Policy, c.Partition, c.Limit.Algorithm, int64(c.Limit.Window))
}

func (t *table) spillTag(c *ratelimit.Charge) uint64 {
	return t.hasher.spillTag(c.Policy, c.Limit.Algorithm, int64(c.Limit.Window))
}

// takeOne decides a single charge.
func (t *table) takeOne(c *ratelimit.Charge, now int64, r *ratelimit.Result) error {
	tag := t.tag(c)
	sh, fraction := t.place(tag)
	if c.Mode == ratelimit.ModeEnforce && sh.denials.holds(tag) && sh.denials.answer(tag, c, now, r) {
		return nil
	}
	sh.mu.Lock()
	now = sh.at(t, now)
	var e *entry
	if g := sh.segment(fraction); g != nil {
		e = g.find(tag)
	}
	if e == nil || c.Mode >= ratelimit.ModeOnDenial || *sh.limits.of(e.limit()) != c.Limit {
		err := sh.takeOther(t, e, c, tag, fraction, now, r)
		sh.mu.Unlock()
		return err
	}
	// A known key under the limit that it had the last time: nearly every call.
	s := e.state()
	var taken bool
	if c.Limit.Algorithm == ratelimit.AlgorithmSlidingLog {
		sh.trim(e, now)
		s = e.state()
		taken = sh.logs.apply(actions[c.Mode], &s, now, &c.Limit, c.Cost, r)
	} else {
		taken = algorithm.Apply(actions[c.Mode], &s, now, &c.Limit, c.Cost, r)
	}
	switch {
	case taken:
		sh.denials.withdraw(e)
		e.set(&s, e.limit())
	case !r.Allowed && c.Mode == ratelimit.ModeEnforce:
		sh.publish(e)
	}
	sh.sweep(t, now, sweepCall)
	sh.mu.Unlock()
	return nil
}

// takeOther decides a single charge whose key has no entry, or was last
// charged under another limit.
func (sh *shard) takeOther(t *table, e *entry, c *ratelimit.Charge, tag uint64, fraction uint32, now int64, r *ratelimit.Result) error {
	if err := checkLimit(&c.Limit); err != nil {
		return err
	}
	if c.Mode == ratelimit.ModePenalty {
		sh.peek(e, now, &c.Limit, r)
		return nil
	}
	k := key{tag: tag, fraction: fraction, slot: noSlot}
	if e == nil {
		e = sh.newcomer(t, &k, c, now)
	}
	if c.Mode == ratelimit.ModeOnDenial {
		sh.look(e, &k, now, &c.Limit, r)
	} else {
		sh.take(t, e, &k, actions[c.Mode], now, c, r)
	}
	sh.sweep(t, now, sweepNewKey)
	return nil
}

// actions is what a mode does when it is taken on its own.
var actions = [...]algorithm.Action{
	ratelimit.ModeEnforce:  algorithm.ActionStep,
	ratelimit.ModeShadow:   algorithm.ActionStep,
	ratelimit.ModePeek:     algorithm.ActionLook,
	ratelimit.ModeForce:    algorithm.ActionForce,
	ratelimit.ModeOnDenial: algorithm.ActionForce,
}
