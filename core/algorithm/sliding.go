package algorithm

import ratelimit "github.com/go-floodgate/floodgate/core"

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

func decideSliding(s *State, now int64, l *ratelimit.Limit, cost int64, do action) ratelimit.Result {
	window := windowOf(l)
	v := viewSliding(s, now, window)
	left := v.start + window - v.at // of the current window, 1 to window

	r := ratelimit.Result{Limit: l.Quota, At: v.at}
	// previous*left/window + current + cost <= quota, without the division.
	spare := l.Quota - v.current - cost
	if cost > l.Quota {
		spare = -1
	}
	r.Allowed = spare >= 0 && product(v.previous, left).atMost(product(spare, window))
	switch {
	case r.Allowed:
	case cost > l.Quota:
		r.RetryAfter = ratelimit.Never
	case spare >= 0:
		// previous weighs little enough once no more than this of it is in view.
		inView := product(spare, window).div(v.previous)
		r.RetryAfter = micros(uint64(left - inView))
	default:
		// Not in this window: in the next one current is the previous, or in
		// the one after that, when both have left.
		inView := product(l.Quota-cost, window).div(v.current)
		r.RetryAfter = micros(uint64(left + window - inView))
	}
	if cost > 0 && do.takes(r.Allowed) {
		v.current = plus(v.current, cost)
		s.Time, s.Level, s.Rest = v.start, v.current, v.previous
	}
	weighed := product(v.previous, left).divUp(window)
	r.Remaining = max(l.Quota-v.current-weighed, 0)
	switch {
	case v.current > 0:
		r.ResetAfter = micros(uint64(left + window))
	case v.previous > 0:
		r.ResetAfter = micros(uint64(left))
	}
	return r
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
