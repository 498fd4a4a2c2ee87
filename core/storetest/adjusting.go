package storetest

import (
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

func adjustCases() []testCase {
	return []testCase{
		{"adjust", setClock, "what was charged becomes another cost: less, nothing, or more, even past the limit", caseAdjust},
		{"adjust_not_below_zero", anyClock, "whatever is given back, a key never has more than its capacity", caseAdjustBelowZero},
		{"adjust_one_key", anyClock, "an adjustment changes the key that it names and no other", caseAdjustOneKey},
		{"adjust_several", anyClock, "each adjustment of a call stands for itself", caseAdjustSeveral},
		{"adjust_late", setClock, "what comes too late for the window that was charged must not reach another", caseAdjustLate},
	}
}

func caseAdjust(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		c := on("client", limit(10), 6)
		r := s.admit(c)
		for _, step := range []struct{ to, left int64 }{{6, 4}, {2, 8}, {5, 5}, {10, 0}, {9, 1}, {1, 9}} {
			s.adjust(changed(c, r, step.to))
			s.left(step.left, c, "6 charged, adjusted")
			c.Cost = step.to
		}
		s.adjust(changed(c, r, 0))
		if r := s.look(c); r.Remaining != 10 || !s.h.RealTime && r.ResetAfter != 0 {
			s.Errorf("all given back: %s, want it as good as new", showResult(r))
		}

		// Upwards it may leave debt, which a later adjustment takes back.
		debt := on("debt", limit(10), 6)
		r = s.admit(debt)
		s.adjust(changed(debt, r, 15))
		if r := s.deny(on("debt", limit(10), 0)); r.Remaining != 0 {
			s.Errorf("6 of 10 charged, adjusted to 15: %s, want debt", showResult(r))
		}
		s.left(85, on("debt", limit(100), 0), "6 charged, adjusted to 15, quota raised to 100")
		debt.Cost = 15
		s.adjust(changed(debt, r, 3))
		s.left(7, debt, "6 charged, adjusted to 15 and 3")

		// A look that was settled: nothing had been charged.
		nothing := on("nothing", limit(10), 0)
		r = s.admit(nothing)
		s.adjust(changed(nothing, r, 7))
		s.left(3, nothing, "a look, adjusted to 7")
		nothing.Cost = 7
		s.adjust(changed(nothing, r, 2))
		s.left(8, nothing, "a look, adjusted to 7 and 2")

		// A force that was settled downwards.
		forced := as(force, on("forced", limit(10), 12))
		r = s.admit(forced)
		s.adjust(changed(forced, r, 4))
		s.left(6, forced, "12 forced, adjusted to 4")
	})
}

func caseAdjustBelowZero(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		full := func(c ratelimit.Charge, what string) {
			s.Helper()
			s.left(10, c, what)
			c.Cost = 10
			s.admit(c)
			c.Cost = 1
			s.deny(c)
		}
		c := on("client", limit(10), 2)
		r := s.admit(c)
		c.Cost = 50
		s.adjust(changed(c, r, 0))
		full(c, "2 charged, 50 given back")

		twice := on("twice", limit(10), 4)
		r = s.admit(twice)
		s.adjust(changed(twice, r, 0))
		s.adjust(changed(twice, r, 0))
		s.adjust(changed(twice, r, 0))
		full(twice, "4 charged, given back three times")

		unknown := on("unknown", limit(10), 5)
		s.adjust(changed(unknown, r, 0))
		full(unknown, "5 given back to a key that was never charged")

		gone := on("gone", limit(10), 5)
		r = s.admit(gone)
		s.reset(gone.Key())
		s.adjust(changed(gone, r, 1))
		full(gone, "5 charged, the key reset, 4 given back")
	})
}

func caseAdjustOneKey(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		c := on("client", limit(10), 6)
		charged := []ratelimit.Charge{c, under("another", c), on("client2", limit(10), 6), on("clien", limit(10), 6)}
		window := c
		window.Limit.Window = s.window / 2
		charged = append(charged, window)
		var results []ratelimit.Result
		for _, c := range charged {
			results = append(results, s.admit(c))
		}
		for i, c := range charged {
			s.adjust(changed(c, results[i], 1))
			for j, other := range charged {
				want := int64(4)
				if j <= i {
					want = 9
				}
				s.left(want, other, "6 charged under five keys, adjusted to 1 one by one")
			}
		}
	})
}

func caseAdjustSeveral(s *suite) {
	s.adjust()
	var charges []ratelimit.Charge
	for _, a := range algorithms {
		charges = append(charges, on("client", limitOf(a, 10, s.window), 6))
	}
	results := s.take(charges...)
	adjustments := []ratelimit.Adjustment{changed(on("unknown", limitOf(algorithms[0], 10, s.window), 3), results[0], 0)}
	for i, c := range charges {
		adjustments = append(adjustments, changed(c, results[i], int64(i)))
	}
	// The same charge once more, going on from what it has become.
	again := charges[4]
	again.Cost = 4
	adjustments = append(adjustments, changed(again, results[4], 9))
	s.adjust(adjustments...)
	for i, want := range []int64{10, 9, 8, 7, 1} {
		s.left(want, charges[i], "6 charged under five algorithms, adjusted in one call")
	}
}

// caseAdjustLate charges 6 of 10 per minute 10 seconds into a minute, lets
// some time pass, charges more and then changes the first charge.
func caseAdjustLate(s *suite) {
	const (
		second = time.Second
		µs     = time.Microsecond
	)
	for _, c := range []struct {
		algorithm      ratelimit.Algorithm
		what           string
		after          time.Duration
		more, to, left int64
	}{
		{ratelimit.AlgorithmFixedWindow, "at the end of its window", 50*second - µs, 2, 1, 7},
		{ratelimit.AlgorithmFixedWindow, "down after its window", 50 * second, 4, 0, 6},
		{ratelimit.AlgorithmFixedWindow, "up after its window", 50 * second, 4, 12, 6},
		{ratelimit.AlgorithmFixedWindow, "down a window later", 110 * second, 4, 0, 6},

		{ratelimit.AlgorithmSlidingWindow, "down half a window later", 80 * second, 0, 2, 9}, // previous 2, half of it in view
		{ratelimit.AlgorithmSlidingWindow, "up half a window later", 80 * second, 0, 10, 5},
		{ratelimit.AlgorithmSlidingWindow, "down half a window later beside more", 80 * second, 4, 0, 6},
		{ratelimit.AlgorithmSlidingWindow, "down after the next window", 110 * second, 4, 0, 6},
		{ratelimit.AlgorithmSlidingWindow, "up after the next window", 110 * second, 4, 12, 6},

		{ratelimit.AlgorithmSlidingLog, "while in view", 60*second - µs, 2, 1, 7},
		{ratelimit.AlgorithmSlidingLog, "down out of view", 60 * second, 4, 0, 6},
		{ratelimit.AlgorithmSlidingLog, "up out of view", 60 * second, 4, 12, 6},

		// Of the charge one unit drains every 6 seconds.
		{ratelimit.AlgorithmTokenBucket, "down by more than has drained", 12 * second, 4, 0, 6},
		{ratelimit.AlgorithmTokenBucket, "down by what has drained", 12 * second, 4, 4, 2},
		{ratelimit.AlgorithmTokenBucket, "down when all has drained", 36 * second, 4, 0, 6},
		{ratelimit.AlgorithmTokenBucket, "up when all has drained", 36 * second, 4, 8, 4},

		{ratelimit.AlgorithmLeakyBucket, "down by more than has drained", 12 * second, 4, 0, 6},
		{ratelimit.AlgorithmLeakyBucket, "down by what has drained", 12 * second, 4, 4, 2},
		{ratelimit.AlgorithmLeakyBucket, "down when all has drained", 36 * second, 4, 0, 6},
		{ratelimit.AlgorithmLeakyBucket, "up when all has drained", 36 * second, 4, 8, 4},
	} {
		s.sub(c.algorithm.String()+"/"+c.what, func(s *suite) {
			s.reopen()
			s.begin()
			charge := on("client", limitOf(c.algorithm, 10, time.Minute), 6)
			r := s.admit(charge)
			s.clock.advance(c.after)
			if c.more > 0 {
				s.admit(on("client", charge.Limit, c.more))
			}
			s.adjust(changed(charge, r, c.to))
			s.left(c.left, charge, "6 charged, "+c.what)
		})
	}
}
