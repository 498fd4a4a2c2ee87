package algorithm

import ratelimit "github.com/go-floodgate/floodgate/core"

// penaltyView is the instant that counts, the strikes that are remembered at
// it, when the block ends, and when all is forgotten. A State's Time is the
// last strike and its Level the number of strikes.
func penaltyView(s *State, now int64, l *ratelimit.Limit) (at, strikes, until, forgotten int64) {
	at = max(inRange(now), s.Time)
	if s.Level == 0 {
		return at, 0, at, at
	}
	until = s.Time + l.Block.After(s.Level-l.Quota).Microseconds()
	forgotten = until + windowOf(l)
	if at >= forgotten {
		return at, 0, at, at
	}
	return at, s.Level, until, forgotten
}

func decidePenalty(s *State, now int64, l *ratelimit.Limit, cost int64, do Action, r *ratelimit.Result) {
	at, strikes, until, forgotten := penaltyView(s, now, l)
	*r = ratelimit.Result{Allowed: at >= until || do == ActionForce, Limit: l.Capacity(), At: at}
	if !r.Allowed {
		r.RetryAfter = micros(uint64(until - at))
	}
	if cost > 0 && do.takes(r.Allowed) {
		s.Time, s.Level = at, plus(strikes, cost)
		_, strikes, _, forgotten = penaltyView(s, now, l)
	}
	r.Remaining = max(r.Limit-strikes, 0)
	if strikes > 0 {
		r.ResetAfter = micros(uint64(forgotten - at))
	}
}

// usedPenalty is what [Used] says of a penalty: all of it while it blocks.
func usedPenalty(s *State, now int64, l *ratelimit.Limit) int64 {
	at, strikes, until, _ := penaltyView(s, now, l)
	if at < until {
		return max(strikes, l.Capacity())
	}
	return strikes
}
