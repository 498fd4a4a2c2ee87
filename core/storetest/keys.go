package storetest

import (
	"strings"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

func keyCases() []testCase {
	return []testCase{
		{"keys_apart", anyClock, "policy, partition, algorithm and window name a count: whoever differs in one of them has a count of his own", caseKeysApart},
		{"changed_limit_starts_afresh", anyClock, "a changed window or algorithm is another limit, and the earlier one is still there if it comes back", caseStartsAfresh},
		{"hostile_keys", anyClock, "whatever is in a key, its parts can't run together nor be taken for another's", caseHostileKeys},
	}
}

func caseKeysApart(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		used := on("client", limit(3), 3)
		s.admit(used)
		s.deny(used)

		others := map[string]ratelimit.Charge{
			"another policy":    under("another", used),
			"another partition": on("someone", limit(3), 3),
		}
		other := used
		other.Limit.Window -= time.Millisecond
		others["another window"] = other
		for _, a := range algorithms {
			if a == used.Limit.Algorithm {
				continue
			}
			// Under a policy of this subtest, since the other algorithms'
			// subtests use the same store.
			spent := under(used.Limit.Algorithm.String(), used)
			s.take(spent)
			fresh := spent
			fresh.Limit = limitOf(a, 3, s.window)
			others["algorithm "+a.String()] = fresh
		}
		for what, c := range others {
			if r := s.take(c)[0]; !r.Allowed || r.Remaining != 0 {
				s.Errorf("%s after the same key was used up: %s, want 3 of 3 admitted", what, showResult(r))
			}
			if r := s.take(c)[0]; r.Allowed {
				s.Errorf("%s, used up: %s, want it denied", what, showResult(r))
			}
		}
	})
}

func caseStartsAfresh(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		before := on("client", limit(3), 1)
		after := before
		after.Limit.Window = s.window / 2
		s.admit(before)
		s.left(3, after, "1 of 3 used, window changed")
		after.Cost = 2
		s.admit(after)
		s.left(2, before, "window changed back")
		s.left(1, after, "and changed again")
	})
}

// hostilePartitions differ pairwise; a store that joins, cuts, folds, trims or
// interprets them makes two of them one.
var hostilePartitions = []ratelimit.Partition{
	"", " ", "  ", "a", "A", "a ", " a", "a:b", "a:b:c", ":", "::", "a|b", "a/b", "a,b", "a;b", "a=b",
	"{}", "{", "}", "{a}", "{b}a", "x}{y", "x}{z", "{x}y", "{x}z", "}{", "{}a",
	"*", "?", "[a]", "a*", "user1", "user10", "user*", "%", "%s", "%41", "%2A", "+", "$1", "\\", "\\x00", "'", "\"", "--",
	"\x00", "a\x00", "a\x00b", "\n", "a\n", "a\r\nDEL b", "\t", "\x7f", "\x1b[2J",
	"é", "e\u0301", "É", "ß", "ss", "日本語", "日本", "\u200b", "\ufeff", "\U0001F600", "\xff", "\xfe", "\xff\xfe", "\xc3",
	"0", "00", "-1", "1e3", "nil", "null", "true", "policy", "fixed_window",
	ratelimit.Partition(strings.Repeat("k", 1024)),
	ratelimit.Partition(strings.Repeat("k", 1023) + "l"),
	ratelimit.Partition("l" + strings.Repeat("k", 1023)),
	ratelimit.Partition(strings.Repeat("k", 1025)),
	ratelimit.Partition(strings.Repeat("\x00", 1024)),
	ratelimit.Partition(strings.Repeat("\x00", 1023)),
}

func caseHostileKeys(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		for _, p := range hostilePartitions {
			if r := s.take(on(string(p), limit(3), 3))[0]; !r.Allowed {
				s.Errorf("partition %.60q (%d bytes), never used before: %s, want it admitted", string(p), len(p), showResult(r))
			}
		}
		for _, p := range hostilePartitions {
			if r := s.take(on(string(p), limit(3), 1))[0]; r.Allowed {
				s.Errorf("partition %.60q (%d bytes), used up: %s, want it denied", string(p), len(p), showResult(r))
			}
		}
	})
	s.sub("policy_and_partition", func(s *suite) {
		l := limitOf(ratelimit.AlgorithmFixedWindow, 1, s.window)
		for _, parts := range [][2]string{
			{"p", "q:r"},
			{"p:q", "r"},
			{"p:q:r", ""},
			{"", "p:q:r"},
			{"pq", "r"},
			{"p", "qr"},
			{"p}", "{q"},
			{"p", "}{q"},
			{"p\x00", "q"},
			{"p", "\x00q"},
			{"p|q", "r"},
			{"p", "q|r"},
			{"p ", "q"},
			{"p", " q"},
			{"p", "q"},
			{"q", "p"},
		} {
			if r := s.take(under(parts[0], on(parts[1], l, 1)))[0]; !r.Allowed {
				s.Errorf("policy %q, partition %q, never used before: %s, want it admitted", parts[0], parts[1], showResult(r))
			}
		}
	})
}
