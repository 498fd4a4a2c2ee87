package algorithm

import (
	"math"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// State is what is stored of one key. The zero State is a fresh key. States
// are values: no function of this package changes one it was given.
//
//	algorithm        Time                       Level                     Rest
//	fixed window     start of the last window   units in it               0
//	sliding window   start of the last window   units in it               units in the one before
//	sliding log      last committed instant     units in Log              0
//	buckets          last committed instant     whole units of debt then  the rest of a unit, as rest/window
//	penalty          last strike                strikes                   0
//
// Nothing in it depends on the quota or the burst: a bucket's debt is
// Level + Rest/window units, with the window in microseconds, and each
// microsecond drains quota/window of a unit.
type State struct {
	Time, Level, Rest int64
	// Log holds a sliding log's entries, oldest first, one per instant.
	Log []Entry
}

// Entry is what a sliding log admitted at one instant.
type Entry struct {
	At, Units int64
}

const (
	// MaxTime is the latest instant a state can hold (the year 4253); later
	// ones are read as it.
	MaxTime = 1<<56 - 1
	// MaxUnits is where Level and Rest saturate. It is above four times the
	// largest quota, so that a saturated key is in debt under every limit.
	MaxUnits = 1<<52 - 1
)

// Action is what becomes of a cost.
type Action uint8

// It is never taken by a look, taken by a step if it fits, and by force in any
// case.
const (
	ActionLook Action = iota
	ActionStep
	ActionForce
)

// takes reports whether a cost is taken, given whether it fits.
func (do Action) takes(fits bool) bool { return do == ActionForce || do == ActionStep && fits }

// Step takes cost if it fits.
func Step(s State, now int64, l ratelimit.Limit, cost int64) (State, ratelimit.Result) {
	var r ratelimit.Result
	Apply(ActionStep, &s, now, &l, cost, &r)
	return s, r
}

// Force takes cost even past the limit: the key may then be in debt. The
// result is allowed, with no RetryAfter and a Remaining of at least 0. The
// Delay of a leaky bucket is never above [ratelimit.Limit.LongestWait].
func Force(s State, now int64, l ratelimit.Limit, cost int64) (State, ratelimit.Result) {
	var r ratelimit.Result
	Apply(ActionForce, &s, now, &l, cost, &r)
	return s, r
}

// Look answers for cost and takes nothing: Allowed, RetryAfter and Delay are
// those of the cost, Remaining and ResetAfter those of the key as it is.
func Look(s State, now int64, l ratelimit.Limit, cost int64) ratelimit.Result {
	var r ratelimit.Result
	Apply(ActionLook, &s, now, &l, cost, &r)
	return r
}

// Apply is [Step], [Force] and [Look] in place, for stores that count the
// nanoseconds: *s becomes the next state (and is not written to if nothing is
// taken), *r the answer. It reports whether the cost was taken. A cost below 0
// is read as 0.
func Apply(do Action, s *State, now int64, l *ratelimit.Limit, cost int64, r *ratelimit.Result) (taken bool) {
	cost = max(cost, 0)
	switch l.Algorithm {
	case ratelimit.AlgorithmFixedWindow:
		decideFixed(s, now, l, cost, do, r)
	case ratelimit.AlgorithmSlidingWindow:
		decideSliding(s, now, l, cost, do, r)
	case ratelimit.AlgorithmSlidingLog:
		decideLog(s, now, l, cost, do, r)
	case ratelimit.AlgorithmPenalty:
		decidePenalty(s, now, l, cost, do, r)
	default:
		decideBucket(s, now, l, cost, do, r)
	}
	return cost > 0 && r.Allowed && do != ActionLook
}

// Adjust makes of what was charged as cost at the instant at (the result's At)
// a charge of newCost. Down by n: the counter of at's window while it is in
// view, the log's entry of at while it is in view, or a bucket's debt by
// max(0, n - what has drained since at); never below zero. Up: in the same
// place, for buckets in full, even past the limit. A penalty's strikes stay.
func Adjust(s State, now int64, l ratelimit.Limit, at, cost, newCost int64) State {
	cost, newCost = max(cost, 0), max(newCost, 0)
	if cost == newCost {
		return s
	}
	switch l.Algorithm {
	case ratelimit.AlgorithmFixedWindow:
		adjustFixed(&s, now, &l, at, newCost-cost)
	case ratelimit.AlgorithmSlidingWindow:
		adjustSliding(&s, now, &l, at, newCost-cost)
	case ratelimit.AlgorithmSlidingLog:
		adjustLog(&s, now, &l, at, newCost-cost)
	case ratelimit.AlgorithmPenalty: // a strike is not given back
	default:
		adjustBucket(&s, now, &l, at, newCost-cost)
	}
	return s
}

// AsOf is the state of a bucket as of now: what has drained until then at l's
// quota has left it. Under another quota a store may go on from there. Other
// algorithms' states are returned as they are.
func AsOf(s State, now int64, l *ratelimit.Limit) State {
	if l.Algorithm.Bucket() {
		at, d := viewBucket(&s, now, l.Quota, windowOf(l))
		return State{Time: at, Level: d.units, Rest: d.rest}
	}
	return s
}

// Fresh reports whether the key is as good as new: nothing of it is used.
func Fresh(s State, now int64, l ratelimit.Limit) bool { return Used(&s, now, &l) == 0 }

// Used is how many units of the key's capacity are in use, rounded up: 0 if
// the key is as good as new, the capacity or more if a cost of 1 does not fit.
func Used(s *State, now int64, l *ratelimit.Limit) int64 {
	window := windowOf(l)
	switch l.Algorithm {
	case ratelimit.AlgorithmFixedWindow:
		_, _, used := fixedView(s, now, window)
		return used
	case ratelimit.AlgorithmSlidingWindow:
		v := viewSliding(s, now, window)
		return v.used(window)
	case ratelimit.AlgorithmSlidingLog:
		_, _, used := viewLog(s, now, window)
		return used
	case ratelimit.AlgorithmPenalty:
		return usedPenalty(s, now, l)
	default:
		_, d := viewBucket(s, now, l.Quota, window)
		return d.up()
	}
}

// windowOf is l's window in microseconds.
func windowOf(l *ratelimit.Limit) int64 { return int64(l.Window / time.Microsecond) }

// inRange is now, pulled into what a state can hold.
func inRange(now int64) int64 { return min(max(now, 0), MaxTime) }

// fits reports whether used + cost <= capacity; no sum that could overflow.
func fits(used, cost, capacity int64) bool { return cost <= capacity-used }

// plus adds a change to a count and keeps it within 0 and MaxUnits.
func plus(units, change int64) int64 {
	if change > MaxUnits-units {
		return MaxUnits
	}
	return max(units+change, 0)
}

// micros is us microseconds as a Duration, [ratelimit.Never] if it is too
// long for one (292 years).
func micros(us uint64) time.Duration {
	if us > math.MaxInt64/uint64(time.Microsecond) {
		return ratelimit.Never
	}
	return time.Duration(us) * time.Microsecond
}
