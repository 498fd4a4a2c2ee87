package memstore

import (
	"slices"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

// adjust is [algorithm.Adjust] for a sliding log.
func (l *logs) adjust(s *algorithm.State, now int64, limit *ratelimit.Limit, charged, change int64) {
	at := max(min(max(now, 0), algorithm.MaxTime), s.Time)
	charged = min(max(charged, 0), at)
	if at-charged >= int64(limit.Window/time.Microsecond) {
		return
	}
	change = min(change, algorithm.MaxUnits-s.Level)
	switch {
	case change == 0 || change < 0 && s.Level == 0:
	case s.Level == 0 && charged >= s.Time:
		s.Time, s.Level = charged, change
	case s.Rest == 0 && s.Level > 0 && charged == s.Time:
		s.Level = max(s.Level+change, 0)
	case change < 0 && s.Rest == 0:
	default:
		l.change(s, charged, change)
	}
}

// change changes the units of the entry of an instant, within the chunk in
// which it belongs.
func (l *logs) change(s *algorithm.State, at, change int64) {
	if s.Rest == 0 {
		if s.Level == 0 {
			// An entry older than the key's clock needs a chunk to say so.
			clock := s.Time
			s.Time, s.Level = at, change
			l.ring(s)
			s.Time = clock
			return
		}
		l.ring(s)
	}
	last := uint32(s.Rest)
	before, n := last, l.chunk(last).next
	for n != last {
		after := l.chunk(n).next
		if instant(&l.chunk(after).data) > at {
			break
		}
		before, n = n, after
	}

	var room [chunkEntries]algorithm.Entry
	entries, change := changeEntries(l.entries(n, room[:0]), at, change)
	s.Level += change
	if s.Time < at && change > 0 {
		s.Time = at
	}
	l.rewrite(s, before, n, entries)
}

// entries appends what is in a chunk.
func (l *logs) entries(n uint32, to []algorithm.Entry) []algorithm.Entry {
	r := chunkReader{data: &l.chunk(n).data}
	for r.next() {
		to = append(to, algorithm.Entry{At: r.at, Units: r.units})
	}
	return to
}

// changeEntries returns the entries and the change that could be made.
func changeEntries(entries []algorithm.Entry, at, change int64) ([]algorithm.Entry, int64) {
	i := 0
	for i < len(entries) && entries[i].At < at {
		i++
	}
	found := i < len(entries) && entries[i].At == at
	switch {
	case !found && change < 0:
		return entries, 0
	case !found:
		return slices.Insert(entries, i, algorithm.Entry{At: at, Units: change}), change
	case entries[i].Units+change <= 0:
		change = -entries[i].Units
		return slices.Delete(entries, i, i+1), change
	default:
		entries[i].Units += change
		return entries, change
	}
}

// rewrite makes the chunk n, which follows the chunk before, hold these
// entries; one more chunk is put behind it if they do not fit, and it is taken
// out if there are none.
func (l *logs) rewrite(s *algorithm.State, before, n uint32, entries []algorithm.Entry) {
	after := l.chunk(n).next
	if len(entries) == 0 {
		if n == before {
			l.release(s)
			return
		}
		l.chunk(before).next = after
		if uint32(s.Rest) == n {
			s.Rest = int64(before)
		}
		l.chunk(n).next, l.free = l.free, n
		return
	}
	c := l.chunk(n)
	*c = chunk{next: after}
	offset, at := 0, int64(0)
	for _, e := range entries {
		if !c.write(&offset, at, e) {
			more := l.allocate()
			l.chunk(n).next, l.chunk(more).next = more, after
			if uint32(s.Rest) == n {
				s.Rest = int64(more)
			}
			n, c, offset = more, l.chunk(more), 0
			c.write(&offset, 0, e)
		}
		at = e.At
	}
}
