package memstore

import "time"

// clock tells the time in microseconds since the Unix epoch. Its own is the
// wall time at its start plus the monotonic time since, so it never goes back
// and costs one reading; a clock given from outside may do as it likes.
type clock struct {
	start       time.Time
	startMicros int64
	outside     func() time.Time
}

func newClock(outside func() time.Time) clock {
	if outside != nil {
		return clock{outside: outside}
	}
	now := time.Now()
	return clock{start: now, startMicros: now.UnixMicro()}
}

// now is the present instant.
func (c *clock) now() int64 {
	if c.outside != nil {
		return c.outside().UnixMicro()
	}
	return c.startMicros + int64(uint64(time.Since(c.start))/uint64(time.Microsecond))
}

// steady reports whether the clock cannot go back, so that what has expired
// once has expired for good.
func (c *clock) steady() bool { return c.outside == nil }
