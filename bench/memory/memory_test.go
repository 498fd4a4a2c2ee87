package memory

import (
	"testing"
	"time"

	"github.com/go-floodgate/floodgate/bench/measure"
)

// TestLimits shows that what is compared limits: it allows what its limit says,
// then denies, and another key is another count.
func TestLimits(t *testing.T) {
	t.Parallel()
	for _, c := range All() {
		if c.Floor {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			const quota = 3
			store, err := c.New(Limit{Quota: quota, Window: time.Hour}, 10)
			if err != nil {
				t.Fatal(err)
			}
			defer store.close()
			decide := store.Decide()
			for n := range quota {
				if !decide("a") {
					t.Errorf("request %d of %d is denied", n+1, quota)
				}
			}
			if decide("a") {
				t.Errorf("request %d is allowed, by a limit of %d", quota+1, quota)
			}
			if !store.Decide()("b") {
				t.Error("another key is denied")
			}
		})
	}
}

// TestMeasure runs every scenario once.
func TestMeasure(t *testing.T) {
	var results measure.Results
	size := measure.Size{Rounds: 1, Each: time.Millisecond, Keys: 2000, Progress: func(text string) { t.Log(text) }}
	if err := Measure(&size, NewSession, &results); err != nil {
		t.Fatal(err)
	}
	for _, scenario := range []string{On(HotAllowed, 1), On(HotDenied, 2), On(Uniform, 2), On(Zipf, 1), On(Churn, 1), On(Churn, 2), overKeys(2), overGoroutines(64)} {
		for _, name := range []string{Ours, Sethvargo, Fiber} {
			if got := results.Of(scenario, name, measure.Nanoseconds); len(got) != size.Rounds || got.Median() <= 0 {
				t.Errorf("%s, %s: %v ns", scenario, name, got)
			}
		}
	}
	if got := results.Of(Heap, GrowingLog, HeapPerKey); got.Median() <= 0 {
		t.Errorf("a growing log takes %v bytes a key", got)
	}
}

// TestWrongAnswers shows that what does not limit is not timed.
func TestWrongAnswers(t *testing.T) {
	t.Parallel()
	lax := Contender{Name: "lax", New: keyText}
	s := session{contender: lax}
	if _, err := s.Do(measure.Order{Scenario: hotDenied, Processors: 1, For: time.Millisecond}); err == nil {
		t.Error("a limiter that denies nothing was timed as one that denies")
	}
}
