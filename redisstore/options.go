package redisstore

import (
	"fmt"
	"strings"
	"time"
)

// DefaultBudget is how long a decision may take; see [WithBudget].
const DefaultBudget = 100 * time.Millisecond

// Option changes what [New] and [Open] make.
type Option func(*Store) error

// WithPrefix begins every key with prefix instead of [DefaultPrefix]. It may
// be empty and must not hold a brace, which would move the key to another slot
// of a Cluster. Stores with the same prefix on the same database share their
// counts.
func WithPrefix(prefix string) Option {
	return func(s *Store) error {
		if strings.ContainsAny(prefix, "{}") {
			return fmt.Errorf("redisstore: WithPrefix(%q): a prefix must not hold a brace: leave it out", prefix)
		}
		s.keys.prefix = prefix
		return nil
	}
}

// WithHashedKeys keeps partitions, such as client addresses and user names,
// out of Redis: every one is stored as a keyed hash (HMAC-SHA-256, 128 bits of
// it) that only holders of the secret can make. All processes must have the
// same secret; a new one starts all counts afresh.
func WithHashedKeys(secret []byte) Option {
	return func(s *Store) error {
		if len(secret) < 16 {
			return fmt.Errorf("redisstore: WithHashedKeys: the secret has %d bytes: use at least 16 random ones", len(secret))
		}
		s.keys.secret = append([]byte(nil), secret...)
		return nil
	}
}

// WithBudget is how long a decision may take, [DefaultBudget] if unset. A
// decision that has no answer by then fails with [ErrTimeout], whatever the
// timeouts, retries and pool of the client are.
func WithBudget(budget time.Duration) Option {
	return func(s *Store) error {
		if budget < time.Millisecond {
			return fmt.Errorf("redisstore: WithBudget(%v): a budget below a millisecond lets every decision fail: use 20ms or more", budget)
		}
		s.budget = budget
		return nil
	}
}

// How long denials are remembered, and how many; see [WithDenialCache].
const (
	DefaultDenialAge = time.Second
	DefaultDenials   = 10_000
)

// WithDenialCache sets how long a denial is remembered in this process, and how
// many are. While it is, the same request (keys, limits and costs) is denied
// without asking Redis, until it could pass or, at the latest, maxAge after
// Redis was asked: so soon is seen what another process resets or gives back.
// Requests with charges that settle or strike are always asked. An age or a
// number of 0 remembers nothing.
func WithDenialCache(maxAge time.Duration, most int) Option {
	return func(s *Store) error {
		if maxAge < 0 || most < 0 {
			return fmt.Errorf("redisstore: WithDenialCache(%v, %d): neither may be negative: use 0 to remember nothing", maxAge, most)
		}
		s.denials = nil
		if maxAge > 0 && most > 0 {
			s.denials = newDenials(s, maxAge, most)
		}
		return nil
	}
}

// WithLease lets this process take up to units of a hot key of a policy ahead
// and spend them without asking Redis, for policies that a single key of may
// ask thousands of times a second. It is sized by the key's own rate, and never
// more than a tenth of the capacity.
//
// Units are spent at most a second, or a twentieth of the window if that is
// shorter, after they were charged, and in the same window. So over any span at
// most so much is admitted as the limit allows over the span and that life.
// Units that nobody has spent by then are given back. Near the limit every
// request is decided by Redis again.
//
// Only requests with this one policy, by which nothing is changed afterwards,
// are answered so, and not those of a sliding log.
func WithLease(policy string, units int64) Option {
	return func(s *Store) error {
		if policy == "" || units < 1 {
			return fmt.Errorf("redisstore: WithLease(%q, %d): name a policy and at least 1 unit, or leave it out", policy, units)
		}
		if s.leases == nil {
			s.leases = newLeases(s)
		}
		s.leases.most[policy] = units
		return nil
	}
}

// WithObserver tells o of every call to Redis and every change of a circuit
// breaker. It may be given several times; see [Store.Watch].
func WithObserver(o Observer) Option {
	return func(s *Store) error {
		s.Watch(o)
		return nil
	}
}

// withClock gives the script its time, for tests only. Keys then live at least
// a day, since the steps of such a clock take no time, and tests may take some.
func withClock(now func() time.Time) Option {
	return func(s *Store) error {
		s.clock = now
		return nil
	}
}
