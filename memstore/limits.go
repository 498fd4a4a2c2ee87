package memstore

import ratelimit "github.com/go-floodgate/floodgate/core"

// limits numbers the distinct limits of a shard's entries, so that an entry
// needs 31 bits for its limit. A limit is forgotten with the last entry that
// has it; however many limits come and go, there are never more than entries.
type limits struct {
	held   []*heldLimit // nil: the number is free
	number map[ratelimit.Limit]uint32
	free   []uint32
	recent uint32 // the number held last: mostly the one that is held next
}

type heldLimit struct {
	limit   ratelimit.Limit // never written to again
	entries uint32
}

// of is the limit with a number that is held.
func (l *limits) of(number uint32) *ratelimit.Limit { return &l.held[number].limit }

// hold returns the number of a limit for one more entry.
func (l *limits) hold(limit *ratelimit.Limit) uint32 {
	if int(l.recent) < len(l.held) {
		if h := l.held[l.recent]; h != nil && h.limit == *limit {
			h.entries++
			return l.recent
		}
	}
	n, ok := l.number[*limit]
	if !ok {
		n = l.add(*limit)
	}
	l.held[n].entries++
	l.recent = n
	return n
}

func (l *limits) add(limit ratelimit.Limit) uint32 {
	if l.number == nil {
		l.number = make(map[ratelimit.Limit]uint32)
	}
	h := &heldLimit{limit: limit}
	n := uint32(len(l.held))
	if last := len(l.free) - 1; last >= 0 {
		n, l.free = l.free[last], l.free[:last]
		l.held[n] = h
	} else {
		l.held = append(l.held, h)
	}
	l.number[limit] = n
	return n
}

// release gives a number back for one entry.
func (l *limits) release(number uint32) {
	h := l.held[number]
	h.entries--
	if h.entries == 0 {
		l.held[number] = nil
		l.free = append(l.free, number)
		delete(l.number, h.limit)
	}
}
