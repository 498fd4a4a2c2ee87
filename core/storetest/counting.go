package storetest

import (
	"math/rand/v2"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

func countingCases() []testCase {
	return []testCase{
		{"count", anyClock, "a fresh key admits its capacity, counts down to 0 and denies the next", caseCount},
		{"boundary", setClock, "a denied request passes exactly after its Retry-After: a client that waits must get through, one that comes a microsecond early must not", caseBoundary},
		{"denied_changes_nothing", anyClock, "a denied or impossible request leaves no trace: blocked traffic may not keep a client blocked, nor move its clock", caseDenied},
		{"cost_0_looks", anyClock, "a cost of 0 is admitted unless the key is in debt, and changes nothing", caseLook},
		{"cost", anyClock, "a request is admitted if used + cost <= capacity, and all or nothing of it is taken", caseCost},
		{"never", anyClock, "a cost above the capacity can never pass and says so; one of exactly the capacity can", caseNever},
		{"quota_0", anyClock, "a quota of 0 lets nothing come back, however long one waits", caseQuotaZero},
		{"changed_quota", anyClock, "a client whose quota changes keeps what was used, and the new quota counts from the next request on", caseChangedQuota},
		{"changed_quota_drains", setClock, "after a change the new rate counts, also for what was used before it", caseChangedRate},
		{"as_good_as_new", setClock, "a key is as good as new exactly after Reset-After, not earlier", caseFresh},
		{"windows_of_others", setClock, "each key lives by its own window: a short one that rolls over takes no long one with it", caseOtherWindows},
		{"clock_back", backwards, "a clock that goes back mints no quota", caseClockBack},
	}
}

func caseCount(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		c := on("client", limit(10), 1)
		for i := range int64(10) {
			r := s.admit(c)
			if r.Remaining != 9-i || r.Limit != 10 || r.RetryAfter != 0 || r.ResetAfter <= 0 {
				s.Errorf("request %d of 10: %s, want limit 10, remaining %d, no retry after and some reset after", i+1, showResult(r), 9-i)
			}
		}
		r := s.deny(c)
		if r.Remaining != 0 || r.Limit != 10 || r.RetryAfter <= 0 || r.RetryAfter == ratelimit.Never || r.Delay != 0 {
			s.Errorf("request 11 of 10: %s, want limit 10, remaining 0, some retry after and no delay", showResult(r))
		}
	})
}

// caseBoundary spends 10 per minute 10 seconds into a minute.
func caseBoundary(s *suite) {
	waits := map[ratelimit.Algorithm]struct{ retry, reset time.Duration }{
		ratelimit.AlgorithmFixedWindow:   {50 * time.Second, 50 * time.Second},  // the window's end
		ratelimit.AlgorithmSlidingWindow: {56 * time.Second, 110 * time.Second}, // a tenth of the next window; its end
		ratelimit.AlgorithmSlidingLog:    {60 * time.Second, 60 * time.Second},
		ratelimit.AlgorithmTokenBucket:   {6 * time.Second, 60 * time.Second},
		ratelimit.AlgorithmLeakyBucket:   {6 * time.Second, 60 * time.Second},
	}
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		begin := s.begin()
		c := on("client", limit(10), 1)
		want := waits[c.Limit.Algorithm]
		for i := range 10 {
			r := s.admit(c)
			delay := time.Duration(0)
			if c.Limit.Algorithm == ratelimit.AlgorithmLeakyBucket {
				delay = time.Duration(i) * 6 * time.Second
			}
			if r.Delay != delay {
				s.Errorf("request %d: delay %v, want %v", i+1, r.Delay, delay)
			}
			if r.At != begin {
				s.Errorf("request %d: at %d, want the clock's %d", i+1, r.At, begin)
			}
		}
		r := s.deny(c)
		if r.RetryAfter != want.retry || r.ResetAfter != want.reset {
			s.Fatalf("denied with %s, want retry after %v and reset after %v", showResult(r), want.retry, want.reset)
		}
		s.clock.advance(want.retry - time.Microsecond)
		if r := s.deny(c); r.RetryAfter != time.Microsecond {
			s.Errorf("a microsecond before it passes: %s, want retry after 1µs", showResult(r))
		}
		s.clock.advance(time.Microsecond)
		s.admit(c)
	})
}

// caseDenied sends two keys the same requests, one of them denied ones in
// between.
func caseDenied(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		rnd := rand.New(rand.NewPCG(1, uint64(limit(1).Algorithm)))
		quiet, noisy := on("quiet", limit(10), 1), on("noisy", limit(10), 1)
		compare := timeless
		if !s.h.RealTime {
			compare = allColumns
		}
		pass := func() {
			if !s.h.RealTime {
				s.clock.advance(time.Duration(rnd.IntN(4_500_000)) * time.Microsecond)
			}
		}
		for i := range 40 {
			pass()
			noise := noisy
			noise.Cost = 11
			s.deny(noise)
			if noise.Cost = s.look(noisy).Remaining + 1; noise.Cost <= 10 {
				// A sliding count may be a fraction below what is shown.
				s.deny(noise)
			}
			pass()
			quiet.Cost = rnd.Int64N(3) + 1
			noisy.Cost = quiet.Cost
			want, got := s.take(quiet)[0], s.take(noisy)[0]
			if diff := differ(want, got, compare); diff != "" {
				s.Fatalf("request %d (cost %d): after denied requests it differs from a key without them: %s", i+1, quiet.Cost, diff)
			}
		}
	})
}

func caseLook(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		c := on("client", limit(3), 0)
		for range 5 {
			if r := s.admit(c); r.Remaining != 3 || r.ResetAfter != 0 || r.RetryAfter != 0 || r.Delay != 0 {
				s.Fatalf("a look at a fresh key: %s, want 3 remaining and nothing to wait for", showResult(r))
			}
		}
		s.admit(on("client", limit(3), 2))
		for range 5 {
			if r := s.admit(c); r.Remaining != 1 || r.ResetAfter <= 0 {
				s.Fatalf("a look with 2 of 3 used: %s, want 1 remaining and some reset after", showResult(r))
			}
		}
		s.admit(on("client", limit(3), 1))
		s.admit(c) // full, but not in debt
		s.take(as(ratelimit.ModeForce, on("client", limit(3), 2)))
		if r := s.deny(c); r.Remaining != 0 || r.RetryAfter <= 0 {
			s.Errorf("a look at a key in debt: %s, want it denied with 0 remaining and some retry after", showResult(r))
		}
	})
}

func caseCost(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		s.admit(on("a", limit(10), 8))
		s.deny(on("a", limit(10), 3))
		for range 2 {
			s.admit(on("a", limit(10), 1))
		}
		s.deny(on("a", limit(10), 1))

		s.admit(on("b", limit(10), 6))
		s.deny(on("b", limit(10), 6))
		s.left(4, on("b", limit(10), 1), "after 6 admitted and 6 denied")
		s.admit(on("b", limit(10), 4))
		s.left(0, on("b", limit(10), 1), "after 6 and 4")
	})
}

func caseNever(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		over, full := on("client", limit(5), 6), on("client", limit(5), 5)
		if r := s.deny(over); r.RetryAfter != ratelimit.Never || r.Remaining != 5 {
			s.Errorf("6 of a fresh 5: %s, want retry after never and 5 remaining", showResult(r))
		}
		s.admit(full)
		if r := s.deny(over); r.RetryAfter != ratelimit.Never {
			s.Errorf("6 of a used 5: %s, want retry after never", showResult(r))
		}
		r := s.deny(full)
		if r.RetryAfter <= 0 || r.RetryAfter == ratelimit.Never {
			s.Fatalf("5 of a used 5: %s, want a wait that ends", showResult(r))
		}
		if !s.h.RealTime {
			s.clock.advance(r.RetryAfter)
			s.admit(full)
		}
	})
}

func caseQuotaZero(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		l := limit(3)
		l.Quota = 0 // a bucket keeps its burst
		admitted := int64(0)
		for range 20 {
			r := s.take(on("client", l, 1))[0]
			if r.Allowed {
				admitted++
			} else if r.RetryAfter != ratelimit.Never {
				s.Fatalf("%s: denied with %s, want retry after never", showLimit(l), showResult(r))
			}
			if !s.h.RealTime {
				s.clock.advance(ratelimit.MaxWindow)
			}
		}
		if most := l.Capacity(); admitted > most {
			s.Errorf("%s admitted %d in 20 windows, want no more than its capacity of %d once", showLimit(l), admitted, most)
		}
	})
}

func caseChangedQuota(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		s.admit(on("client", limit(10), 5))
		s.left(15, on("client", limit(20), 1), "5 of 10 used, quota raised to 20")
		s.left(5, on("client", limit(10), 1), "and lowered to 10 again")
		s.left(0, on("client", limit(3), 1), "and lowered to 3")
		s.deny(on("client", limit(3), 0))
		s.deny(on("client", limit(5), 1))
		s.admit(on("client", limit(6), 1))
		s.left(4, on("client", limit(10), 1), "5 of 10 and 1 of 6 used")

		s.admit(on("blocked", limit(1), 1))
		s.deny(on("blocked", limit(1), 1))
		r := s.admit(on("blocked", limit(100), 1))
		if r.Remaining != 98 || r.Limit != 100 {
			s.Errorf("1 of 1 used, quota raised to 100: %s, want limit 100 and 98 remaining", showResult(r))
		}
	})
	s.sub("burst", func(s *suite) {
		for _, a := range []ratelimit.Algorithm{ratelimit.AlgorithmTokenBucket, ratelimit.AlgorithmLeakyBucket} {
			small := limitOf(a, 10, s.window)
			large := small
			large.Burst += 15
			s.admit(on("burst", small, 7))
			s.left(18, on("burst", large, 1), "7 of 10 used, burst raised to 25")
			s.admit(on("burst", large, 18))
			s.left(0, on("burst", small, 1), "25 of 25 used, burst lowered to 10")
		}
	})
}

// caseChangedRate uses 10 of 10 per minute and goes on with 60 per minute and
// a burst of 10.
func caseChangedRate(s *suite) {
	s.sub("bucket", func(s *suite) {
		for _, a := range []ratelimit.Algorithm{ratelimit.AlgorithmTokenBucket, ratelimit.AlgorithmLeakyBucket} {
			slow := limitOf(a, 10, s.window)
			fast := slow
			fast.Quota = 60
			s.admit(on("rate", slow, 10))
			if r := s.deny(on("rate", fast, 1)); r.RetryAfter != time.Second || r.ResetAfter != 10*time.Second {
				s.Errorf("%s: %s, want retry after 1s and reset after 10s", a, showResult(r))
			}
			s.clock.advance(2 * time.Second)
			s.left(2, on("rate", fast, 1), "2 seconds at one unit per second")
		}
	})
}

func caseFresh(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		s.begin()
		c := on("client", limit(7), 1)
		s.admit(c)
		s.clock.advance(12345678 * time.Microsecond)
		c.Cost = 4
		r := s.admit(c)
		s.clock.advance(r.ResetAfter - time.Microsecond)
		if r := s.look(c); r.ResetAfter != time.Microsecond {
			s.Errorf("a microsecond before it is as good as new: %s, want reset after 1µs", showResult(r))
		}
		s.clock.advance(time.Microsecond)
		if r := s.look(c); r.ResetAfter != 0 || r.Remaining != 7 {
			s.Errorf("after reset after: %s, want it as good as new", showResult(r))
		}
		c.Cost = 7
		s.admit(c)
		c.Cost = 1
		s.deny(c)
	})
}

// caseOtherWindows spends a quota per day, then uses minutes.
func caseOtherWindows(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		s.begin()
		day := limit(3)
		day.Window = 24 * time.Hour
		long, short := on("client", day, 3), on("client", limit(1), 1)
		s.admit(long)
		for range 20 {
			s.admit(short)
			s.admit(under("other", short))
			s.clock.advance(2*time.Minute + time.Second)
		}
		s.deny(long)
		s.left(0, long, "3 of 3 per day used 41 minutes ago")
	})
}

func caseClockBack(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		begin := s.begin()
		c := on("client", limit(1), 1)
		s.admit(c)
		for _, back := range []time.Duration{time.Microsecond, time.Second, time.Minute, time.Hour, 400 * 24 * time.Hour} {
			for range 3 {
				s.clock.set(begin - back.Microseconds())
				s.deny(c)
				s.clock.set(begin)
				s.deny(c)
			}
		}
		// The first reading is the latest: no time passes for the key after it.
		back := on("back and forth", limit(10), 1)
		admitted := 0
		for range 20 {
			for _, at := range []int64{10, 9, 0, -55, -61, 10, 5} {
				s.clock.set(begin + at*time.Second.Microseconds())
				if s.take(back)[0].Allowed {
					admitted++
				}
			}
		}
		if admitted != 10 {
			s.Errorf("10 per minute admitted %d while the clock went back and came again, want 10", admitted)
		}
	})
}
