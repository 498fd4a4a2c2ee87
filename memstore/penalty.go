package memstore

import (
	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

// A penalty's charge looks at its key with the others and is taken after them,
// if it is: nearly all clients never have a strike, and must not have an entry
// to find that out. One for whose first strike there is no room at the cap has
// none: that a flood fills the store is no reason to block anybody.

// guard answers for the penalty i, and notes whether it strikes: if its key
// isn't blocked, and the charge before it does not fit. One that was decided
// together with others for want of room says nothing of its own key.
func (t *table) guard(charges []ratelimit.Charge, parts []part, i int, e *entry, now int64, results []ratelimit.Result) {
	p, r := &parts[i], &results[i]
	p.shard.peek(e, now, &charges[i].Limit, r)
	p.strikes = r.Allowed && charges[i].Cost > 0 && i > 0 &&
		mayFit(charges[i-1].Mode) && !results[i-1].Allowed && parts[i-1].where == alone
}

// mayFit reports whether a charge of this mode can also not fit.
func mayFit(mode ratelimit.Mode) bool {
	return mode == ratelimit.ModeEnforce || mode == ratelimit.ModeShadow || mode == ratelimit.ModePeek
}

// peek answers for a cost of 0.
func (sh *shard) peek(e *entry, now int64, l *ratelimit.Limit, r *ratelimit.Result) {
	var s algorithm.State
	if e != nil {
		sh.trim(e, now)
		s = sh.state(e, now)
	}
	sh.apply(algorithm.ActionLook, &s, now, l, 0, r)
}

// strike takes the strikes of a Take, unless a penalty blocks, and answers for
// what they made.
func (t *table) strike(charges []ratelimit.Charge, parts []part, now int64, results []ratelimit.Result) {
	for i := range charges {
		if charges[i].Mode == ratelimit.ModePenalty && !results[i].Allowed {
			return
		}
	}
	for i := range charges {
		c, p := &charges[i], &parts[i]
		if !p.strikes {
			continue
		}
		e := p.shard.find(p.tag, p.fraction)
		if e == nil {
			p.own = share{max(c.Cost, 1), c.Limit.Capacity()}
			if !p.shard.room(t, &p.key, now) {
				continue
			}
		}
		p.shard.take(t, e, &p.key, algorithm.ActionForce, now, c, &results[i])
		p.shard.peek(p.shard.entry(&p.key), now, &c.Limit, &results[i])
	}
}

// usedPenalty is [shard.used] of a penalty: one that blocks is never given up,
// strikes that are only remembered are.
func usedPenalty(s *algorithm.State, now int64, l *ratelimit.Limit) share {
	if strikes := algorithm.Used(s, now, l); algorithm.Look(*s, now, *l, 0).Allowed {
		return share{strikes, max(strikes, l.Capacity()) + 1}
	}
	return share{1, 1}
}
