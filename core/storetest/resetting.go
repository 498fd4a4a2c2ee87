package storetest

import (
	"slices"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

func resetCases() []testCase {
	return []testCase{
		{"reset", anyClock, "Reset removes all that was stored under a key, whatever the algorithm", caseReset},
		{"reset_one_key", anyClock, "Reset removes exactly the keys named: no prefix, no pattern, no other policy, algorithm or window", caseResetOneKey},
	}
}

func caseReset(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		c := on("client", limit(3), 3)
		s.reset(c.Key()) // nothing there yet
		for range 2 {
			s.admit(c)
			s.take(as(force, c))
			s.deny(c)
			s.reset(c.Key())
			if r := s.look(c); !r.Allowed || r.Remaining != 3 || r.ResetAfter != 0 {
				s.Errorf("after Reset: %s, want it as good as new", showResult(r))
			}
		}
		s.admit(c)
		s.deny(c)
	})
	s.sub("several", func(s *suite) {
		s.reset()
		var keys []ratelimit.Key
		var charges []ratelimit.Charge
		for _, a := range algorithms {
			c := on("several", limitOf(a, 3, s.window), 3)
			charges, keys = append(charges, c), append(keys, c.Key(), c.Key())
		}
		s.take(charges...)
		s.reset(keys...)
		for _, c := range charges {
			s.left(3, c, "after a Reset of five keys, each named twice")
		}
	})
}

// caseResetOneKey resets each of a set of keys that look like each other.
func caseResetOneKey(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		var charges []ratelimit.Charge
		for _, p := range []string{
			"user1", "user10", "user", "user1*", "user*", "*", "?", "user?", "user[1]", "user[01]", "[^a]", "", "USER1", "user1 ",
			"user1\x00", "user1:", "{user1}", "ser1", "user1|user10", "user%31", "\\*",
		} {
			charges = append(charges, on(p, limit(2), 2))
		}
		charges = append(charges, under("policy1", on("user1", limit(2), 2)), under("polic", on("user1", limit(2), 2)), under("", on("user1", limit(2), 2)), under("*", on("*", limit(2), 2)))
		for _, a := range algorithms {
			other := limitOf(a, 2, s.window)
			if a == limit(2).Algorithm {
				other.Window = s.window / 2
			}
			charges = append(charges, on("user1", other, 2))
		}
		for _, c := range charges {
			s.take(as(force, c))
		}
		for _, at := range []int{0, 5, 3, len(charges) - 1, 11, 4, len(charges) - 7, 14} {
			s.reset(charges[at].Key())
			for i, c := range charges {
				want := int64(0)
				if i == at {
					want = 2
				}
				s.left(want, c, "after Reset of "+remains(2, charges[at]))
			}
			s.admit(charges[at])
		}
		var keys []ratelimit.Key
		kept := charges[1]
		for _, c := range slices.Delete(slices.Clone(charges), 1, 2) {
			keys = append(keys, c.Key())
		}
		s.reset(keys...)
		s.left(0, kept, "after Reset of all others")
	})
}
