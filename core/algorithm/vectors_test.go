package algorithm_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

const vectors = "../storetest/testdata/vectors"

// A vector file, plain or below adjust/.
type vectorFile struct {
	Algorithm string
	Cases     []struct {
		Name   string
		Quota  int64
		Window int64 `json:"window_us"`
		Burst  int64
		Steps  [][]any
	}
}

func readVectors(t *testing.T, pattern string) []vectorFile {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(vectors, pattern))
	if err != nil || len(paths) != 5 {
		t.Fatalf("found %d vector files for %s, want 5 (%v)", len(paths), pattern, err)
	}
	files := make([]vectorFile, len(paths))
	for i, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		decoder := json.NewDecoder(strings.NewReader(string(text)))
		decoder.UseNumber()
		if err := decoder.Decode(&files[i]); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	return files
}

func limitOf(t *testing.T, name string, quota, window, burst int64) ratelimit.Limit {
	t.Helper()
	w := time.Duration(window) * time.Microsecond
	limit := map[string]ratelimit.Limit{
		"fixed_window":   ratelimit.FixedWindow(quota, w),
		"sliding_window": ratelimit.SlidingWindow(quota, w),
		"sliding_log":    ratelimit.SlidingLog(quota, w),
		"token_bucket":   ratelimit.TokenBucket(quota, w, burst),
		"leaky_bucket":   ratelimit.LeakyBucket(quota, w, burst),
	}[name]
	if err := limit.Validate(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return limit
}

func numbers(t *testing.T, fields []any) []int64 {
	t.Helper()
	out := make([]int64, len(fields))
	for i, f := range fields {
		n, err := f.(json.Number).Int64()
		if err != nil {
			t.Fatal(err)
		}
		out[i] = n
	}
	return out
}

// answer is a result as the vectors spell it: allowed, remaining, retry,
// reset, delay.
func answer(r ratelimit.Result) [5]int64 {
	a := [5]int64{0, r.Remaining, r.RetryAfter.Microseconds(), r.ResetAfter.Microseconds(), r.Delay.Microseconds()}
	if r.Allowed {
		a[0] = 1
	}
	if r.RetryAfter == ratelimit.Never {
		a[2] = -1
	}
	return a
}

func TestVectors(t *testing.T) {
	for _, file := range readVectors(t, "*.json") {
		for _, c := range file.Cases {
			t.Run(c.Name, func(t *testing.T) {
				limit := limitOf(t, file.Algorithm, c.Quota, c.Window, c.Burst)
				var s algorithm.State
				for i, fields := range c.Steps {
					f := numbers(t, fields)
					before := s
					looked := algorithm.Look(s, f[0], limit, f[1])
					var r ratelimit.Result
					s, r = algorithm.Step(s, f[0], limit, f[1])
					if got, want := answer(r), [5]int64(f[2:7]); got != want {
						t.Fatalf("step %d: %v from %+v\ngot  %v\nwant %v", i, f[:2], before, got, want)
					}
					if looked.Allowed != r.Allowed || looked.RetryAfter != r.RetryAfter || looked.Delay != r.Delay {
						t.Fatalf("step %d: Look says %+v, Step %+v", i, looked, r)
					}
				}
			})
		}
	}
}

func TestAdjustVectors(t *testing.T) {
	for _, file := range readVectors(t, "adjust/*.json") {
		for _, c := range file.Cases {
			t.Run(c.Name, func(t *testing.T) {
				limit := limitOf(t, file.Algorithm, c.Quota, c.Window, c.Burst)
				var s algorithm.State
				at, cost := make([]int64, len(c.Steps)), make([]int64, len(c.Steps))
				for i, fields := range c.Steps {
					f := numbers(t, fields[1:])
					before := s
					if fields[0] == "adjust" {
						s = algorithm.Adjust(s, f[0], limit, at[f[1]], cost[f[1]], f[2])
						continue
					}
					var r ratelimit.Result
					s, r = algorithm.Step(s, f[0], limit, f[1])
					at[i], cost[i] = r.At, f[1]
					if got, want := answer(r), [5]int64(f[2:7]); got != want {
						t.Fatalf("step %d: %v from %+v\ngot  %v\nwant %v", i, f[:2], before, got, want)
					}
				}
			})
		}
	}
}

func TestMicrosSaturate(t *testing.T) {
	limit := ratelimit.TokenBucket(1, 366*24*time.Hour, 100)
	_, r := algorithm.Force(algorithm.State{}, 1, limit, math.MaxInt64)
	if r.ResetAfter != ratelimit.Never || r.Remaining != 0 || !r.Allowed {
		t.Errorf("forced past all bounds: %+v", r)
	}
}
