package memstore

import (
	"sync/atomic"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// limits numbers the distinct limits of a shard's entries, so that an entry
// needs 20 bits for its limit. A limit is forgotten with the last entry that
// has it; however many limits come and go, there are never more than entries.
type limits struct {
	// The limits by number, nil for those that are free: the first few, which
	// with a few policies are all, and the others. They are read without the
	// shard's lock.
	few  [fewLimits]atomic.Pointer[heldLimit]
	more atomic.Pointer[[]atomic.Pointer[heldLimit]]

	// recent has one of the limits at each place that a limit can have, mostly
	// the one that is asked for.
	recent [fewLimits]atomic.Pointer[heldLimit]

	numbers int // in use or free
	number  map[ratelimit.Limit]uint32
	free    []uint32
}

const fewLimits = 8

// heldLimit is never written to again but for entries.
type heldLimit struct {
	limit   ratelimit.Limit
	rate    rate
	number  uint32
	entries uint32
}

// likely returns the limit, or another one or nil.
func (l *limits) likely(limit *ratelimit.Limit) *heldLimit { return l.recent[place(limit)].Load() }

func place(limit *ratelimit.Limit) uint64 {
	const bits = 3 // of fewLimits
	return (uint64(limit.Quota) ^ uint64(limit.Window)) * 0x9e3779b97f4a7c15 >> (64 - bits)
}

// of is the limit with a number, nil if it is not held.
func (l *limits) of(number uint32) *heldLimit {
	if number < fewLimits {
		return l.few[number].Load()
	}
	return l.beyond(number)
}

func (l *limits) beyond(number uint32) *heldLimit {
	more := l.more.Load()
	if i := int(number - fewLimits); more != nil && i < len(*more) {
		return (*more)[i].Load()
	}
	return nil
}

// hold returns the number of a limit for one more entry.
func (l *limits) hold(limit *ratelimit.Limit) uint32 {
	h := l.likely(limit)
	if h == nil || h.limit != *limit {
		n, ok := l.number[*limit]
		if !ok {
			n = l.add(*limit)
		}
		h = l.of(n)
		l.recent[place(limit)].Store(h)
	}
	h.entries++
	return h.number
}

func (l *limits) add(limit ratelimit.Limit) uint32 {
	if l.number == nil {
		l.number = make(map[ratelimit.Limit]uint32)
	}
	n := uint32(l.numbers)
	if last := len(l.free) - 1; last >= 0 {
		n, l.free = l.free[last], l.free[:last]
	} else {
		l.numbers++
	}
	l.set(n, &heldLimit{limit: limit, rate: newRate(&limit), number: n})
	l.number[limit] = n
	return n
}

func (l *limits) set(n uint32, h *heldLimit) {
	if n < fewLimits {
		l.few[n].Store(h)
		return
	}
	more, i := l.more.Load(), int(n-fewLimits)
	if more == nil || i >= len(*more) {
		larger := make([]atomic.Pointer[heldLimit], max(2*i, fewLimits))
		if more != nil {
			for j := range *more {
				larger[j].Store((*more)[j].Load())
			}
		}
		more = &larger
		l.more.Store(more)
	}
	(*more)[i].Store(h)
}

// release gives a number back for one entry.
func (l *limits) release(number uint32) {
	h := l.of(number)
	h.entries--
	if h.entries == 0 {
		l.set(number, nil)
		l.recent[place(&h.limit)].CompareAndSwap(h, nil)
		l.free = append(l.free, number)
		delete(l.number, h.limit)
	}
}
