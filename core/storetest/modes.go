package storetest

import (
	"fmt"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

const (
	shadow   = ratelimit.ModeShadow
	peek     = ratelimit.ModePeek
	force    = ratelimit.ModeForce
	onDenial = ratelimit.ModeOnDenial
)

func modeCases() []testCase {
	return []testCase{
		{"mode_shadow", anyClock, "shadow never vetoes; it is taken if it fits and the request is admitted", caseShadow},
		{"mode_peek", anyClock, "peek answers for its cost, never vetoes and writes nothing", casePeek},
		{"mode_force", anyClock, "force never vetoes and is taken past the limit, which leaves debt, but not by a denied request", caseForce},
		{"mode_on_denial", anyClock, "on-denial is taken, even past the limit, only if an enforcing charge of the same Take denies", caseOnDenial},
		{"modes_mixed", anyClock, "the modes of one Take keep out of each other's way, in whatever order they come", caseMixed},
	}
}

// denier is a charge that denies its request.
func denier(limit func(int64) ratelimit.Limit) ratelimit.Charge {
	return under("denier", on("client", limit(1), 2))
}

func caseShadow(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		c, other := as(shadow, on("client", limit(3), 2)), under("other", on("client", limit(10), 1))
		if r := s.admit(c); r.Remaining != 1 {
			s.Errorf("shadow that fits: %s, want it taken", showResult(r))
		}
		r := s.take(other, c)
		if !r[0].Allowed || r[0].Remaining != 9 {
			s.Errorf("beside a shadow that does not fit: %s, want it taken", showResult(r[0]))
		}
		if r[1].Allowed || r[1].Remaining != 1 || r[1].RetryAfter <= 0 || r[1].RetryAfter == ratelimit.Never {
			s.Errorf("shadow that does not fit: %s, want not allowed, 1 remaining, some retry after", showResult(r[1]))
		}
		s.left(1, c, "after a shadow that did not fit")

		c.Cost = 1
		r = s.take(denier(limit), c)
		if !r[1].Allowed || r[1].Remaining != 1 || r[1].RetryAfter != 0 {
			s.Errorf("shadow that fits, of a denied request: %s, want it to answer as a look would", showResult(r[1]))
		}
		s.left(1, c, "after a shadow of a denied request")
	})
}

func casePeek(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		c := on("client", limit(3), 1)
		for range 5 {
			if r := s.admit(as(peek, c)); r.Remaining != 3 || r.ResetAfter != 0 {
				s.Fatalf("peek at a fresh key: %s, want allowed with 3 of 3 remaining", showResult(r))
			}
		}
		s.admit(c)
		s.admit(c)
		s.admit(as(peek, c))
		two := c
		two.Cost = 2
		r := s.deny(as(peek, two))
		if r.Remaining != 1 || r.RetryAfter <= 0 || r.RetryAfter == ratelimit.Never {
			s.Errorf("peek for 2 with 1 left: %s, want 1 remaining and some retry after", showResult(r))
		}
		s.admit(c)
		if r := s.deny(as(peek, c)); r.Remaining != 0 {
			s.Errorf("peek with nothing left: %s, want not allowed, since the next one would be denied", showResult(r))
		}
		four := c
		four.Cost = 4
		if r := s.deny(as(peek, four)); r.RetryAfter != ratelimit.Never {
			s.Errorf("peek for more than the capacity: %s, want retry after never", showResult(r))
		}
		both := s.take(as(peek, c), under("other", c))
		if both[0].Allowed || !both[1].Allowed || both[1].Remaining != 2 {
			s.Errorf("a peek that does not fit vetoed: %s, %s", showResult(both[0]), showResult(both[1]))
		}
		s.left(2, under("other", c), "beside a peek")
	})
}

func caseForce(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		c := as(force, on("client", limit(3), 2))
		for i, want := range []int64{1, 0, 0} {
			if r := s.admit(c); r.Remaining != want || r.RetryAfter != 0 {
				s.Errorf("force %d of 2 in 3: %s, want it allowed with %d remaining", i+1, showResult(r), want)
			}
		}
		s.deny(on("client", limit(3), 0)) // debt
		s.left(14, on("client", limit(20), 0), "three times 2 forced, quota raised to 20")

		fresh := as(force, under("fresh", on("client", limit(3), 1)))
		r := s.take(denier(limit), fresh)
		if !r[1].Allowed || r[1].Remaining != 3 || r[1].ResetAfter != 0 {
			s.Errorf("force of a denied request: %s, want it to answer as a look would", showResult(r[1]))
		}
		s.left(3, fresh, "after a force of a denied request")
		r = s.take(fresh, under("other", on("client", limit(3), 1)), c)
		if !r[0].Allowed || !r[1].Allowed || !r[2].Allowed || r[2].Remaining != 0 {
			s.Errorf("a force far past the limit vetoed: %s, %s, %s", showResult(r[0]), showResult(r[1]), showResult(r[2]))
		}
		s.left(12, on("client", limit(20), 0), "four times 2 forced, quota raised to 20")
		huge := as(force, under("huge", on("client", limit(3), 50)))
		if r := s.admit(huge); r.Remaining != 0 {
			s.Errorf("force of 50 in 3: %s, want it taken", showResult(r))
		}
		s.left(50, under("huge", on("client", limit(100), 0)), "50 forced in 3, quota raised to 100")
	})
}

func caseOnDenial(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		strike := as(onDenial, under("strikes", on("client", limit(3), 2)))
		fits := on("client", limit(100), 1)
		for range 3 {
			r := s.take(fits, strike)
			if !r[0].Allowed || !r[1].Allowed || r[1].Remaining != 3 {
				s.Fatalf("on-denial of an admitted request: %s, %s, want both allowed and no strike", showResult(r[0]), showResult(r[1]))
			}
			r = s.take(strike) // nothing enforces, so nothing denies
			if !r[0].Allowed || r[0].Remaining != 3 {
				s.Fatalf("on-denial alone: %s, want it allowed and not taken", showResult(r[0]))
			}
			over := as(shadow, under("watched", on("client", limit(1), 2)))
			if r = s.take(over, strike); r[1].Remaining != 3 {
				s.Fatalf("on-denial beside a shadow that does not fit: %s, want it not taken", showResult(r[1]))
			}
		}
		for i, want := range []int64{1, 0, 0} {
			r := s.take(strike, fits, denier(limit))
			if r[2].Allowed || !r[0].Allowed || r[0].Remaining != want {
				s.Errorf("strike %d: %s, want it allowed with %d remaining", i+1, showResult(r[0]), want)
			}
			if !r[1].Allowed || r[1].Remaining != 97 {
				s.Errorf("beside strike %d: %s, want it untouched", i+1, showResult(r[1]))
			}
		}
		s.left(14, under("strikes", on("client", limit(20), 0)), "three strikes of 2, quota raised to 20")
		s.left(97, fits, "after three denied requests")

		again := as(onDenial, under("twice", on("client", limit(10), 1)))
		s.take(again, denier(limit), again)
		s.left(8, again, "after two strikes of one request on one key")
	})
}

// caseMixed gives one Take a charge of each mode, in every order, admitted and
// denied.
func caseMixed(s *suite) {
	l := limitOf(ratelimit.AlgorithmSlidingWindow, 5, s.window)
	taken := map[ratelimit.Mode]map[bool]int64{
		ratelimit.ModeEnforce: {true: 1, false: 0},
		shadow:                {true: 1, false: 0},
		peek:                  {true: 0, false: 0},
		force:                 {true: 1, false: 0},
		onDenial:              {true: 0, false: 1},
	}
	modes := []ratelimit.Mode{ratelimit.ModeEnforce, shadow, peek, force, onDenial}
	for n, order := range permutations(len(modes)) {
		for _, admitted := range []bool{true, false} {
			who := fmt.Sprintf("order %d, admitted %t", n, admitted)
			var charges []ratelimit.Charge
			for _, m := range order {
				charges = append(charges, as(modes[m], under(fmt.Sprint("mode", m), on(who, l, 1))))
			}
			if !admitted {
				charges = append(charges, under("full", on(who, l, 6)))
			}
			results := s.take(charges...)
			for i, m := range order {
				mode := modes[m]
				want := 5 - taken[mode][admitted]
				if r := results[i]; !r.Allowed || r.Remaining != want {
					s.Errorf("mode %d in %v of a request, admitted %t: %s, want it allowed with %d remaining", mode, order, admitted, showResult(r), want)
				}
				s.left(want, charges[i], fmt.Sprintf("mode %d in %v of a request, admitted %t", mode, order, admitted))
			}
			if s.Failed() {
				return
			}
		}
	}
}

// permutations of 0 to n-1.
func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var all [][]int
	for _, p := range permutations(n - 1) {
		for at := range n {
			q := append(append(append([]int(nil), p[:at]...), n-1), p[at:]...)
			all = append(all, q)
		}
	}
	return all
}
