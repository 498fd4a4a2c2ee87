package middleware

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
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

// TestFieldsAlone shows that the floor answers with what Floodgate does.
func TestFieldsAlone(t *testing.T) {
	t.Parallel()
	for _, framework := range Frameworks {
		for quota, status := range map[int64]int{Plenty: http.StatusOK, few: http.StatusTooManyRequests} {
			var names [2][]string
			var bodies [2]int
			for i, name := range []string{FieldsAlone, Ours} {
				c, err := Named(framework + ": " + name)
				if err != nil {
					t.Fatal(err)
				}
				site, err := c.New(quota)
				if err != nil {
					t.Fatal(err)
				}
				for range 1 + few {
					response := site.answer(t)
					if names[i] = slices.Sorted(maps.Keys(response.Header)); response.StatusCode != status && c.Free {
						t.Errorf("%s, of %d: status %d", c.ID(), quota, response.StatusCode)
					}
					body, err := io.ReadAll(response.Body)
					if err := errors.Join(err, response.Body.Close()); err != nil {
						t.Fatal(err)
					}
					bodies[i] = len(body)
				}
			}
			if !slices.Equal(names[0], names[1]) || bodies[0] != bodies[1] {
				t.Errorf("%s, of %d: fields %v and a body of %d, Floodgate's %v and %d", framework, quota, names[0], bodies[0], names[1], bodies[1])
			}
		}
	}
}

// answer is the whole of what a request gets.
func (s *Site) answer(t *testing.T) *http.Response {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	if s.App != nil {
		response, err := s.App.Test(r)
		if err != nil {
			t.Fatal(err)
		}
		return response
	}
	w := httptest.NewRecorder()
	s.Handler.ServeHTTP(w, r)
	return w.Result()
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
