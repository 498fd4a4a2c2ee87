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

func decideLog(s *State, now int64, l *ratelimit.Limit, cost int64, do action) ratelimit.Result {
	window := windowOf(l)
	at, entries, used := viewLog(s, now, window)

	r := ratelimit.Result{Allowed: fits(used, cost, l.Quota), Limit: l.Quota, At: at}
	switch {
	case r.Allowed:
	case cost > l.Quota:
		r.RetryAfter = ratelimit.Never
	default:
		r.RetryAfter = micros(uint64(releasedAt(entries, used+cost-l.Quota) + window - at))
	}
	if cost > 0 && do.takes(r.Allowed) {
		entries, used = logUnits(entries, used, at, cost)
		s.Time, s.Level, s.Log = at, used, entries
	}
	r.Remaining = max(l.Quota-used, 0)
	if n := len(entries); n > 0 {
		r.ResetAfter = micros(uint64(entries[n-1].At + window - at))
	}
	return r
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
	window := windowOf(l)
	at, entries, used := viewLog(s, now, window)
	charged = min(inRange(charged), at)
	if at-charged >= window {
		return
	}
	entries, used = logUnits(entries, used, charged, change)
	s.Time, s.Level, s.Log = at, used, entries
}
