package middleware

import (
	"net/http"
	"testing"
	"time"

	"github.com/go-floodgate/floodgate/bench/measure"
)

// TestLimits shows that what is compared limits: it lets through what its quota
// says, then refuses with 429.
func TestLimits(t *testing.T) {
	t.Parallel()
	for _, c := range All() {
		if c.Free {
			continue
		}
		t.Run(c.ID(), func(t *testing.T) {
			t.Parallel()
			const quota = 3
			site, err := c.New(quota)
			if err != nil {
				t.Fatal(err)
			}
			serve, err := site.serve()
			if err != nil {
				t.Fatal(err)
			}
			for n := range quota {
				if status := serve(); status != http.StatusOK {
					t.Errorf("request %d of %d: status %d", n+1, quota, status)
				}
			}
			if status := serve(); status != http.StatusTooManyRequests {
				t.Errorf("request %d, by a quota of %d: status %d", quota+1, quota, status)
			}
		})
	}
}

// TestMeasure runs every scenario once.
func TestMeasure(t *testing.T) {
	var results measure.Results
	size := measure.Size{Rounds: 1, Each: time.Millisecond, Progress: func(string) {}}
	if err := Measure(&size, NewSession, &results); err != nil {
		t.Fatal(err)
	}
	for _, framework := range Frameworks {
		for _, what := range []string{allowed, denied} {
			if got := results.Of(Scenario(framework, what), Ours, Added); len(got) != 1 {
				t.Errorf("%s, %s: added %v ns", framework, what, got)
			}
		}
	}
	if s := Section(&results); len(s.Comparisons) != 2*len(Frameworks) {
		t.Errorf("%d tables", len(s.Comparisons))
	}
}
