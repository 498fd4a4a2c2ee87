package storetest

import (
	"math/rand/v2"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

func countingCases() []testCase {
	return []testCase{
		{"count", anyClock, "a fresh key admits its capacity, counts down to 0 and denies the next", caseCount},
		{"denied_changes_nothing", anyClock, "a denied or impossible request leaves no trace: blocked traffic may not keep a client blocked, nor move its clock", caseDenied},
		{"cost_0_looks", anyClock, "a cost of 0 is admitted unless the key is in debt, and changes nothing", caseLook},
		{"cost", anyClock, "a request is admitted if used + cost <= capacity, and all or nothing of it is taken", caseCost},
		{"never", anyClock, "a cost above the capacity can never pass and says so; one of exactly the capacity can", caseNever},
		{"quota_0", anyClock, "a quota of 0 lets nothing come back, however long one waits", caseQuotaZero},
		{"changed_quota", anyClock, "a client whose quota changes keeps what was used, and the new quota counts from the next request on", caseChangedQuota},
		{"changed_quota_drains", setClock, "after a change the new rate counts, also for what was used before it", caseChangedRate},
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
