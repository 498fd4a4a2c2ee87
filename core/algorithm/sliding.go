package algorithm

import (
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// slidingView is the sliding window at one instant: previous counts for the
// part of its window that is still in view, 1 - elapsed/window.
type slidingView struct {
	at, start         int64
	previous, current int64
}

func viewSliding(s *State, now, window int64) slidingView {
	at := inRange(now)
	if at < s.Time {
		return slidingView{at: s.Time, start: s.Time, previous: s.Rest, current: s.Level}
	}
	if at-s.Time < window {
		return slidingView{at: at, start: s.Time, previous: s.Rest, current: s.Level}
	}
	start := at - at%window
	v := slidingView{at: at, start: start}
	if start-s.Time <= window {
		v.previous = s.Level
	}
	return v
}

// left is how much of the current window is still to come, 1 to window; of
// the previous one as much is in view.
func (v *slidingView) left(window int64) int64 { return v.start + window - v.at }

// used is previous*left/window + current, rounded up.
func (v *slidingView) used(window int64) int64 {
	if v.previous == 0 {
		return v.current
	}
	return v.current + product(v.previous, v.left(window)).divUp(window)
}

// fits reports whether previous*left/window + current + cost <= quota, without
// the division.
func (v *slidingView) fits(cost, quota, window int64) bool {
	if cost > quota-v.current {
		return false
	}
	return v.previous == 0 ||
		product(v.previous, v.left(window)).atMost(product(quota-v.current-cost, window))
}

// retry is how long until a cost fits that does not fit yet.
func (v *slidingView) retry(cost, quota, window int64) time.Duration {
	switch spare := quota - v.current - cost; {
	case cost > quota:
		return ratelimit.Never
	case spare >= 0:
		// Once no more than this much of the previous window is in view.
		inView := product(spare, window).div(v.previous)
		return micros(uint64(v.left(window) - inView))
	default:
		// Not before the next window, in which current is the previous one,
		// or the one after that, when both have left.
		inView := product(quota-cost, window).div(v.current)
		return micros(uint64(v.left(window) + window - inView))
	}
}

func decideSliding(s *State, now int64, l *ratelimit.Limit, cost int64, do Action, r *ratelimit.Result) {
	window := windowOf(l)
	v := viewSliding(s, now, window)

	*r = ratelimit.Result{Allowed: v.fits(cost, l.Quota, window), Limit: l.Quota, At: v.at}
	if !r.Allowed && do != ActionForce {
		r.RetryAfter = v.retry(cost, l.Quota, window)
	}
	r.Allowed = r.Allowed || do == ActionForce
	if cost > 0 && do.takes(r.Allowed) {
		v.current = plus(v.current, cost)
		s.Time, s.Level, s.Rest = v.start, v.current, v.previous
	}
	r.Remaining = max(l.Quota-v.used(window), 0)
	switch {
	case v.current > 0:
		r.ResetAfter = micros(uint64(v.left(window) + window))
	case v.previous > 0:
		r.ResetAfter = micros(uint64(v.left(window)))
	}
}

// adjustSliding changes the counter of the window of the charge, current or
// previous; a window that has left is left alone.
func adjustSliding(s *State, now int64, l *ratelimit.Limit, charged, change int64) {
	window := windowOf(l)
	v := viewSliding(s, now, window)
	charged = inRange(charged)
	switch charged - charged%window {
	case v.start:
		v.current = plus(v.current, change)
	case v.start - window:
		v.previous = plus(v.previous, change)
	default:
		return
	}
	s.Time, s.Level, s.Rest = v.start, v.current, v.previous
}
