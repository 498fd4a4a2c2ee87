package memstore

import "time"

// clock tells the time in microseconds since the Unix epoch. Its own is the
// wall time at its start plus the monotonic time since, so it never goes back
// and costs one reading; a clock given from outside may do as it likes.
type clock struct {
	start       time.Time
	startMicros int64
	outside     func() time.Time
	// steady says that it cannot go back, so that what has expired once has
	// expired for good.
	steady bool
	coarse *coarse // nil without WithCoarseClock
}

func newClock(outside func() time.Time, steady bool) clock {
	if outside != nil {
		return clock{outside: outside, steady: steady}
	}
	now := time.Now()
	return clock{start: now, startMicros: now.UnixMicro(), steady: true}
}

// now is the present instant.
func (c *clock) now() int64 {
	if c.coarse != nil {
		return c.coarse.now()
	}
	return c.read()
}

func (c *clock) read() int64 {
	if c.outside != nil {
		return c.outside().UnixMicro()
	}
	return c.since(time.Since(c.start))
}

// between returns two instants that the present one lies between.
func (c *clock) between() (earliest, latest int64) {
	if c.coarse != nil {
		return c.coarse.between()
	}
	now := c.read()
	return now, now
}

// since is the instant a time after the clock's start.
func (c *clock) since(d time.Duration) int64 {
	return c.startMicros + int64(uint64(d)/uint64(time.Microsecond))
}
