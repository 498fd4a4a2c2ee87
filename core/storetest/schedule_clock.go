package storetest

import (
	"slices"

	"github.com/go-floodgate/floodgate/core/algorithm"
)

// moveClock lets time pass, often up to where something changes.
func (d *schedule) moveClock() {
	if d.clock == nil {
		return
	}
	window := pick(d.rnd, d.keys...).Window.Microseconds()
	now := d.clock.UnixMicro()
	at := now
	switch n := d.rnd.IntN(100); {
	case n < 40:
	case n < 65:
		at += d.rnd.Int64N(window / 5)
	case n < 80:
		at += d.wait.Microseconds() + d.rnd.Int64N(3) - 1
	case n < 88:
		at += window - at%window + d.rnd.Int64N(3) - 1 // the window's edge
	case n < 94:
		at += d.rnd.Int64N(3 * window)
	case !d.h.MonotonicClock:
		at -= d.rnd.Int64N(2 * window)
	}
	at = max(at, 0)
	if at < now && d.h.MonotonicClock || !d.settled(at) {
		return
	}
	d.latest = max(d.latest, at)
	d.clock.set(at)
	d.note("clock %+dµs", at-now)
}

// settled reports whether at the instant at each key is as good as new for
// certain or in use for certain. A store may forget a key that was as good as
// new, under the quota of its last charge, and that shows if the clock goes back
// or the quota falls.
func (d *schedule) settled(at int64) bool {
	latest := max(at, d.latest)
	for _, key := range d.keys {
		slowest, fastest := key.limitWith(slices.Min(key.quotas), 0), key.limitWith(slices.Max(key.quotas), 0)
		for _, v := range d.models {
			state := v.model[key.Key]
			if algorithm.Fresh(state, latest, fastest) && (state.Time > at || !algorithm.Fresh(state, at, slowest)) {
				return false
			}
		}
	}
	return true
}
