package algorithm_test

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

var algorithms = []ratelimit.Algorithm{
	ratelimit.AlgorithmFixedWindow, ratelimit.AlgorithmSlidingWindow, ratelimit.AlgorithmSlidingLog,
	ratelimit.AlgorithmTokenBucket, ratelimit.AlgorithmLeakyBucket,
}

// forEach runs a property for each algorithm.
func forEach(t *testing.T, property func(t *rapid.T, a ratelimit.Algorithm)) {
	t.Helper()
	for _, a := range algorithms {
		t.Run(a.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { property(t, a) })
		})
	}
}

// magnitudes draws numbers of all sizes up to most.
func magnitudes(least, most int64) *rapid.Generator[int64] {
	return rapid.OneOf(
		rapid.Int64Range(least, most),
		rapid.Int64Range(least, min(most, least+10)),
		rapid.Int64Range(least, min(most, 1_000_000)),
		rapid.Just(most),
	)
}

func windows() *rapid.Generator[time.Duration] {
	return rapid.Map(magnitudes(1000, ratelimit.MaxWindow.Microseconds()), func(us int64) time.Duration {
		return time.Duration(us) * time.Microsecond
	})
}

// drawLimit draws a valid limit of this window, large or small.
func drawLimit(t *rapid.T, a ratelimit.Algorithm, window time.Duration) ratelimit.Limit {
	most := int64(ratelimit.MaxQuota)
	if a == ratelimit.AlgorithmSlidingLog {
		most = ratelimit.MaxLogQuota
	}
	l := ratelimit.Limit{Algorithm: a, Window: window, Quota: magnitudes(0, most).Draw(t, "quota")}
	if a.Bucket() {
		l.Burst = magnitudes(1, ratelimit.MaxQuota-1).Draw(t, "burst")
		for l.Validate() != nil { // over a hundred years
			l.Burst = max(l.Burst/1000, 1)
			l.Quota++
		}
	}
	if err := l.Validate(); err != nil {
		t.Fatal(err)
	}
	return l
}

// drawStep draws how far the clock goes on: nothing, a little, about a unit's
// time, about a window, for ever, or back.
func drawStep(t *rapid.T, l ratelimit.Limit) int64 {
	window := l.Window.Microseconds()
	unit := window / max(l.Quota, 1)
	return rapid.OneOf(
		rapid.Just(int64(0)),
		rapid.Int64Range(-2, 10),
		rapid.Int64Range(unit/2, 3*unit+2),
		rapid.Int64Range(window-1, window+1),
		rapid.Int64Range(-window, 3*window),
	).Draw(t, "step")
}

func drawStart(t *rapid.T) int64 {
	return rapid.Int64Range(1_600_000_000_000_000, 2_000_000_000_000_000).Draw(t, "start")
}

// TestExact compares every answer with rational arithmetic, with numbers of
// all sizes, a clock that jumps both ways, quotas that change, and force.
func TestExact(t *testing.T) {
	forEach(t, func(t *rapid.T, a ratelimit.Algorithm) {
		var (
			window = windows().Draw(t, "window")
			l      = drawLimit(t, a, window)
			s      algorithm.State
			x      = newExact()
			now    = drawStart(t)
		)
		for range rapid.IntRange(1, 25).Draw(t, "requests") {
			now += drawStep(t, l)
			if rapid.IntRange(0, 9).Draw(t, "change") == 0 {
				l = drawLimit(t, a, window)
			}
			cost := magnitudes(0, l.Capacity()+1).Draw(t, "cost")
			at := x.read(now)
			// The limits of what a state can hold are met by TestSaturation.
			force := rapid.IntRange(0, 9).Draw(t, "force") == 0 && cost < 1<<48

			fits := x.fits(at, l, cost)
			checkLook(t, algorithm.Look(s, now, l, cost), x, at, l, cost, fits)
			next, r := algorithm.Step(s, now, l, cost)
			if force {
				next, r = algorithm.Force(s, now, l, cost)
			}
			if !fits && !force && !reflect.DeepEqual(next, s) {
				t.Fatalf("denied, but %+v became %+v", s, next)
			}
			if (fits || force) && cost > 0 {
				x.take(at, l, cost)
			}
			s = next
			if r.Allowed != (fits || force) || r.Remaining != x.remaining(at, l) || r.Limit != l.Capacity() || r.At != at {
				t.Fatalf("%v, cost %d at %d: %+v, want allowed %t, %d remaining of %d at %d", l, cost, now, r, fits || force, x.remaining(at, l), l.Capacity(), at)
			}
			checkReset(t, r, x, at, l)
			checkRange(t, s)
		}
	})
}

// checkLook checks what a look says of a cost: whether it fits, and when.
func checkLook(t *rapid.T, r ratelimit.Result, x *exact, at int64, l ratelimit.Limit, cost int64, fits bool) {
	t.Helper()
	switch {
	case r.Allowed != fits:
		t.Fatalf("%v, cost %d at %d: allowed %t, want %t", l, cost, at, r.Allowed, fits)
	case fits:
		if r.RetryAfter != 0 {
			t.Fatalf("allowed, with a wait of %v", r.RetryAfter)
		}
	case r.RetryAfter == ratelimit.Never:
		if century := at + 100*ratelimit.MaxWindow.Microseconds(); cost <= l.Capacity() && l.Quota > 0 && x.fits(century, l, cost) {
			t.Fatalf("%v, cost %d at %d: never, although it will fit", l, cost, at)
		}
	default:
		when := at + r.RetryAfter.Microseconds()
		if !x.fits(when, l, cost) || x.fits(when-1, l, cost) || r.RetryAfter%time.Microsecond != 0 {
			t.Fatalf("%v, cost %d at %d: wait %v; then it fits: %t, a microsecond before: %t", l, cost, at, r.RetryAfter, x.fits(when, l, cost), x.fits(when-1, l, cost))
		}
	}
	if l.Algorithm == ratelimit.AlgorithmLeakyBucket && fits {
		if x.used(at+r.Delay.Microseconds(), l).Sign() > 0 || r.Delay > 0 && x.used(at+r.Delay.Microseconds()-1, l).Sign() == 0 {
			t.Fatalf("%v, cost %d at %d: delay %v is not when all before it has drained", l, cost, at, r.Delay)
		}
	} else if r.Delay != 0 {
		t.Fatalf("%v: delay %v", l, r.Delay)
	}
}

// checkReset checks that the key is as good as new after ResetAfter, and not
// earlier.
func checkReset(t *rapid.T, r ratelimit.Result, x *exact, at int64, l ratelimit.Limit) {
	t.Helper()
	if r.ResetAfter == ratelimit.Never {
		if x.used(at+100*ratelimit.MaxWindow.Microseconds(), l).Sign() == 0 {
			t.Fatalf("%v: never as good as new", l)
		}
		return
	}
	when := at + r.ResetAfter.Microseconds()
	fresh := func(at int64) bool {
		return x.used(at, l).Sign() == 0 && x.used(at+l.Window.Microseconds(), l).Sign() == 0
	}
	if !fresh(when) || r.ResetAfter > 0 && fresh(when-1) {
		t.Fatalf("%v at %d: as good as new after %v: %t, a microsecond before: %t", l, at, r.ResetAfter, fresh(when), fresh(when-1))
	}
}

// checkRange checks that a store can pack the state.
func checkRange(t *rapid.T, s algorithm.State) {
	t.Helper()
	if s.Time < 0 || s.Time > algorithm.MaxTime || s.Level < 0 || s.Level > algorithm.MaxUnits || s.Rest < 0 || s.Rest > algorithm.MaxUnits {
		t.Fatalf("%+v is out of range", s)
	}
	sum := int64(0)
	for i, e := range s.Log {
		if e.Units < 1 || i > 0 && e.At <= s.Log[i-1].At || e.At > s.Time {
			t.Fatalf("%+v is out of order", s)
		}
		sum += e.Units
	}
	if s.Log != nil && sum != s.Level {
		t.Fatalf("%+v: the entries' sum is %d", s, sum)
	}
}

// TestSaturation forces and adjusts without bounds. The answers need not be
// exact, but nothing may wrap round: the more is forced, the longer the wait.
func TestSaturation(t *testing.T) {
	forEach(t, func(t *rapid.T, a ratelimit.Algorithm) {
		var (
			l     = drawLimit(t, a, windows().Draw(t, "window"))
			s     algorithm.State
			whole = rapid.OneOf(rapid.Int64(), rapid.Just(int64(math.MaxInt64)), rapid.Just(int64(math.MinInt64)))
			units = rapid.OneOf(rapid.Int64Range(0, math.MaxInt64), rapid.Just(int64(math.MaxInt64)))
		)
		for range rapid.IntRange(1, 20).Draw(t, "requests") {
			now := whole.Draw(t, "now")
			before := algorithm.Used(&s, now, &l)
			if rapid.Bool().Draw(t, "adjust") {
				s = algorithm.Adjust(s, now, l, whole.Draw(t, "at"), units.Draw(t, "cost"), units.Draw(t, "new"))
				checkRange(t, s)
				continue
			}
			cost := units.Draw(t, "cost")
			next, r := algorithm.Force(s, now, l, cost)
			checkRange(t, next)
			if after := algorithm.Used(&next, now, &l); after < before || after < min(before+min(cost, 1<<51), algorithm.MaxUnits) {
				t.Fatalf("%v: %d used, %d forced, then %d used", l, before, cost, after)
			}
			if !r.Allowed || r.RetryAfter != 0 || r.Remaining < 0 || r.ResetAfter < 0 || r.Delay < 0 || r.Delay > l.LongestWait() {
				t.Fatalf("%v: forced %d: %+v", l, cost, r)
			}
			denied := algorithm.Look(next, now, l, 1)
			if cost > l.Capacity() && (denied.Allowed || denied.RetryAfter <= 0) {
				t.Fatalf("%v: in debt by %d: %+v", l, cost, denied)
			}
			s = next
		}
	})
}

// TestChangedLimit: whatever the quota and burst become, what was used stays.
func TestChangedLimit(t *testing.T) {
	forEach(t, func(t *rapid.T, a ratelimit.Algorithm) {
		window := windows().Draw(t, "window")
		before, after := drawLimit(t, a, window), drawLimit(t, a, window)
		now := drawStart(t)
		s, _ := algorithm.Force(algorithm.State{}, now, before, magnitudes(1, before.Capacity()+1).Draw(t, "cost"))
		now += rapid.Int64Range(0, window.Microseconds()).Draw(t, "pause")
		s, _ = algorithm.Force(s, now, before, 1)
		if was, is := algorithm.Used(&s, now, &before), algorithm.Used(&s, now, &after); was != is {
			t.Fatalf("%v became %v: %d used, then %d", before, after, was, is)
		}
	})
}

// TestAdjust: what is given back at once is as if it had never been charged,
// and a charge that is raised as if it had been so from the start.
func TestAdjust(t *testing.T) {
	forEach(t, func(t *rapid.T, a ratelimit.Algorithm) {
		l := drawLimit(t, a, windows().Draw(t, "window"))
		now := drawStart(t)
		s, _ := algorithm.Force(algorithm.State{}, now, l, magnitudes(1, 1<<40).Draw(t, "earlier"))
		now += rapid.Int64Range(0, l.Window.Microseconds()).Draw(t, "pause")
		cost, changed := magnitudes(1, 1<<40).Draw(t, "cost"), magnitudes(0, 1<<40).Draw(t, "changed")

		charged, r := algorithm.Force(s, now, l, cost)
		adjusted := algorithm.Adjust(charged, now, l, r.At, cost, changed)
		want, _ := algorithm.Force(s, now, l, changed)
		if got, want := algorithm.Used(&adjusted, now, &l), algorithm.Used(&want, now, &l); got != want {
			t.Fatalf("%v: %d charged, adjusted to %d: %d used, want %d", l, cost, changed, got, want)
		}
		for _, later := range []int64{0, 1, l.Window.Microseconds(), 5 * l.Window.Microseconds()} {
			s := algorithm.Adjust(adjusted, now+later, l, r.At, math.MaxInt64, 0)
			checkRange(t, s)
			if used := algorithm.Used(&s, now+later, &l); used > algorithm.Used(&adjusted, now+later, &l) {
				t.Fatalf("%v: given back, and more is used than before", l)
			}
		}
	})
}

// TestStatesAreValues: a state that was given is the same afterwards, down to
// its log's entries.
func TestStatesAreValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := ratelimit.SlidingLog(5, time.Second)
		var states, copies []algorithm.State
		states, copies = append(states, algorithm.State{}), append(copies, algorithm.State{})
		now := drawStart(t)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			now += rapid.Int64Range(0, 400_000).Draw(t, "step")
			s := rapid.SampledFrom(states).Draw(t, "state")
			if rapid.Bool().Draw(t, "adjust") && len(s.Log) > 0 {
				s = algorithm.Adjust(s, now, l, rapid.SampledFrom(s.Log).Draw(t, "entry").At, 1, rapid.Int64Range(0, 3).Draw(t, "new"))
			} else {
				s, _ = algorithm.Step(s, now, l, 1)
			}
			states = append(states, s)
			c := s
			c.Log = slices.Clone(s.Log)
			copies = append(copies, c)
			for i := range states {
				if !reflect.DeepEqual(states[i], copies[i]) {
					t.Fatalf("state %d was changed from %+v to %+v", i, copies[i], states[i])
				}
			}
		}
	})
}
