package memstore

import (
	"crypto/rand"
	"sync/atomic"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// DefaultMaxKeys is the cap on keys without [WithMaxKeys]: at 48 bytes a key
// and the log entries beside, some 50 MB when it is reached.
const DefaultMaxKeys = 1 << 20

// maxMaxKeys is what [WithMaxKeys] is cut down to.
const maxMaxKeys = 1 << 31

// Store counts in the memory of one process. It implements [ratelimit.Store];
// make one with [New]. It is safe for concurrent use and needs no closing: it
// has no goroutine, and with [WithCoarseClock] a timer that stops by itself.
type Store struct {
	ratelimit.Registry

	clock clock
	table atomic.Pointer[table] // replaced by Restore only
}

var _ ratelimit.Store = (*Store)(nil)

// Option is a setting of [New].
type Option func(*options)

type options struct {
	maxKeys int64
	now     func() time.Time
	steady  bool // now never goes back
	coarse  bool
	atOnce  bool
}

// WithMaxKeys sets the cap on the number of keys, [DefaultMaxKeys] without it.
// It is hard: however many keys there are, the store never holds more. What
// happens at the cap is said in the package documentation. Values below 1 are
// read as 1, those above 2^31 as 2^31. Memory grows with the keys, not with the
// cap, unless [WithPreallocation] is given.
func WithMaxKeys(n int) Option {
	return func(o *options) { o.maxKeys = min(max(int64(n), 1), maxMaxKeys) }
}

// WithClock replaces the clock, for tests and simulations. It may go back: a
// key then stands still until the clock has caught up. now is called without
// a lock, once for each call, and must be safe for concurrent use. With a nil
// now the store has its own clock. A store with a clock from outside removes
// expired entries only when it needs their room.
func WithClock(now func() time.Time) Option {
	return func(o *options) { o.now = now }
}

// WithCoarseClock lets the store decide without reading the clock where the
// time of the last few milliseconds is enough to be sure. A charge of a busy
// key then takes little more than half the time, and a denied one a quarter
// more. Not one request more is admitted for it and not one more is denied.
//
// Without the clock are decided single charges that fit, of a key that is
// known: of fixed and sliding windows but for the last quarter of a second of a
// window, and of token buckets that have more to refill than a quarter of a
// second brings. For everything else, and before any denial, the clock is read
// as without this option. What changes is what such an answer says of the time:
// Result.At may be late by a few milliseconds, and up to a quarter of a second
// if the process is short of processor time, and Remaining and ResetAfter are
// those of that instant, so never too good.
//
// While the store is asked more than once a millisecond a timer runs at that
// rate; it stops by itself, and there is nothing to close. If it is late by
// more than a quarter of a second, as in a process that was stopped, the
// store's clock stands still for the rest of it, which nobody earns anything
// by. Together with [WithClock] this option does nothing.
func WithCoarseClock() Option {
	return func(o *options) { o.coarse = true }
}

// WithPreallocation takes the memory for as many keys as the cap allows at
// once: some 47 bytes for each if they are 100,000 or more. [New] and
// [Store.Restore] then take as long as the system needs to provide it, and it is
// not given back when keys expire. A new key, which otherwise now and then waits
// until a part of the table has grown, then takes little more than half the
// time, and hardly ever a multiple of it: only a part that by chance gets a third
// more keys than others still grows. The entries of sliding logs beyond the first
// are allocated as they come, with or without this option.
func WithPreallocation() Option {
	return func(o *options) { o.atOnce = true }
}

// New returns an empty store. Its clock is the wall time at the call and goes
// on monotonically: changing the system's time does not reach it.
func New(opts ...Option) *Store {
	o := options{maxKeys: DefaultMaxKeys}
	for _, option := range opts {
		option(&o)
	}
	s := &Store{clock: newClock(o.now, o.steady)}
	if o.coarse && s.clock.steady {
		s.clock.coarse = newCoarse(&s.clock)
	}
	var secret seed
	_, _ = rand.Read(secret[:]) // never fails, says its documentation
	s.table.Store(newTable(secret, o.maxKeys, &s.clock, o.atOnce))
	return s
}

// Forgets says that the store keeps no partition; see [ratelimit.Forgetful].
func (s *Store) Forgets() ratelimit.Store { return s }
