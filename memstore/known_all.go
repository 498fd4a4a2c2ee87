package memstore

import (
	"sync/atomic"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

// glance is one charge of several as its entry was seen, see takeKnown.
type glance struct {
	sh      *shard
	e       *entry
	h       *heldLimit
	tag     uint64
	takes   bool // if the request is admitted
	word    uint64
	next    uint64 // what it becomes then
	from    int64
	earlier uint64 // what a sliding window has in the one before
}

// takeAllKnown is the fast path for several charges, of different keys. They
// are all decided on what is seen of their entries, each once, and a denial
// writes nothing. To take from several, all entries but the last are made busy,
// so that nobody can see one changed and not yet the others, then the last is
// changed, which decides it, and then the others. Who meets a busy one or a
// changed one undoes what he has done: nobody waits who has made one busy. It
// reports false, having done nothing, if that is not enough.
func (t *table) takeAllKnown(charges []ratelimit.Charge, now int64, results []ratelimit.Result) bool {
	if len(charges) > inlineParts {
		return false
	}
	var room [inlineParts]glance
	glances := room[:len(charges)]
	denied, takers := false, 0
	for i := range glances {
		c, g, r := &charges[i], &glances[i], &results[i]
		if c.Mode >= ratelimit.ModeOnDenial || !t.glanceAt(g, c) || !g.decide(c, now, r) {
			return false
		}
		for j := range i {
			if glances[j].tag == g.tag {
				return false
			}
		}
		if !r.Allowed && c.Mode == ratelimit.ModeEnforce {
			if r.RetryAfter.Microseconds() <= soon {
				return false
			}
			denied = true
		}
		if g.takes {
			takers++
		}
	}
	switch {
	case denied:
		return refuse(charges, glances, now, results)
	case !stillThere(glances):
		return false
	case takers == 0:
		return true
	case !commit(glances, takers):
		return false
	}
	for i := range glances {
		if g := &glances[i]; g.takes {
			g.sh.sweepNow(t, g.next+g.tag)
		}
	}
	return true
}

// glanceAt finds the entry of a charge.
func (t *table) glanceAt(g *glance, c *ratelimit.Charge) bool {
	g.tag = t.tag(c)
	sh, fraction := t.place(g.tag)
	g.sh = sh
	if g.e = sh.find(g.tag, fraction); g.e == nil {
		return false
	}
	g.word = atomic.LoadUint64(&g.e.word)
	base, rest := atomic.LoadUint64(&g.e.base), atomic.LoadUint64(&g.e.rest)
	if g.word&openBit == 0 || atomic.LoadUint64(&g.e.tag) != g.tag {
		return false
	}
	g.h, g.from, g.earlier = sh.limits.of(limitNumber(base, rest)), int64(base>>timeShift), rest>>restShift
	return g.h != nil && g.h.limit.Quota == c.Limit.Quota && g.h.limit.Burst == c.Limit.Burst &&
		c.Limit.Block == (ratelimit.Block{})
}

// decide answers a charge as if the request were admitted.
func (g *glance) decide(c *ratelimit.Charge, now int64, r *ratelimit.Result) bool {
	h, q, packed := g.h, &g.h.rate, g.word>>packShift
	now = max(now, g.from)
	if q.kind == kindWindow {
		if now-g.from >= q.window {
			return false
		}
		s := algorithm.State{Time: g.from, Level: int64(packed), Rest: int64(g.earlier)}
		g.takes = algorithm.Apply(actions[c.Mode&7], &s, now, &h.limit, c.Cost, r)
		g.next = g.word ^ (packed^uint64(s.Level))<<packShift
		return s.Level < packLimit
	}
	if now-g.from >= q.horizon || c.Cost > q.capacity {
		return false
	}
	drained, debt, need := uint64(now-g.from)*q.speed, uint64(0), uint64(c.Cost)*q.step
	if packed > drained {
		debt = packed - drained
	}
	fits, after, next := debt+need <= q.full, debt, packed
	if g.takes = need > 0 && (fits && c.Mode <= ratelimit.ModeShadow || c.Mode == ratelimit.ModeForce); g.takes {
		after = debt + need
		next = drained + after
	}
	g.next = g.word ^ (packed^next)<<packShift
	h.tellBucket(c, debt, after, fits, now, r)
	return next < packLimit
}

// stillThere reports whether all entries are as they were seen, so that what
// was seen of them was there at one instant.
func stillThere(glances []glance) bool {
	for i := range glances {
		if g := &glances[i]; atomic.LoadUint64(&g.e.word) != g.word {
			return false
		}
	}
	return true
}

// refuse answers a denied request: what would have been taken as a look does.
func refuse(charges []ratelimit.Charge, glances []glance, now int64, results []ratelimit.Result) bool {
	if !stillThere(glances) {
		return false
	}
	for i := range glances {
		if c, r := &charges[i], &results[i]; c.Mode != ratelimit.ModePeek && r.Allowed {
			look := ratelimit.Charge{Limit: c.Limit, Mode: ratelimit.ModePeek}
			glances[i].decide(&look, now, r)
			r.Allowed, r.RetryAfter = true, 0
		}
	}
	return true
}

// commit takes what is to be taken, or nothing if an entry has changed.
func commit(glances []glance, takers int) bool {
	done, from := false, 0
	for i := range glances {
		g := &glances[i]
		if !g.takes {
			continue
		}
		if takers--; takers == 0 {
			done, from = atomic.CompareAndSwapUint64(&g.e.word, g.word, g.next), i
			break
		}
		if !atomic.CompareAndSwapUint64(&g.e.word, g.word, g.word^(openBit|busyBit)) {
			from = i
			break
		}
	}
	for i := range glances[:from] {
		g := &glances[i]
		switch {
		case !g.takes:
		case done:
			atomic.StoreUint64(&g.e.word, g.next)
		default:
			atomic.StoreUint64(&g.e.word, g.word)
		}
	}
	return done
}
