package algorithm

import ratelimit "github.com/go-floodgate/floodgate/core"

// fixedView is the window that now lies in: the instant that counts, the
// window's start and what was used in it.
func fixedView(s *State, now, window int64) (at, start, used int64) {
	at = inRange(now)
	switch {
	case at < s.Time:
		return s.Time, s.Time, s.Level
	case at-s.Time < window: // the same window, without a division
		return at, s.Time, s.Level
	default:
		return at, at - at%window, 0
	}
}

func decideFixed(s *State, now int64, l *ratelimit.Limit, cost int64, do Action, r *ratelimit.Result) {
	window := windowOf(l)
	at, start, used := fixedView(s, now, window)
	toNext := micros(uint64(start + window - at))

	*r = ratelimit.Result{Allowed: fits(used, cost, l.Quota), Limit: l.Quota, At: at}
	if !r.Allowed && do != ActionForce {
		r.RetryAfter = toNext
		if cost > l.Quota {
			r.RetryAfter = ratelimit.Never
		}
	}
	r.Allowed = r.Allowed || do == ActionForce
	if cost > 0 && do.takes(r.Allowed) {
		used = plus(used, cost)
		s.Time, s.Level = start, used
	}
	r.Remaining = max(l.Quota-used, 0)
	if used > 0 {
		r.ResetAfter = toNext
	}
}

// adjustFixed changes the count only while the window of the charge is the
// current one.
func adjustFixed(s *State, now int64, l *ratelimit.Limit, charged, change int64) {
	window := windowOf(l)
	_, start, used := fixedView(s, now, window)
	charged = inRange(charged)
	if charged-charged%window != start {
		return
	}
	s.Time, s.Level = start, plus(used, change)
}
