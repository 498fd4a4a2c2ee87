package memstore

import (
	"math"
	"time"
)

// WithSteadyClock is [WithClock] for a clock that never goes back.
func WithSteadyClock(now func() time.Time) Option {
	return func(o *options) { o.now, o.steady = now, true }
}

// ReadClock shows the time to a store with a coarse clock, as the timer does. It
// never finds it late, however long ago it was shown.
func (s *Store) ReadClock() {
	k := s.clock.coarse
	k.mu.Lock()
	k.shown.Store(notShown)
	k.bound.Store(math.MaxInt64)
	k.mu.Unlock()
	k.start()
}
