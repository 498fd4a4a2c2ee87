// Package storetest is the contract of [ratelimit.Store] as a test suite. Any
// store, in this project or outside it, proves itself with one test:
//
//	func TestConformance(t *testing.T) {
//		storetest.Run(t, storetest.Harness{
//			New: func(t testing.TB, clock *storetest.Clock) ratelimit.Store {
//				store := mystore.New(mystore.WithClock(clock.Now))
//				t.Cleanup(store.Close)
//				return store
//			},
//		})
//	}
//
// [Run] is the only entry point, so that a case added here reaches every store
// without a change there. Each case prints why the rule exists when it fails.
// Run one alone with -run 'TestConformance/modes'.
//
// # Time
//
// A store whose clock can be set gets every case; none of them sleeps. Steps
// of simulated time take no real time, so a store whose backend expires keys by
// a clock of its own has to keep them alive meanwhile. A store that can only
// read a real clock sets [Harness.RealTime] and gets the cases that need no
// particular instant; the others are listed in the log.
//
// # Decision vectors
//
// The suite holds the project's decision vectors (testdata/vectors, with the
// definitions in its README) and runs them against the store, and those in the
// folder that the environment variable RATELIMIT_VECTORS names, if it is set.
// With -v it prints how many it ran:
//
//	vectors: 486 cases, 17496 steps from testdata/vectors
//	adjust vectors: 105 cases, 5304 steps from testdata/vectors/adjust
//
// # Random schedules
//
// Some cases draw random requests and compare each answer with the exact model
// of package core/algorithm or with a brute-force count. A failure names its
// seed; RATELIMIT_SEED=<seed> runs that one instead of the usual ones.
//
// [Bench] measures a store in the shapes that matter to a rate limiter.
package storetest
