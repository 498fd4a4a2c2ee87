package memstore

import (
	"context"
	"fmt"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

// Adjust changes what was charged; see [ratelimit.Store]. If one adjustment is
// invalid, none is made. What was charged to a key that has no entry (any
// more) cannot be given back.
func (s *Store) Adjust(ctx context.Context, adjustments []ratelimit.Adjustment) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for i := range adjustments {
		a := &adjustments[i]
		if a.Cost < 0 || a.NewCost < 0 {
			return fmt.Errorf("memstore: Adjustment of cost %d to %d: neither may be negative", a.Cost, a.NewCost)
		}
		if err := checkLimit(&a.Limit); err != nil {
			return err
		}
	}
	t, now := s.table.Load(), s.clock.now()
	for i := range adjustments {
		t.adjust(&adjustments[i], now)
	}
	return nil
}

func (t *table) adjust(a *ratelimit.Adjustment, now int64) {
	// What it would be as a charge of the difference.
	c := ratelimit.Charge{Policy: a.Policy, Partition: a.Partition, Limit: a.Limit, Cost: max(a.NewCost-a.Cost, 0)}
	k := key{tag: t.tag(&c), slot: noSlot}
	sh, fraction := t.place(k.tag)
	k.fraction = fraction

	sh.mu.Lock()
	defer sh.mu.Unlock()
	e := sh.find(k.tag, fraction)
	if e == nil && c.Cost == 0 {
		return
	}
	if e != nil {
		e.close()
	}
	now = sh.at(t, now, e)
	if e == nil {
		e = sh.newcomer(t, &k, &c, now)
	}
	var was algorithm.State
	if e != nil {
		sh.turn(e, now, &c)
		was = sh.state(e, now)
	}
	s := was
	if a.Limit.Algorithm == ratelimit.AlgorithmSlidingLog {
		sh.logs.adjust(&s, now, &a.Limit, a.At, a.NewCost-a.Cost)
	} else {
		s = algorithm.Adjust(s, now, a.Limit, a.At, a.Cost, a.NewCost)
	}
	switch {
	case s.Time == was.Time && s.Level == was.Level && s.Rest == was.Rest && a.Limit.Algorithm != ratelimit.AlgorithmSlidingLog:
		// Too late to matter.
	case e != nil:
		sh.write(e, &s, &a.Limit)
	case s.Level == was.Level && s.Rest == was.Rest:
	default:
		if e = sh.create(t, &k, now); e == nil {
			return
		}
		sh.set(e, &s, sh.limits.hold(&a.Limit))
	}
	if e != nil {
		e.open()
	}
}

// Reset removes everything stored under these keys; see [ratelimit.Store]. A
// newcomer who is limited together with others (see the package documentation)
// goes on being so.
func (s *Store) Reset(ctx context.Context, keys []ratelimit.Key) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t := s.table.Load()
	for i := range keys {
		k := &keys[i]
		tag := t.hasher.tag(k.Policy, k.Partition, k.Algorithm, int64(k.Window))
		sh, fraction := t.place(tag)
		sh.mu.Lock()
		if e := sh.find(tag, fraction); e != nil {
			g := sh.segment(fraction)
			sh.discard(t, g, g.slot(e))
			sh.sweeper.waitsFor(0) // there may be segments to be joined
		}
		sh.mu.Unlock()
	}
	return nil
}
