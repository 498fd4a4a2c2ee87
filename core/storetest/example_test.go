package storetest_test

import (
	"context"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/storetest"
)

// store stands for the store under test.
type store struct {
	ratelimit.Store
	now func() time.Time
}

func open(now func() time.Time) *store { return &store{now: now} }

func (s *store) Close() error { return nil }

func (s *store) connect(context.Context) *store { return &store{now: s.now} }

// The one test that a store needs.
func ExampleRun() {
	TestConformance := func(t *testing.T) {
		storetest.Run(t, storetest.Harness{
			New: func(t testing.TB, clock *storetest.Clock) ratelimit.Store {
				s := open(clock.Now)
				t.Cleanup(func() {
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				})
				return s
			},
			// Only for a store that many processes share.
			Share: func(t testing.TB, first ratelimit.Store, _ *storetest.Clock) ratelimit.Store {
				return first.(*store).connect(t.Context())
			},
		})
	}
	_ = TestConformance // in a file that ends in _test.go
}

// The benchmarks of a store, on its real clock.
func ExampleBench() {
	BenchmarkStore := func(b *testing.B) {
		storetest.Bench(b, func(testing.TB) ratelimit.Store { return open(time.Now) })
	}
	_ = BenchmarkStore
}
