package memstore

import (
	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

// A newcomer for whom there is no room, because the store is at its cap and
// all he could take the place of are at their limits, is not let through for
// free, nor does he free one of those. All such newcomers of one policy
// (algorithm and window) in one shard share one count and are limited together
// as one client would be, until something expires. So whatever a flood of new
// keys earns beyond the clients that have entries is one client's quota for
// each shard.
//
// The counts are in a segment of their own beside the directory. Policies come
// from the configuration, not from clients, so that 64 of them are plenty; a
// newcomer of one more is denied.

// spilled returns a shared count, nil if there is none yet.
func (sh *shard) spilled(spillTag uint64) *entry {
	if sh.spill.none() {
		return nil
	}
	return sh.spill.find(spillTag)
}

// roomTogether reports whether there can be one more shared count.
func (sh *shard) roomTogether(now int64) bool {
	return sh.spill.none() || sh.spill.count() < slotsPerSegment || sh.expired(sh.spill, now) != noSlot
}

// admitTogether makes one, nil if there is no room for it.
func (sh *shard) admitTogether(spillTag uint64, now int64) *entry {
	if sh.spill.none() {
		sh.spill = newSegment()
	}
	if sh.spill.count() == slotsPerSegment {
		slot := sh.expired(sh.spill, now)
		if slot == noSlot {
			return nil
		}
		sh.clear(&sh.spill.slots[slot])
		sh.spill.remove(slot)
	}
	return sh.spill.add(spillTag)
}

// expired is a slot of a segment that holds no information, noSlot if all do.
func (sh *shard) expired(g segment, now int64) int {
	for i := range g.slots {
		if e := &g.slots[i]; e.tag != 0 {
			if sh.used(e, now).used == 0 {
				return i
			}
		}
	}
	return noSlot
}

// crowded is the answer to a newcomer for whom there is not even a shared
// count.
func crowded(do algorithm.Action, now int64, l *ratelimit.Limit, r *ratelimit.Result) {
	*r = ratelimit.Result{Limit: l.Capacity(), RetryAfter: l.Window, ResetAfter: l.Window, At: now}
	if do == algorithm.ActionForce {
		r.Allowed, r.RetryAfter = true, 0
	}
}
