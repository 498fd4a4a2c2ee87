package algorithm

import (
	"cmp"
	"slices"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// viewLog is the log at now: the instant that counts, the entries in view
// (younger than one window) and their units.
func viewLog(s *State, now, window int64) (at int64, entries []Entry, used int64) {
	at = max(inRange(now), s.Time)
	entries, used = s.Log, s.Level
	for len(entries) > 0 && at-entries[0].At >= window {
		used -= entries[0].Units
		entries = entries[1:]
	}
	return at, entries, used
}

func decideLog(s *State, now int64, l *ratelimit.Limit, cost int64, do Action, r *ratelimit.Result) {
	at, entries, used := viewLog(s, now, windowOf(l))
	newest, released := int64(0), int64(0)
	if n := len(entries); n > 0 {
		newest = entries[n-1].At
	}
	if excess := LogExcess(used, cost, l); excess > 0 {
		released = releasedAt(entries, excess)
	}
	LogResult(do, at, used, newest, released, l, cost, r)
	if cost > 0 && do.takes(r.Allowed) {
		entries, used = logUnits(entries, used, at, cost)
		s.Time, s.Level, s.Log = at, used, entries
	}
}

// LogExcess is how many of the oldest units in view have to leave before cost
// fits; 0 if it fits now or never will.
func LogExcess(used, cost int64, l *ratelimit.Limit) int64 {
	if cost > l.Quota {
		return 0
	}
	return max(used+cost-l.Quota, 0)
}

// LogResult is the answer for a sliding log, for stores that keep its entries
// in a form of their own. At at, used units are in view, the newest of them of
// the instant newest; with those of the instant released, [LogExcess] units
// will have left.
func LogResult(do Action, at, used, newest, released int64, l *ratelimit.Limit, cost int64, r *ratelimit.Result) {
	window := windowOf(l)
	*r = ratelimit.Result{Allowed: fits(used, cost, l.Quota), Limit: l.Quota, At: at}
	if !r.Allowed && do != ActionForce {
		r.RetryAfter = micros(uint64(released + window - at))
		if cost > l.Quota {
			r.RetryAfter = ratelimit.Never
		}
	}
	r.Allowed = r.Allowed || do == ActionForce
	if cost > 0 && do.takes(r.Allowed) {
		used, newest = plus(used, cost), at
	}
	r.Remaining = max(l.Quota-used, 0)
	if used > 0 {
		r.ResetAfter = micros(uint64(newest + window - at))
	}
}

// releasedAt is the instant of the entry with which the oldest units have
// left.
func releasedAt(entries []Entry, units int64) int64 {
	for _, e := range entries {
		units -= e.Units
		if units <= 0 {
			return e.At
		}
	}
	return 0
}

// logUnits changes the units of the entry of at, which it makes if there is
// none and drops if nothing is left of it. It returns a copy, since states
// are values.
func logUnits(entries []Entry, used, at, change int64) ([]Entry, int64) {
	i, found := slices.BinarySearchFunc(entries, at, func(e Entry, at int64) int { return cmp.Compare(e.At, at) })
	before := int64(0)
	if found {
		before = entries[i].Units
	}
	// The total saturates, not each entry.
	after := max(plus(used, max(change, -before))-used+before, 0)
	if after == before {
		return entries, used
	}
	next := make([]Entry, 0, len(entries)+1)
	next = append(next, entries[:i]...)
	if after > 0 {
		next = append(next, Entry{At: at, Units: after})
	}
	if found {
		i++
	}
	return append(next, entries[i:]...), used + after - before
}

// adjustLog changes the entry of the charge while it is in view.
func adjustLog(s *State, now int64, l *ratelimit.Limit, charged, change int64) {
	at := max(inRange(now), s.Time)
	charged = min(inRange(charged), at)
	if at-charged >= windowOf(l) {
		return
	}
	entries, used := logUnits(s.Log, s.Level, charged, change)
	if used > s.Level {
		s.Time = max(s.Time, charged) // no entry is younger than the key's clock
	}
	s.Log, s.Level = entries, used
}
