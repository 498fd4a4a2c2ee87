package ratelimit_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// FuzzHeaderSerialiser renders any name, limit and answer in every form, on top
// of any fields that are there. Whatever comes out is made of well-formed
// fields that a strict reader takes and would write the same, and of one line
// each; a name that can't be sent is not sent in part.
func FuzzHeaderSerialiser(f *testing.F) {
	const minute, hour = int64(time.Minute), int64(time.Hour)
	f.Add("per-ip", uint8(1), int64(100), minute, int64(0), int64(100), int64(99), int64(0), minute, int64(start), int64(1), true, uint8(0), "", "")
	f.Add("plan", uint8(4), int64(1000), hour, int64(50), int64(50), int64(0), int64(3.6e9), hour, int64(start), int64(5), false, uint8(1), `"a";r=5;t=1`, "7")
	f.Add("queue", uint8(5), int64(10), int64(2e9), int64(4), int64(5), int64(0), int64(0), int64(1e9), int64(0), int64(1), true, uint8(2), "limit=1, remaining=0, reset=1", "")
	f.Add("shut", uint8(2), int64(0), int64(1e9), int64(0), int64(0), int64(0), int64(ratelimit.Never), int64(ratelimit.Never), int64(start), int64(1), false, uint8(3), "", "1, 2")
	f.Add(`say "hi" \o/`, uint8(3), int64(5), int64(1), int64(0), int64(5), int64(-1), int64(-1), int64(-1), int64(-1), int64(-1), false, uint8(4), "junk", "Fri, 31 Dec 1999 23:59:59 GMT")
	f.Add("a\r\nSet-Cookie: x", uint8(4), int64(1<<62), int64(1<<62), int64(1<<62), int64(1<<62), int64(1<<62), int64(1<<62), int64(1<<62), int64(1<<62), int64(1<<62), true, uint8(0), "", "")
	f.Fuzz(func(t *testing.T, name string, algorithm uint8, quota, window, burst, limit, remaining, retry, reset, at, cost int64, allowed bool, draft uint8, rateLimit, retryAfter string) {
		config := ratelimit.HeaderConfig{
			Draft: ratelimit.Draft(draft) % (ratelimit.NoDraft + 1), XRateLimit: ratelimit.XRateLimit(draft>>4) % (ratelimit.NoXRateLimit + 1), ExposeHeaders: draft&8 > 0,
		}
		d := ratelimit.Decision{Allowed: allowed, Policy: name, RetryAfter: time.Duration(retry)}
		if !allowed {
			d.Reason = ratelimit.ReasonRateLimited
		}
		made := d.MadeOf(ratelimit.Part{
			Name: name, Cost: cost,
			Limit:  ratelimit.Limit{Algorithm: ratelimit.Algorithm(algorithm % 7), Quota: quota, Window: time.Duration(window), Burst: burst},
			Result: ratelimit.Result{Allowed: allowed, Limit: limit, Remaining: remaining, RetryAfter: time.Duration(retry), ResetAfter: time.Duration(reset), At: at},
		})
		h := http.Header{}
		config.Apply(h, made)
		checkWellFormed(t, h, config)
		if !allowed {
			for _, form := range []ratelimit.BodyForm{ratelimit.BodyJSON, ratelimit.BodyProblem} {
				contentType, body, status := ratelimit.BodyOf(made, ratelimit.HeaderConfig{Body: form})
				checkBody(t, contentType, body, status)
			}
		}
		checkMerged(t, config, made, rateLimit, retryAfter)
	})
}

// checkMerged applies d where there are fields already. Their text is the
// server's own, so only its lines and what this package adds are looked at.
func checkMerged(t *testing.T, config ratelimit.HeaderConfig, d *ratelimit.Decision, rateLimit, retryAfter string) {
	t.Helper()
	alone, both, foreign := http.Header{}, http.Header{}, http.Header{}
	for _, h := range []http.Header{both, foreign} {
		h["Ratelimit"], h["Retry-After"] = []string{rateLimit}, []string{retryAfter}
	}
	config.Apply(alone, d)
	config.Apply(both, d)
	config.Apply(ratelimit.Foreign{Fields: foreign}, d)
	if written(both) != written(foreign) {
		t.Errorf("fields are\n%s\nand through another kind of header\n%s", written(both), written(foreign))
	}
	for name := range alone {
		if len(both[name]) != 1 {
			t.Errorf("%s has the lines %q", name, both[name])
		}
	}
	if ours := alone.Get("RateLimit"); ours != "" && config.Draft <= ratelimit.Draft12Preview && !strings.HasSuffix(both.Get("RateLimit"), ours) {
		t.Errorf("RateLimit is %q without %q", both.Get("RateLimit"), ours)
	}
}
