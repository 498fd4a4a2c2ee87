package storetest

import (
	"fmt"
	"math"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

func extremeCases() []testCase {
	return []testCase{
		{"huge_numbers", anyClock, "the largest quotas, costs and windows count as small ones do; nothing overflows", caseHuge},
		{"huge_debt", anyClock, "debt grows without wrapping round, however much is forced", caseHugeDebt},
		{"huge_sum", anyClock, "the costs of one key in one Take may sum up beyond any number", caseHugeSum},
		{"long_idle", setClock, "a key that was idle for however long is full again, and no fuller", caseLongIdle},
		{"high_rates", setClock, "a rate of more than one unit per microsecond is kept to", caseHighRates},
		{"no_rounding", setClock, "what a client has left never falls by more than it took, whatever the quota", caseNoRounding},
		{"short_window", setClock, "the shortest window works like any other", caseShortWindow},
	}
}

// hugeQuota is the largest quota of an algorithm that can be its capacity.
func hugeQuota(a ratelimit.Algorithm) int64 {
	switch {
	case a == ratelimit.AlgorithmSlidingLog:
		return ratelimit.MaxLogQuota
	case a.Bucket():
		return ratelimit.MaxQuota - 1
	default:
		return ratelimit.MaxQuota
	}
}

func hugeLimit(a ratelimit.Algorithm) ratelimit.Limit {
	return limitOf(a, hugeQuota(a), ratelimit.MaxWindow)
}

func caseHuge(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		l := hugeLimit(limit(1).Algorithm)
		n := l.Capacity()
		// In real time a bucket of this size fills while the case runs.
		exact := !s.h.RealTime || !l.Algorithm.Bucket()
		near := func(what string, want, got int64) {
			s.Helper()
			// Beyond 53 bits a store may be off by one, against the client.
			if got > n || got < want-1 || exact && got > want {
				s.Errorf("%s: %d remaining of %d, want %d or one less", what, got, n, want)
			}
		}
		near("1 taken", n-1, s.admit(on("client", l, 1)).Remaining)
		near("half taken", n/2-1, s.admit(on("client", l, n-n/2)).Remaining)
		r := s.admit(on("client", l, n/2-2))
		near("all but 1 taken", 1, r.Remaining)
		if r.ResetAfter <= 0 || r.ResetAfter > 2*ratelimit.MaxWindow {
			s.Errorf("all but 1 taken: reset after %v, want up to two windows", r.ResetAfter)
		}
		if !s.h.RealTime {
			if r := s.deny(on("client", l, n)); r.RetryAfter <= 0 || r.RetryAfter > 2*ratelimit.MaxWindow {
				s.Errorf("the whole capacity with 1 left: retry after %v, want up to two windows", r.RetryAfter)
			}
		}
		for _, cost := range []int64{n + 1, math.MaxInt64 - 1, math.MaxInt64} {
			for _, who := range []string{"client", "fresh"} {
				if r := s.deny(on(who, l, cost)); r.RetryAfter != ratelimit.Never {
					s.Errorf("cost %d of %d: %s, want retry after never", cost, n, showResult(r))
				}
			}
		}
		s.left(n, on("fresh", l, 1), "after impossible costs")
	})
}

func caseHugeDebt(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		for _, l := range []ratelimit.Limit{limit(3), hugeLimit(limit(1).Algorithm)} {
			c := on("debtor", l, math.MaxInt64)
			for i := range 5 {
				if r := s.admit(as(force, c)); r.Remaining != 0 || r.ResetAfter <= 0 {
					s.Errorf("force %d of %d: %s, want 0 remaining and some reset after", i+1, c.Cost, showResult(r))
				}
				if r := s.deny(on("debtor", l, 1)); r.RetryAfter <= 0 {
					s.Errorf("after force %d: %s, want it denied for a while", i+1, showResult(r))
				}
			}
			r := s.look(c)
			s.adjust(ratelimit.Adjustment{Policy: c.Policy, Partition: c.Partition, Limit: l, At: r.At, Cost: 0, NewCost: math.MaxInt64})
			s.deny(on("debtor", l, 1))
			s.reset(c.Key())
			s.left(l.Capacity(), c, "debt, then reset")
		}
	})
}

func caseHugeSum(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		for _, l := range []ratelimit.Limit{limit(3), hugeLimit(limit(1).Algorithm)} {
			one := on("sum", l, 1)
			most := on("sum", l, math.MaxInt64)
			for _, charges := range [][]ratelimit.Charge{
				{one, most}, {as(force, most), most}, {as(force, most), as(force, most), one}, {on("sum", l, l.Capacity()), on("sum", l, l.Capacity())},
			} {
				r := s.take(charges...)
				last := r[len(r)-1]
				if last.Allowed || last.RetryAfter != ratelimit.Never || last.Remaining != l.Capacity() {
					s.Errorf("%s, charges %v: the last is answered %s, want it denied, never to pass, the key untouched", showLimit(l), charges, showResult(last))
				}
			}
			s.left(l.Capacity(), one, "after impossible sums")
		}
	})
}

func caseLongIdle(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		for i, l := range []ratelimit.Limit{limit(1000), limitOf(limit(1).Algorithm, 1000, time.Millisecond), hugeLimit(limit(1).Algorithm)} {
			s.reopen()
			s.clock.set(start) // a store that calculates in doubles counts to the year 2255
			c := on(fmt.Sprint("idle", i), l, l.Capacity())
			for _, idle := range []time.Duration{12 * time.Hour, 12 * time.Hour, 24 * 366 * time.Hour, 50 * 366 * 24 * time.Hour, 100 * 366 * 24 * time.Hour} {
				idle = max(idle, 2*l.Window)
				s.admit(c)
				one := c
				one.Cost = 1
				s.deny(one)
				s.clock.advance(idle)
				if r := s.look(c); r.Remaining != l.Capacity() || r.ResetAfter != 0 {
					s.Errorf("%s idle for %v: %s, want it as good as new", showLimit(l), idle, showResult(r))
				}
			}
		}
	})
}

func caseHighRates(s *suite) {
	for _, l := range []ratelimit.Limit{
		{Algorithm: ratelimit.AlgorithmTokenBucket, Quota: 3_000_000, Window: time.Second, Burst: 6},
		{Algorithm: ratelimit.AlgorithmLeakyBucket, Quota: 3_000_000, Window: time.Second, Burst: 5},
		{Algorithm: ratelimit.AlgorithmTokenBucket, Quota: 1_000_000_000, Window: time.Second, Burst: 2000},
		{Algorithm: ratelimit.AlgorithmLeakyBucket, Quota: 1_000_000_000, Window: time.Second, Burst: 1999},
	} {
		s.sub(showLimit(l), func(s *suite) {
			s.begin()
			c := on("client", l, 1)
			c.Cost = l.Capacity()
			s.admit(c)
			c.Cost = 1
			if r := s.deny(c); r.RetryAfter != time.Microsecond {
				s.Errorf("an empty bucket: %s, want retry after 1µs", showResult(r))
			}
			for range 3 {
				s.clock.advance(time.Microsecond)
				c.Cost = l.Quota / 1_000_000
				s.admit(c)
				c.Cost = 1
				s.deny(c)
			}
			s.clock.advance(2 * time.Microsecond)
			s.left(2*l.Quota/1_000_000, c, "2µs after it was empty")
		})
	}
}

// caseNoRounding takes one ten times per window, and a bucket's all at once.
func caseNoRounding(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		a := limit(1).Algorithm
		for _, quota := range []int64{20, 31623, 65535, 1_000_000, 1_000_000_000, ratelimit.MaxQuota} {
			quota = min(quota, hugeQuota(a))
			l := limitOf(a, quota, time.Second)
			// Beyond 53 bits a store may be off by one, against the client.
			slack := int64(0)
			if quota > 1<<53/1_000_000 {
				slack = 1
			}
			s.begin()
			c := on(fmt.Sprint("quota", quota), l, 1)
			before := quota
			for i := range 20 {
				r := s.admit(c)
				if r.Remaining < before-1-slack || r.Remaining > quota-1 {
					s.Fatalf("%s, request %d, 100ms apart: %d remaining after %d, want it to fall by 1 at most", showLimit(l), i, r.Remaining, before)
				}
				before = r.Remaining
				s.clock.advance(100 * time.Millisecond)
			}
			if !a.Bucket() {
				continue
			}
			s.left(quota, c, "100ms after the last of one request per 100ms")
			all := on(fmt.Sprint("all of ", quota), l, quota)
			s.admit(all)
			for i := range int64(10) {
				s.clock.advance(100 * time.Millisecond)
				want := quota/10*(i+1) + quota%10*(i+1)/10
				if got := s.look(all).Remaining; got > want || got < want-slack {
					s.Fatalf("%s, all of it spent %dms ago: %d remaining, want %d", showLimit(l), 100*(i+1), got, want)
				}
			}
		}
	})
}

func caseShortWindow(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		s.begin()
		c := on("client", limitOf(limit(1).Algorithm, 2, ratelimit.MinWindow), 2)
		for range 5 {
			s.admit(c)
			r := s.deny(c)
			if r.RetryAfter > 2*ratelimit.MinWindow || r.RetryAfter <= 0 {
				s.Fatalf("2 per %v: %s", ratelimit.MinWindow, showResult(r))
			}
			s.clock.advance(r.RetryAfter - time.Microsecond)
			s.deny(c)
			s.clock.advance(time.Microsecond)
		}
	})
}
