package memstore

import (
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

// logView is a log at one instant.
type logView struct {
	at int64
	// used units are in view, the newest of them of the instant newest.
	used, newest int64
	// chunk is the one with the first entry in view, skip how many entries of
	// it are not. 0: the log has no chunks.
	chunk uint32
	skip  int
}

func (l *logs) view(s *algorithm.State, now int64, limit *ratelimit.Limit) logView {
	window := int64(limit.Window / time.Microsecond)
	v := logView{at: max(min(max(now, 0), algorithm.MaxTime), s.Time)}
	if s.Level == 0 || v.at-s.Time >= window {
		return v // nothing, or all has left
	}
	v.used, v.newest = s.Level, s.Time
	if s.Rest == 0 {
		return v
	}
	last := uint32(s.Rest)
	v.newest = l.newest(last)
	for v.chunk = l.chunk(last).next; ; v.chunk = l.chunk(v.chunk).next {
		r := chunkReader{data: &l.chunk(v.chunk).data}
		for v.skip = 0; r.next(); v.skip++ {
			if v.at-r.at < window {
				return v
			}
			v.used -= r.units
		}
		if v.chunk == last {
			return logView{at: v.at}
		}
	}
}

// newest is the instant of the last entry of a chunk.
func (l *logs) newest(chunk uint32) int64 {
	r := chunkReader{data: &l.chunk(chunk).data}
	for r.next() {
	}
	return r.at
}

// released is the instant of the entry with which the oldest units in view
// will have left.
func (l *logs) released(s *algorithm.State, v *logView, units int64) int64 {
	if v.chunk == 0 {
		return s.Time
	}
	skip := v.skip
	for n := v.chunk; ; n = l.chunk(n).next {
		r := chunkReader{data: &l.chunk(n).data}
		for r.next() {
			if skip > 0 {
				skip--
				continue
			}
			if units -= r.units; units <= 0 {
				return r.at
			}
		}
		if n == uint32(s.Rest) {
			return v.newest
		}
	}
}

// apply is [algorithm.Apply] for a sliding log.
func (l *logs) apply(do algorithm.Action, s *algorithm.State, now int64, limit *ratelimit.Limit, cost int64, r *ratelimit.Result) (taken bool) {
	v := l.view(s, now, limit)
	released := int64(0)
	if excess := algorithm.LogExcess(v.used, cost, limit); excess > 0 && do != algorithm.ActionForce {
		released = l.released(s, &v, excess)
	}
	algorithm.LogResult(do, v.at, v.used, v.newest, released, limit, cost, r)
	if cost <= 0 || !r.Allowed || do == algorithm.ActionLook {
		return false
	}
	l.drop(s, &v)
	l.add(s, algorithm.Entry{At: v.at, Units: min(cost, algorithm.MaxUnits-s.Level)})
	return true
}

// trim drops what has left an entry's log for good.
func (sh *shard) trim(e *entry, now int64) {
	limit := &sh.limits.of(e.limit()).limit
	if !sh.steady || limit.Algorithm != ratelimit.AlgorithmSlidingLog {
		return
	}
	s := sh.state(e, now)
	v := sh.logs.view(&s, now, limit)
	if v.used == s.Level {
		return
	}
	sh.denials.withdraw(e)
	sh.logs.drop(&s, &v)
	sh.set(e, &s, e.limit())
}

// drop removes what is not in view.
func (l *logs) drop(s *algorithm.State, v *logView) {
	if v.used == 0 {
		l.release(s)
	}
	s.Level = v.used
	if s.Rest == 0 || v.chunk == 0 {
		return
	}
	last := l.chunk(uint32(s.Rest))
	for last.next != v.chunk {
		n := last.next
		last.next, l.chunk(n).next = l.chunk(n).next, l.free
		l.free = n
	}
	if v.skip == 0 {
		return
	}
	// The first entry left begins the chunk anew.
	c := l.chunk(v.chunk)
	r := chunkReader{data: &c.data}
	for range v.skip + 1 {
		r.next()
	}
	kept := chunk{next: c.next}
	offset := 0
	kept.write(&offset, 0, algorithm.Entry{At: r.at, Units: r.units})
	copy(kept.data[offset:], c.data[r.offset:])
	*c = kept
}

// add appends an entry that is not older than any other.
func (l *logs) add(s *algorithm.State, e algorithm.Entry) {
	switch {
	case e.Units == 0: // saturated: only the clock goes on
		if s.Rest == 0 {
			l.ring(s)
		}
		s.Time = e.At
		return
	case s.Level == 0:
		s.Time, s.Level = e.At, e.Units
		return
	case s.Rest == 0 && s.Time == e.At:
		s.Level += e.Units
		return
	case s.Rest == 0:
		l.ring(s)
	}
	s.Level += e.Units
	s.Time = e.At

	// Behind the last entry, or into it if it is of the same instant.
	c := l.chunk(uint32(s.Rest))
	r := chunkReader{data: &c.data}
	start, before := 0, int64(0)
	for {
		offset, at := r.offset, r.at
		if !r.next() {
			break
		}
		start, before = offset, at
	}
	offset := r.offset
	if r.at == e.At {
		e.Units += r.units
		offset = start
		clear(c.data[start:])
	} else {
		before = r.at
	}
	if c.write(&offset, before, e) {
		return
	}
	n := l.allocate()
	fresh := l.chunk(n)
	c = l.chunk(uint32(s.Rest))
	fresh.next, c.next = c.next, n
	offset = 0
	fresh.write(&offset, 0, e)
	s.Rest = int64(n)
}

// ring gives a log of a single entry, which must be there, a chunk.
func (l *logs) ring(s *algorithm.State) {
	n := l.allocate()
	c := l.chunk(n)
	c.next = n
	offset := 0
	c.write(&offset, 0, algorithm.Entry{At: s.Time, Units: s.Level})
	s.Rest = int64(n)
	l.rings++
}
