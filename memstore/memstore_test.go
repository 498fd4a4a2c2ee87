package memstore_test

import (
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

func TestConformanceOwnClock(t *testing.T) {
	storetest.Run(t, storetest.Harness{
		New:      func(testing.TB, *storetest.Clock) ratelimit.Store { return memstore.New() },
		RealTime: true,
	})
}
