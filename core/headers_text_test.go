package ratelimit_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// TestTextsOfNumbers tells every number as it is: those whose texts are ready and
// those around them, and seconds that share a place among the ready ones.
func TestTextsOfNumbers(t *testing.T) {
	const quota = 5000
	limit := ratelimit.FixedWindow(quota, time.Hour)
	for _, remaining := range []int64{0, 1, 999, 1023, 1024, 1025, 4999} {
		for _, second := range []int64{1_700_000_000, 1_700_000_256, 1_700_000_512, 1_700_000_000} {
			result := ratelimit.Result{Allowed: true, Limit: quota, Remaining: remaining, ResetAfter: time.Second, At: (second - 1) * 1e6}
			d := ratelimit.Decision{Allowed: true, Policy: "p", Result: result}.MadeOf(ratelimit.Part{Name: "p", Limit: limit, Cost: 1, Result: result})
			// What remains is a part of RateLimit's text, if that is sent.
			for _, draft := range []ratelimit.Draft{ratelimit.Draft11, ratelimit.NoDraft} {
				h := http.Header{}
				ratelimit.HeaderConfig{Draft: draft}.Apply(h, d)
				for name, want := range map[string]int64{
					"X-Ratelimit-Limit": quota, "X-Ratelimit-Remaining": remaining, "X-Ratelimit-Reset": second,
				} {
					if got := h.Get(name); got != strconv.FormatInt(want, 10) {
						t.Errorf("%s is %q, want %d", name, got, want)
					}
				}
			}
		}
	}
}
