package storetest

import (
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// passingCases are about what the passing of time brings back, and when.
func passingCases() []testCase {
	return []testCase{
		{"boundary", setClock, "a denied request passes exactly after its Retry-After: a client that waits must get through, one that comes a microsecond early must not", caseBoundary},
		{"as_good_as_new", setClock, "a key is as good as new exactly after Reset-After, not earlier", caseFresh},
		{"windows_of_others", setClock, "each key lives by its own window: a short one that rolls over takes no long one with it", caseOtherWindows},
		{"clock_back", backwards, "a clock that goes back mints no quota", caseClockBack},
	}
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
