package memstore

import (
	"sync/atomic"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

// denials holds what the next request needs to know of sliding logs that have
// just denied one. A denial writes nothing, so as long as the log stays as it
// is and none of its entries leaves, one after the other can be answered
// without the shard's lock: a client that floods costs the others on its shard
// nothing, and answering it scales with cores. (What an entry of another
// algorithm says can be read without the lock anyway.)
//
// Copies are published and withdrawn under the shard's lock only. The denied
// bit of an entry says that there may be a copy, which whoever changes the
// entry withdraws before.
type denials [4]denial

// denial is a copy under a sequence lock: version is odd while it is written,
// and a reader that finds it changed has read nothing.
type denial struct {
	version, tag atomic.Uint64
	limit        atomic.Pointer[ratelimit.Limit]
	// The copy is for charges of this cost, from one instant to before another.
	cost, from, until atomic.Int64
	// What is used, the newest entry, and the one with which enough will have left.
	used, newest, released atomic.Int64
	_                      [56]byte // two cache lines each
}

func (d *denials) of(tag uint64) *denial { return &d[tag%uint64(len(d))] }

// answer answers a charge from a copy; false if there is none, or none that
// serves.
func (d *denials) answer(tag uint64, c *ratelimit.Charge, now int64, r *ratelimit.Result) bool {
	slot := d.of(tag)
	if slot.tag.Load() != tag {
		return false
	}
	version := slot.version.Load()
	limit, used, newest, released := slot.limit.Load(), slot.used.Load(), slot.newest.Load(), slot.released.Load()
	cost, from, until := slot.cost.Load(), slot.from.Load(), slot.until.Load()
	if slot.tag.Load() != tag || version%2 != 0 || slot.version.Load() != version || cost != c.Cost || *limit != c.Limit {
		return false
	}
	if now < from || now >= until {
		return false
	}
	algorithm.LogResult(algorithm.ActionLook, now, used, newest, released, limit, cost, r)
	return true
}

// publish makes a copy of an entry that has just denied a charge of the limit
// it was last written with.
func (sh *shard) publish(e *entry, now, cost int64) {
	limit := &sh.limits.of(e.limit()).limit
	if !sh.steady || limit.Algorithm != ratelimit.AlgorithmSlidingLog || cost > limit.Quota {
		return
	}
	s := sh.state(e, now)
	v := sh.logs.view(&s, now, limit)
	if v.used == 0 || v.at != now {
		return
	}
	slot := sh.denials.of(e.tag)
	slot.version.Add(1)
	slot.tag.Store(e.tag)
	slot.limit.Store(limit)
	slot.cost.Store(cost)
	slot.from.Store(now)
	slot.until.Store(sh.logs.released(&s, &v, 1) + limit.Window.Microseconds())
	slot.used.Store(v.used)
	slot.newest.Store(v.newest)
	slot.released.Store(sh.logs.released(&s, &v, algorithm.LogExcess(v.used, cost, limit)))
	slot.version.Add(1)
	atomic.StoreUint64(&e.word, e.word|deniedBit)
}

// withdraw is to be called before a closed entry is changed or removed.
func (d *denials) withdraw(e *entry) {
	if word := atomic.LoadUint64(&e.word); word&(packedBit|deniedBit) == deniedBit {
		d.remove(e, word)
	}
}

func (d *denials) remove(e *entry, word uint64) {
	atomic.StoreUint64(&e.word, word&^deniedBit)
	slot := d.of(e.tag)
	if slot.tag.Load() != e.tag {
		return // another entry's copy has taken its place
	}
	slot.version.Add(1)
	slot.tag.Store(0)
	slot.limit.Store(nil) // limits come and go
	slot.version.Add(1)
}
