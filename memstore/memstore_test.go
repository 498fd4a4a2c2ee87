package memstore_test

import (
	"context"
	"testing"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/storetest"
	"github.com/go-floodgate/floodgate/memstore"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, storetest.Harness{
		New: func(_ testing.TB, clock *storetest.Clock) ratelimit.Store {
			return memstore.New(memstore.WithClock(clock.Now))
		},
	})
}

// TestConformanceSteadyClock has a clock that never goes back, as the store's
// own: only then entries are packed, see rate.go.
func TestConformanceSteadyClock(t *testing.T) {
	storetest.Run(t, storetest.Harness{
		New: func(_ testing.TB, clock *storetest.Clock) ratelimit.Store {
			return memstore.New(memstore.WithSteadyClock(clock.Now))
		},
		MonotonicClock: true,
	})
}

// TestConformancePreallocated has all segments from the start.
func TestConformancePreallocated(t *testing.T) {
	storetest.Run(t, storetest.Harness{
		New: func(_ testing.TB, clock *storetest.Clock) ratelimit.Store {
			return memstore.New(memstore.WithSteadyClock(clock.Now), memstore.WithPreallocation(), memstore.WithMaxKeys(20_000))
		},
		MonotonicClock: true,
	})
}

func TestConformanceOwnClock(t *testing.T) {
	storetest.Run(t, storetest.Harness{
		New:      func(testing.TB, *storetest.Clock) ratelimit.Store { return memstore.New() },
		RealTime: true,
	})
}

// TestConformanceCoarseClock has a clock that was read just before each call,
// and so decides by what it shows with exact figures.
func TestConformanceCoarseClock(t *testing.T) {
	storetest.Run(t, storetest.Harness{
		New: func(_ testing.TB, clock *storetest.Clock) ratelimit.Store {
			return onTime{memstore.New(memstore.WithSteadyClock(clock.Now), memstore.WithCoarseClock())}
		},
		MonotonicClock: true,
	})
}

// TestConformanceOwnCoarseClock has the clock and the timer that users have.
func TestConformanceOwnCoarseClock(t *testing.T) {
	storetest.Run(t, storetest.Harness{
		New:      func(testing.TB, *storetest.Clock) ratelimit.Store { return memstore.New(memstore.WithCoarseClock()) },
		RealTime: true,
	})
}

// onTime has the clock read before each call.
type onTime struct{ *memstore.Store }

func (s onTime) Take(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
	s.ReadClock()
	return s.Store.Take(ctx, charges, results)
}

func (s onTime) Adjust(ctx context.Context, adjustments []ratelimit.Adjustment) error {
	s.ReadClock()
	return s.Store.Adjust(ctx, adjustments)
}
