package storetest_test

import (
	"context"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/storetest"
)

// backend and store stand for the store under test.
type (
	backend struct{ now func() time.Time }
	store   struct {
		ratelimit.Store
		backend *backend
	}
)

func open(_ context.Context, b *backend) *store { return &store{backend: b} }

func (s *store) Close() { s.backend = nil }

// The one test that a store needs; its place is func TestConformance.
func ExampleRun() {
	_ = func(t *testing.T) {
		storetest.Run(t, storetest.Harness{
			New: func(t testing.TB, clock *storetest.Clock) ratelimit.Store {
				s := open(t.Context(), &backend{now: clock.Now})
				t.Cleanup(s.Close)
				return s
			},
			// Only for a store that many processes share.
			Share: func(t testing.TB, first ratelimit.Store, _ *storetest.Clock) ratelimit.Store {
				s := open(t.Context(), first.(*store).backend)
				t.Cleanup(s.Close)
				return s
			},
		})
	}
}

// The benchmarks of a store, on its real clock; their place is a function such
// as BenchmarkStore.
func ExampleBench() {
	_ = func(b *testing.B) {
		storetest.Bench(b, func(t testing.TB) ratelimit.Store {
			return open(t.Context(), &backend{now: time.Now})
		})
	}
}
