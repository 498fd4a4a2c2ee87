package memstore

import (
	"sync/atomic"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

// denials holds copies of entries that have just denied a request. A denial
// writes nothing, so as long as the entry stays as it is the next request on it
// can be answered from the copy without the shard's lock: a client that floods
// costs the others on its shard nothing, and answering it scales with cores.
//
// Copies are published and withdrawn under the shard's lock only. The denied
// bit of an entry says that there may be a copy, which whoever changes the
// entry withdraws before the change can be seen.
type denials [8]denial

// denial is a copy under a sequence lock: version is odd while it is written,
// and a reader that finds it changed has read nothing.
type denial struct {
	version           atomic.Uint64
	tag               atomic.Uint64
	time, level, rest atomic.Int64
	limit             atomic.Pointer[ratelimit.Limit]
	_                 [16]byte // one cache line each
}

func (d *denials) of(tag uint64) *denial { return &d[tag%uint64(len(d))] }

// holds reports whether there is a copy of the entry of a tag.
func (d *denials) holds(tag uint64) bool { return d.of(tag).tag.Load() == tag }

// answer answers a charge from a copy; false if there is none, or if by now
// the charge is no longer denied.
func (d *denials) answer(tag uint64, c *ratelimit.Charge, now int64, r *ratelimit.Result) bool {
	slot := d.of(tag)
	version := slot.version.Load()
	limit := slot.limit.Load()
	s := algorithm.State{Time: slot.time.Load(), Level: slot.level.Load(), Rest: slot.rest.Load()}
	if slot.tag.Load() != tag || version%2 != 0 || slot.version.Load() != version || *limit != c.Limit {
		return false
	}
	algorithm.Apply(algorithm.ActionLook, &s, now, limit, c.Cost, r)
	return !r.Allowed
}

// publish makes a copy of an entry that has just denied a charge of the limit
// it was last written with, unless there is one. A sliding log's answer takes
// more than a copy holds.
func (sh *shard) publish(e *entry) {
	limit := sh.limits.of(e.limit())
	slot := sh.denials.of(e.tag)
	if limit.Algorithm == ratelimit.AlgorithmSlidingLog || e.rest&deniedBit != 0 && slot.tag.Load() == e.tag {
		return
	}
	s := e.state()
	slot.version.Add(1)
	slot.tag.Store(e.tag)
	slot.time.Store(s.Time)
	slot.level.Store(s.Level)
	slot.rest.Store(s.Rest)
	slot.limit.Store(limit)
	slot.version.Add(1)
	e.rest |= deniedBit
}

// withdraw is to be called before e is changed or removed.
func (d *denials) withdraw(e *entry) {
	if e.rest&deniedBit != 0 {
		d.remove(e)
	}
}

func (d *denials) remove(e *entry) {
	e.rest &^= deniedBit
	slot := d.of(e.tag)
	if slot.tag.Load() != e.tag {
		return // another entry's copy has taken its place
	}
	slot.version.Add(1)
	slot.tag.Store(0)
	slot.limit.Store(nil) // limits come and go
	slot.version.Add(1)
}
