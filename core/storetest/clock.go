package storetest

import (
	"sync/atomic"
	"time"
)

// Clock is the time that [Run] gives to a store: it stands still until the
// suite moves it, forwards or, unless [Harness.MonotonicClock] is set, back.
// It is safe for concurrent use.
type Clock struct {
	us atomic.Int64
}

// start is where every clock starts: 10 seconds after a full hour.
const start = 1_800_000_000_000_000 + 10_000_000

func newClock() *Clock {
	c := new(Clock)
	c.set(start)
	return c
}

// Now returns the time as a [time.Time]; its monotonic reading is unset.
func (c *Clock) Now() time.Time { return time.UnixMicro(c.us.Load()) }

// UnixMicro returns the time in microseconds since the Unix epoch.
func (c *Clock) UnixMicro() int64 { return c.us.Load() }

func (c *Clock) set(us int64) { c.us.Store(us) }

func (c *Clock) advance(d time.Duration) { c.us.Add(d.Microseconds()) }
