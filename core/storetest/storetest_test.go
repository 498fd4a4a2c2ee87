package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

func TestConformance(t *testing.T) {
	Run(t, harnessOf(correct))
}

// TestConformanceInstances has several instances on one backend.
func TestConformanceInstances(t *testing.T) {
	h := sharing(func(b *book) *book { return b })
	runCases(realTest{t}, h, append(concurrencyCases(), settlingCases()...))
}

// sharing is a harness whose further instances are what share makes of the
// first one's book.
func sharing(share func(*book) *book) Harness {
	h := harnessOf(func(b *book) ratelimit.Store { return &instance{b} })
	h.Share = func(_ testing.TB, store ratelimit.Store, _ *Clock) ratelimit.Store {
		return &instance{share(store.(*instance).book)}
	}
	return h
}

type instance struct{ *book }

func TestConformanceRealTime(t *testing.T) {
	h := harnessOf(correct)
	h.RealTime = true
	Run(t, h)
}

// forwards is a store that can't bear its clock to go back.
type forwards struct {
	*book
	latest int64
}

func (f *forwards) Take(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
	f.mu.Lock()
	now := f.now()
	back := f.latest - now
	f.latest = max(f.latest, now)
	f.mu.Unlock()
	if back > 0 {
		return fmt.Errorf("the clock went back by %dµs", back)
	}
	return f.book.Take(ctx, charges, results)
}

func TestConformanceMonotonic(t *testing.T) {
	h := harnessOf(func(b *book) ratelimit.Store { return &forwards{book: b} })
	h.MonotonicClock = true
	Run(t, h)
}

// Whatever a harness can't do has to be seen in the log.
func TestLeftOutIsSaid(t *testing.T) {
	quick := func(names ...string) (cases []testCase) {
		for _, c := range allCases() {
			if slices.Contains(names, c.name) {
				cases = append(cases, c)
			}
		}
		return cases
	}
	h := harnessOf(correct)
	h.RealTime = true
	r := record(t, func(t tester) { runCases(t, h, quick("boundary", "count", "adjust_vectors")) })
	if want := "left out for want of a clock that can be set: adjust_vectors, boundary"; !strings.Contains(r.output(), want) {
		t.Errorf("the log of a store in real time says %q, want %q in it", r.output(), want)
	}
	h = harnessOf(correct)
	h.MonotonicClock = true
	r = record(t, func(t tester) { runCases(t, h, quick("vectors", "clock_back")) })
	for _, want := range []string{"left out for want of a clock that can go back: clock_back", "left out 81 cases in which the clock goes back"} {
		if !strings.Contains(r.output(), want) {
			t.Errorf("the log of a store with a monotonic clock says %q, want %q in it", r.output(), want)
		}
	}
	if r.failed {
		t.Errorf("a case failed: %s", r.output())
	}
}

func TestCaseNames(t *testing.T) {
	seen := make(map[string]bool)
	for _, c := range allCases() {
		if seen[c.name] || c.why == "" || c.name != strings.ToLower(c.name) || strings.ContainsAny(c.name, " /") {
			t.Errorf("case %q: its name must be one lower-case word of its own, and it must say why it is there", c.name)
		}
		seen[c.name] = true
	}
}

func BenchmarkBook(b *testing.B) {
	Bench(b, func(testing.TB) ratelimit.Store { return newBook(nil) })
}
