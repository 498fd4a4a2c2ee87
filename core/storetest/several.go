package storetest

import (
	"fmt"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

func severalCases() []testCase {
	return []testCase{
		{"results_in_order", anyClock, "results[i] answers charges[i]", caseResultsInOrder},
		{"all_or_nothing", anyClock, "a denial by one policy costs the others nothing", caseAllOrNothing},
		{"denial_answers_as_a_look", anyClock, "a policy that would have admitted answers a denied request as a look would, so that its headers tell the truth", caseAnswersAsLook},
		{"several_denials", setClock, "each violated policy tells its own wait, and after the longest of them the request passes", caseSeveralDenials},
		{"same_key_twice", anyClock, "charges on one key are decided in order, one after the other, and taken together or not at all", caseSameKey},
		{"same_key_looks", anyClock, "a peek and a shadow that does not fit answer, in an admitted request, for the key as the charges before them leave it", caseSameKeyLooks},
		{"same_key_retry", setClock, "the wait for a request with several charges on one key is that of the whole request", caseSameKeyRetry},
	}
}

func caseResultsInOrder(s *suite) {
	var charges []ratelimit.Charge
	for i := range int64(15) {
		l := limitOf(algorithms[int(i)%len(algorithms)], 100+i, s.window)
		charges = append(charges, under(fmt.Sprint("policy", i%3), on(fmt.Sprint("client", i/3), l, 1+i)))
	}
	for round := range int64(3) {
		for i, r := range s.take(charges...) {
			i := int64(i)
			if want := 100 + i - (round+1)*(1+i); !r.Allowed || r.Limit != 100+i || r.Remaining != want {
				s.Errorf("result %d of round %d: %s, want limit %d and %d remaining", i, round, showResult(r), 100+i, want)
			}
		}
	}
}

// caseAllOrNothing has one of three policies deny, each in turn, for each pair
// of algorithms.
func caseAllOrNothing(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		for _, a := range algorithms {
			for denying := range 3 {
				who := fmt.Sprint(limit(1).Algorithm, a, denying)
				tight := under("tight", on(who, limit(1), 1))
				roomy := limitOf(a, 10, s.window)
				charges := []ratelimit.Charge{under("a", on(who, roomy, 1)), under("b", on(who, roomy, 2))}
				charges = append(charges[:denying:denying], append([]ratelimit.Charge{tight}, charges[denying:]...)...)

				admitted := 0
				for range 6 {
					all := true
					for _, r := range s.take(charges...) {
						all = all && r.Allowed
					}
					if all {
						admitted++
					}
				}
				if admitted != 1 {
					s.Errorf("policies of 1 (%s), 10 and 10 (%s): %d of 6 requests admitted, want 1", tight.Limit.Algorithm, a, admitted)
				}
				s.left(9, under("a", on(who, roomy, 0)), "after 1 admitted and 5 denied requests of cost 1")
				s.left(8, under("b", on(who, roomy, 0)), "after 1 admitted and 5 denied requests of cost 2")
			}
		}
	})
}

func caseAnswersAsLook(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		fresh, used := under("fresh", on("client", limit(5), 2)), under("used", on("client", limit(5), 2))
		s.admit(used)
		look := s.look(used)
		r := s.take(fresh, used, denier(limit))
		if f := r[0]; !f.Allowed || f.Remaining != 5 || f.RetryAfter != 0 || f.ResetAfter != 0 || f.Delay != 0 {
			s.Errorf("a fresh policy beside one that denies: %s, want allowed, 5 remaining, nothing to wait for", showResult(f))
		}
		compare := timeless | colRetryAfter
		if !s.h.RealTime {
			compare = allColumns
		}
		if diff := differ(look, r[1], compare); diff != "" {
			s.Errorf("a used policy beside one that denies does not answer as a look: %s", diff)
		}
		if r[2].Allowed || r[2].RetryAfter != ratelimit.Never {
			s.Errorf("the policy that denies: %s", showResult(r[2]))
		}
	})
}

func caseSeveralDenials(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		s.begin()
		slow := limit(2)
		slow.Window = time.Hour
		charges := []ratelimit.Charge{
			under("fast", on("client", limit(2), 1)), under("slow", on("client", slow, 1)), under("roomy", on("client", limit(100), 1)),
		}
		s.take(charges...)
		s.clock.advance(7 * time.Second)
		s.take(charges...)
		s.clock.advance(3 * time.Second)
		var longest time.Duration
		untouched := s.look(charges[2]).Remaining
		for i, r := range s.take(charges...) {
			alone := s.take(as(peek, charges[i]))[0]
			if r.Allowed != (i == 2) || r.RetryAfter != alone.RetryAfter {
				s.Errorf("%s: %s, want the same wait as alone: %s", charges[i].Policy, showResult(r), showResult(alone))
			}
			longest = max(longest, r.RetryAfter)
		}
		s.left(untouched, charges[2], "after a denied request")
		s.clock.advance(longest - time.Microsecond)
		if r := s.take(charges...); r[0].Allowed && r[1].Allowed {
			s.Errorf("a microsecond before the longest wait is over: admitted")
		}
		s.clock.advance(time.Microsecond)
		for i, r := range s.take(charges...) {
			if !r.Allowed {
				s.Errorf("after the longest wait of %v, %s: %s", longest, charges[i].Policy, showResult(r))
			}
		}
	})
}

func caseSameKey(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		charge := func(who string, cost int64) ratelimit.Charge { return on(who, limit(10), cost) }

		r := s.take(charge("fits", 4), under("between", charge("fits", 1)), charge("fits", 4))
		if !r[0].Allowed || !r[2].Allowed || r[0].Remaining != 6 || r[1].Remaining != 9 || r[2].Remaining != 2 {
			s.Errorf("4 and 4 of 10: %s, %s, want 6 and 2 remaining", showResult(r[0]), showResult(r[2]))
		}
		s.left(2, charge("fits", 0), "after 4 and 4")

		r = s.take(charge("over", 6), under("between", charge("over", 1)), charge("over", 6))
		if !r[0].Allowed || r[0].Remaining != 10 || r[0].RetryAfter != 0 {
			s.Errorf("first of 6 and 6 of 10: %s, want it to answer as a look, since the second denies", showResult(r[0]))
		}
		if r[2].Allowed || r[2].Remaining != 10 || r[2].RetryAfter != ratelimit.Never {
			s.Errorf("second of 6 and 6 of 10: %s, want it denied, never to pass, with 10 remaining", showResult(r[2]))
		}
		s.left(10, charge("over", 0), "after 6 and 6 were denied")
		s.left(10, under("between", charge("over", 0)), "after 6 and 6 were denied")

		s.take(charge("used", 5))
		r = s.take(charge("used", 3), charge("used", 3))
		if !r[0].Allowed || r[1].Allowed || r[1].Remaining != 5 || r[1].RetryAfter <= 0 || r[1].RetryAfter == ratelimit.Never {
			s.Errorf("3 and 3 with 5 of 10 left: %s, %s, want the second denied for a while", showResult(r[0]), showResult(r[1]))
		}
		s.left(5, charge("used", 0), "after 3 and 3 were denied")

		// What is not taken is not in the way of what comes after it.
		r = s.take(charge("skip", 6), as(shadow, charge("skip", 6)), as(peek, charge("skip", 4)), charge("skip", 4))
		if !r[0].Allowed || r[1].Allowed || !r[2].Allowed || !r[3].Allowed || r[3].Remaining != 0 {
			s.Errorf("6, shadow 6, peek 4 and 4 of 10: %v, want all but the shadow allowed", r)
		}
		s.left(0, charge("skip", 0), "after 6, shadow 6, peek 4 and 4")

		// What was forced is.
		r = s.take(as(force, charge("forced", 8)), charge("forced", 3))
		if !r[0].Allowed || r[1].Allowed {
			s.Errorf("force 8 and 3 of 10: %s, %s, want the second denied", showResult(r[0]), showResult(r[1]))
		}
		s.left(10, charge("forced", 0), "after force 8 and 3 were denied")

		// One key under two quotas is still one count.
		r = s.take(charge("quotas", 4), on("quotas", limit(6), 2), on("quotas", limit(20), 5))
		if !r[0].Allowed || !r[1].Allowed || !r[2].Allowed || r[0].Remaining != 6 || r[1].Remaining != 0 || r[2].Remaining != 9 {
			s.Errorf("4 of 10, 2 of 6 and 5 of 20 on one key: %v, want 6, 0 and 9 remaining", r)
		}
	})
}

// caseSameKeyLooks asks within one request what a request after it would be
// answered as well.
func caseSameKeyLooks(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		charge := func(cost int64) ratelimit.Charge { return on("client", limit(10), cost) }
		r := s.take(as(peek, charge(2)), charge(4), as(peek, charge(0)), as(peek, charge(7)), as(shadow, charge(7)), charge(2), as(peek, charge(11)))
		alone := s.take(as(peek, charge(7)))[0]
		for i, want := range []int64{10, 6, 6, 6, 6, 4, 4} {
			if r[i].Remaining != want || r[i].Allowed != (i <= 2 || i == 5) {
				s.Errorf("answer %d of peek 2, 4, peek 0, peek 7, shadow 7, 2 and peek 11 of 10: %s, want %d remaining", i, showResult(r[i]), want)
			}
		}
		for _, i := range []int{3, 4} {
			if wait := r[i].RetryAfter; wait <= 0 || wait == ratelimit.Never || wait > alone.RetryAfter && !s.h.RealTime {
				s.Errorf("7 with 4 of 10 taken: %s, want a wait, no longer than with 6 of 10 taken: %s", showResult(r[i]), showResult(alone))
			}
		}
		if r[2].ResetAfter <= 0 || r[6].RetryAfter != ratelimit.Never {
			s.Errorf("a look at a key in use: %s; more than the capacity: %s", showResult(r[2]), showResult(r[6]))
		}
		s.left(4, charge(0), "after 4 and 2")
	})
}

func caseSameKeyRetry(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		s.begin()
		c := on("client", limit(10), 4)
		s.admit(c)
		s.clock.advance(5 * time.Second)
		s.admit(on("client", limit(10), 3))
		s.clock.advance(5 * time.Second)
		one, rest := on("client", limit(10), 2), on("client", limit(10), 6)
		r := s.take(one, rest)
		if r[1].Allowed || r[1].RetryAfter <= 0 || r[1].RetryAfter == ratelimit.Never {
			s.Fatalf("2 and 6 with 7 of 10 used: %s", showResult(r[1]))
		}
		wait := r[1].RetryAfter
		s.clock.advance(wait - time.Microsecond)
		if r := s.take(one, rest); r[0].Allowed && r[1].Allowed {
			s.Errorf("a microsecond before the wait of %v is over: admitted", wait)
		}
		s.clock.advance(time.Microsecond)
		if r := s.take(one, rest); !r[0].Allowed || !r[1].Allowed {
			s.Errorf("after the wait of %v: %s, %s, want both admitted", wait, showResult(r[0]), showResult(r[1]))
		}
	})
}
