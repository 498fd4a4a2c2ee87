package algorithm

import (
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// debt is what a bucket still has to drain: units + rest/window.
type debt struct {
	units, rest int64
}

// up is the debt rounded up to whole units.
func (d debt) up() int64 {
	if d.rest > 0 {
		return d.units + 1
	}
	return d.units
}

// wide is the debt in units of 1/window.
func (d debt) wide(window int64) wide { return product(d.units, window).plus(d.rest) }

// drained is the debt after elapsed microseconds.
func (d debt) drained(elapsed, quota, window int64) debt {
	if elapsed == 0 || quota == 0 || d.units|d.rest == 0 {
		return d
	}
	gone := product(elapsed, quota)
	if gone.hi == 0 && gone.lo < uint64(window) { // less than a unit: no division
		if d.rest -= int64(gone.lo); d.rest < 0 {
			if d.units == 0 {
				return debt{}
			}
			d.units, d.rest = d.units-1, d.rest+window
		}
		return d
	}
	all := d.wide(window)
	if all.atMost(gone) {
		return debt{}
	}
	units, rest, _ := all.minus(gone).divMod(window)
	return debt{units, rest}
}

// wait is how long the debt takes to drain, rounded up to a microsecond.
func (d debt) wait(quota, window int64) time.Duration {
	all := d.wide(window)
	switch {
	case all.hi == 0 && quota > 0: // nearly always
		us := all.lo / uint64(quota)
		if all.lo%uint64(quota) > 0 {
			us++
		}
		return micros(us)
	case quota == 0:
		if d.units|d.rest == 0 {
			return 0
		}
		return ratelimit.Never
	}
	us, rest, ok := all.divMod(quota)
	if !ok {
		return ratelimit.Never
	}
	if rest > 0 {
		us++
	}
	return micros(uint64(us))
}

// retry is how long until a cost fits that does not fit yet: until what is too
// much of the debt has drained.
func (d debt) retry(cost, capacity, quota, window int64) time.Duration {
	if cost > capacity || quota == 0 {
		return ratelimit.Never
	}
	return debt{d.units + cost - capacity, d.rest}.wait(quota, window)
}

func viewBucket(s *State, now, quota, window int64) (at int64, d debt) {
	at = max(inRange(now), s.Time)
	return at, debt{s.Level, s.Rest}.drained(at-s.Time, quota, window)
}

func decideBucket(s *State, now int64, l *ratelimit.Limit, cost int64, do Action, r *ratelimit.Result) {
	window, capacity := windowOf(l), l.Capacity()
	at, d := viewBucket(s, now, l.Quota, window)
	allowed := fits(d.up(), cost, capacity)

	// Field by field: a whole Result at once is built elsewhere and copied.
	r.Limit, r.At = capacity, at
	r.RetryAfter, r.Delay = 0, 0
	if l.Algorithm == ratelimit.AlgorithmLeakyBucket {
		switch {
		case allowed:
			r.Delay = d.wait(l.Quota, window)
		case do == ActionForce:
			r.Delay = l.LongestWait()
		}
	}
	if do == ActionForce {
		allowed = true
	} else if !allowed {
		r.RetryAfter = d.retry(cost, capacity, l.Quota, window)
	}
	r.Allowed = allowed
	if cost > 0 && do.takes(allowed) {
		d.units = plus(d.units, cost)
		s.Time, s.Level, s.Rest = at, d.units, d.rest
	}
	r.Remaining = max(capacity-d.up(), 0)
	r.ResetAfter = d.wait(l.Quota, window)
}

// adjustBucket lowers the debt by what of the change has not drained since
// the charge, or raises it in full.
func adjustBucket(s *State, now int64, l *ratelimit.Limit, charged, change int64) {
	window := windowOf(l)
	at, d := viewBucket(s, now, l.Quota, window)
	if change > 0 {
		s.Time, s.Level, s.Rest = at, plus(d.units, change), d.rest
		return
	}
	back := product(-change, window)
	gone := product(max(at-inRange(charged), 0), l.Quota)
	if back.atMost(gone) {
		return
	}
	back = back.minus(gone)
	all := d.wide(window)
	s.Time, s.Level, s.Rest = at, 0, 0
	if !all.atMost(back) {
		s.Level, s.Rest, _ = all.minus(back).divMod(window)
	}
}
