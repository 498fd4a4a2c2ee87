package storetest

import (
	"strings"
	"testing"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// Harness tells [Run] how to open the store under test and what it can do. Only
// New is required.
type Harness struct {
	// New opens an empty store that reads its time from clock: nothing that
	// another call of New counted may show in it. What has to be closed goes to
	// t.Cleanup. It is called about a hundred times in one run.
	New func(t testing.TB, clock *Clock) ratelimit.Store

	// Share opens one more instance on the backend of a store that New
	// returned, as another process would. Nil for a store that lives in one
	// process: the cases about several instances then use one.
	Share func(t testing.TB, store ratelimit.Store, clock *Clock) ratelimit.Store

	// RealTime says that the store's clock can't be set: clock is nil, and
	// the cases that need an exact instant are left out.
	RealTime bool

	// MonotonicClock says that the store's clock can't go back, by
	// construction: the suite never sets it back in the life of one store, and
	// leaves out the cases and vectors that are about it. A store that reads a
	// server's clock must not set it.
	MonotonicClock bool
}

// Run tests a store against the whole contract, each case as a subtest with a
// store of its own. The cases do not run in parallel; Run itself may not run
// beside other tests of the same process, whose goroutines it would count.
func Run(t *testing.T, h Harness) {
	t.Helper()
	if h.New == nil {
		t.Fatal("storetest: Harness.New is nil: give it a function that opens an empty store")
	}
	runCases(realTest{t}, h, allCases())
}

// tester is what a case needs of a test. [realTest] gives it; so does the
// recorder with which this package's own tests watch the suite fail.
type tester interface {
	testing.TB
	run(name string, f func(tester)) bool
}

type realTest struct{ *testing.T }

func (t realTest) run(name string, f func(tester)) bool {
	t.Helper()
	return t.Run(name, func(t *testing.T) { f(realTest{t}) })
}

// needs says what a case can't do without.
type needs uint8

const (
	anyClock  needs = iota
	setClock        // a clock that the suite can set
	backwards       // one that it can also set back
)

// lacking names what the harness lacks of it, or is empty.
func (n needs) lacking(h Harness) string {
	switch {
	case n >= setClock && h.RealTime:
		return "a clock that can be set"
	case n == backwards && h.MonotonicClock:
		return "a clock that can go back"
	default:
		return ""
	}
}

// testCase is one rule of the contract. Its name is what follows Run's own in
// -run; why is printed when it fails.
type testCase struct {
	name  string
	needs needs
	why   string
	f     func(s *suite)
}

func allCases() []testCase {
	var all []testCase
	for _, group := range [][]testCase{
		vectorCases(), countingCases(), passingCases(), keyCases(), modeCases(), penaltyCases(), severalCases(), adjustCases(), settlingCases(),
		resetCases(), concurrencyCases(), argumentCases(), extremeCases(), randomCases(),
	} {
		all = append(all, group...)
	}
	return all
}

func runCases(t tester, h Harness, cases []testCase) {
	t.Helper()
	leftOut := make(map[string][]string)
	for _, c := range cases {
		if lack := c.needs.lacking(h); lack != "" {
			leftOut[lack] = append(leftOut[lack], c.name)
			continue
		}
		t.run(c.name, func(t tester) {
			defer func() {
				if t.Failed() {
					t.Logf("why: %s", c.why)
				}
			}()
			c.f(newSuite(t, h))
		})
	}
	for lack, names := range leftOut {
		t.Logf("storetest: left out for want of %s: %s", lack, strings.Join(names, ", "))
	}
}
