package memstore

import (
	"math"
	"slices"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

// part is one charge of several on its way.
type part struct {
	key
	shard *shard
	// taken says that the charge is taken if the request is admitted, fresh
	// that its key had no entry.
	taken, fresh bool
	// strikes says that it is a penalty's and will be taken in any case.
	strikes bool
}

// inlineParts is how many charges need no allocation.
const inlineParts = 8

// takeAll decides several charges as one: with all their shards locked and
// their entries closed, everything is decided before anything is written.
func (t *table) takeAll(charges []ratelimit.Charge, results []ratelimit.Result) error {
	now := t.clock.now()
	if t.clock.steady && t.takeAllKnown(charges, now, results) {
		return nil
	}
	var (
		partRoom  [inlineParts]part
		orderRoom [inlineParts]uint32
	)
	parts, order := partRoom[:0], orderRoom[:0]
	for i := range charges {
		tag := t.tag(&charges[i])
		sh, fraction := t.place(tag)
		// Without a slot: whose it would be by the time it is needed nobody
		// can say, since the parts before may let others in, and even take
		// the place of a key that has an entry now.
		parts = append(parts, part{key: key{tag: tag, fraction: fraction, slot: noSlot}, shard: sh})
		order = append(order, t.shardNumber(tag))
	}
	// Always in ascending order, so that no two calls wait for each other.
	slices.Sort(order)
	order = slices.Compact(order)
	for _, n := range order {
		t.shards[n].mu.Lock()
	}
	for i := range parts {
		if e := parts[i].shard.entry(&parts[i].key); e != nil {
			e.close()
		}
	}
	for i := range parts {
		now = parts[i].shard.at(t, now, parts[i].shard.entry(&parts[i].key))
	}
	for i := range parts {
		parts[i].shard.at(t, now, nil) // the latest of all of them
	}
	denied, err := t.decide(charges, parts, now, results)
	switch {
	case err != nil:
	case denied:
		t.refuse(charges, parts, now, results)
		t.strike(charges, parts, now, results)
	default:
		t.commit(charges, parts, now, results)
		t.strike(charges, parts, now, results)
	}
	for i := range parts {
		if e := parts[i].shard.entry(&parts[i].key); e != nil {
			e.open()
		}
	}
	for _, n := range order {
		t.shards[n].mu.Unlock()
	}
	return err
}

// decide fills in what each charge would be answered, one after the other, and
// reports whether an enforcing one denies. It writes nothing that anybody could
// see.
func (t *table) decide(charges []ratelimit.Charge, parts []part, now int64, results []ratelimit.Result) (denied bool, err error) {
	for i := range charges {
		c, p, r := &charges[i], &parts[i], &results[i]
		e := p.shard.find(p.tag, p.fraction)
		if e == nil || p.shard.limits.of(e.limit()).limit != c.Limit {
			if err := checkLimit(&c.Limit); err != nil {
				return false, err
			}
		}
		if c.Mode == ratelimit.ModePenalty {
			t.guard(charges, parts, i, e, now, results)
			denied = denied || !r.Allowed
			continue
		}
		if p.fresh = e == nil; p.fresh {
			e = p.shard.newcomer(t, &p.key, c, now)
			p.slot = noSlot
		} else {
			p.shard.turn(e, now, c)
		}
		if c.Mode == ratelimit.ModeOnDenial {
			continue
		}
		if p.where == nowhere {
			crowded(actions[c.Mode], now, &c.Limit, r)
		} else {
			var s algorithm.State
			if e != nil {
				p.shard.trim(e, now)
				s = p.shard.state(e, now)
			}
			// Together with what earlier charges will have taken of the key,
			// so that the wait is that of the whole request.
			p.shard.apply(algorithm.ActionLook, &s, now, &c.Limit, costBefore(charges, parts, i)+c.Cost, r)
		}
		switch c.Mode {
		case ratelimit.ModeEnforce:
			p.taken = r.Allowed
			denied = denied || !r.Allowed
		case ratelimit.ModeShadow:
			p.taken = r.Allowed
		case ratelimit.ModeForce:
			p.taken = true
		}
	}
	return denied, nil
}

// costBefore is what the charges before i will have taken of i's key, at most
// so much that i's cost can be added.
func costBefore(charges []ratelimit.Charge, parts []part, i int) int64 {
	most, sum := math.MaxInt64-charges[i].Cost, int64(0)
	for j := range parts[:i] {
		if parts[j].taken && parts[j].tag == parts[i].tag {
			sum += min(charges[j].Cost, most-sum)
		}
	}
	return sum
}

// refuse answers a denied request. What would have been taken answers as a
// look; then the penalties are taken.
func (t *table) refuse(charges []ratelimit.Charge, parts []part, now int64, results []ratelimit.Result) {
	for i := range charges {
		if p := &parts[i]; p.taken {
			p.shard.look(p.shard.entry(&p.key), &p.key, now, &charges[i].Limit, &results[i])
		}
	}
	for i := range charges {
		if c, p := &charges[i], &parts[i]; c.Mode == ratelimit.ModeOnDenial {
			p.shard.take(t, p.shard.entry(&p.key), &p.key, algorithm.ActionForce, now, c, &results[i])
		}
	}
}

// commit takes what is to be taken of an admitted request, in order. Whatever
// was decided to fit is taken: that charges of one key have different quotas
// can't make a difference any more. What is not taken has its answer already,
// unless a charge before it has changed its key.
func (t *table) commit(charges []ratelimit.Charge, parts []part, now int64, results []ratelimit.Result) {
	for i := range charges {
		c, p, r := &charges[i], &parts[i], &results[i]
		e := p.shard.entry(&p.key)
		switch {
		case p.taken:
			p.shard.take(t, e, &p.key, algorithm.ActionForce, now, c, r)
		case c.Mode == ratelimit.ModeOnDenial:
			p.shard.look(e, &p.key, now, &c.Limit, r)
		case e != nil && costBefore(charges, parts, i) > 0:
			s, fits := p.shard.state(e, now), r.Allowed
			p.shard.apply(algorithm.ActionLook, &s, now, &c.Limit, c.Cost, r)
			r.Allowed = fits // as was decided
		}
	}
	for i := range parts {
		worth := sweepCall
		if parts[i].fresh {
			worth = sweepNewKey
		}
		parts[i].shard.sweep(t, now, worth)
	}
}
