package memstore

import "time"

// WithSteadyClock is [WithClock] for a clock that never goes back.
func WithSteadyClock(now func() time.Time) Option {
	return func(o *options) { o.now, o.steady = now, true }
}
