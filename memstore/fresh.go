package memstore

import (
	"sync/atomic"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

// The fast path of new keys: a charge of a key that has no entry, when there is
// a free slot for one in its segment, the store is below its cap, and other
// entries have the same limit, which is packed. That is nearly all of them while
// a store grows; BenchmarkStore/churn shows it. What is to be answered is that
// of package algorithm.

// takeFresh reports false, having done nothing that anybody could see, if a
// charge takes more than is done here. The shard is locked.
func (sh *shard) takeFresh(t *table, c *ratelimit.Charge, g segment, tag uint64, now int64, r *ratelimit.Result) bool {
	if g.none() || !sh.steady || c.Mode >= ratelimit.ModeOnDenial {
		return false
	}
	slot := g.vacancy(tag)
	if slot == noSlot {
		return false
	}
	atomic.LoadUint64(&g.at(slot).base) // so that it is on its way from memory meanwhile
	h := sh.limits.likely(&c.Limit)
	if h == nil || h.limit != c.Limit || h.rate.kind == kindWhole || t.keys.Load() >= t.most {
		return false
	}
	var s algorithm.State
	if algorithm.Apply(actions[c.Mode&7], &s, now, &c.Limit, c.Cost, r) {
		packed, rest, ok := h.rate.pack(&s)
		if !ok || !t.reserve() {
			return false
		}
		h.entries++
		base, rest := uint64(s.Time)<<timeShift|uint64(h.number&0xff), rest<<restShift|uint64(h.number>>8)
		sh.sweeper.waitsFor(h.rate.unusedAt(packed, s.Time))
		g.put(slot, tag, packed<<packShift|sh.nextStamp()<<stampShift|packedBit|openBit, base, rest)
	}
	sh.sweep(t, now, sweepNewKey)
	return true
}
