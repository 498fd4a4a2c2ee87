package ratelimit_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/internal/sfv"
)

// start is a quarter of a second past a Unix second, so that a clock cut off
// or rounded the wrong way shows.
const start = 1_700_000_000_250_000

var (
	perIP  = ratelimit.PerMinute(100)
	plan   = ratelimit.TokenBucket(1000, time.Hour, 50)
	queue  = ratelimit.LeakyBucket(10, 2*time.Second, 4)
	odd    = ratelimit.FixedWindow(5, 1500*time.Millisecond)
	denied = ratelimit.Result{Limit: 100, RetryAfter: 4_000_001 * time.Microsecond, ResetAfter: 60 * time.Second, At: start}
)

func allowed(limit, remaining int64, reset time.Duration) ratelimit.Result {
	return ratelimit.Result{Allowed: true, Limit: limit, Remaining: remaining, ResetAfter: reset, At: start}
}

// golden says of decisions which fields and which bodies they are answered
// with, byte for byte. Fields are sorted; there are no others.
var golden = []struct {
	name     string
	config   ratelimit.HeaderConfig
	decision *ratelimit.Decision
	fields   string
	json     string
	problem  string
}{
	{
		name: "one policy",
		decision: ratelimit.Decision{Allowed: true, Policy: "per-ip"}.MadeOf(
			ratelimit.Part{Name: "per-ip", Limit: perIP, Cost: 1, Result: allowed(100, 99, 10*time.Second)}),
		fields: `Ratelimit: "per-ip";r=99;t=10
			Ratelimit-Policy: "per-ip";q=100;w=60
			X-Ratelimit-Limit: 100
			X-Ratelimit-Remaining: 99
			X-Ratelimit-Reset: 1700000011`,
	},
	{
		// 49*3600/1000 = 176.4; the whole bucket is there after 3.6 s.
		name: "two policies, the bucket binds",
		decision: ratelimit.Decision{Allowed: true, Policy: "plan"}.MadeOf(
			ratelimit.Part{Name: "per-ip", Limit: perIP, Cost: 1, Result: allowed(100, 99, 10*time.Second)},
			ratelimit.Part{Name: "plan", Limit: plan, Cost: 1, Result: allowed(50, 49, 3600*time.Millisecond)}),
		fields: `Ratelimit: "per-ip";r=99;t=10, "plan";r=49;t=177
			Ratelimit-Policy: "per-ip";q=100;w=60, "plan";q=1000;w=3600;floodgate-burst=50
			X-Ratelimit-Limit: 50
			X-Ratelimit-Remaining: 49
			X-Ratelimit-Reset: 1700000004`,
	},
	{
		// All 5 slots taken: 1 s to drain, the next is free after 0.2 s.
		name: "a leaky bucket's last place",
		decision: ratelimit.Decision{Allowed: true, Policy: "leaky_bucket"}.MadeOf(
			ratelimit.Part{Name: "leaky_bucket", Limit: queue, Cost: 1, Result: allowed(5, 0, time.Second)}),
		fields: `Ratelimit: "leaky_bucket";r=0;t=1
			Ratelimit-Policy: "leaky_bucket";q=10;w=2;floodgate-burst=4
			X-Ratelimit-Limit: 5
			X-Ratelimit-Remaining: 0
			X-Ratelimit-Reset: 1700000002`,
	},
	{
		// A token takes 3.6 s: when 49*3.6 s are left, 0.7 s from now, one is there.
		name: "an empty token bucket's next token",
		decision: ratelimit.Decision{Allowed: true, Policy: "plan"}.MadeOf(
			ratelimit.Part{Name: "plan", Limit: plan, Cost: 1, Result: allowed(50, 0, 177_100*time.Millisecond)}),
		fields: `Ratelimit: "plan";r=0;t=1
			Ratelimit-Policy: "plan";q=1000;w=3600;floodgate-burst=50
			X-Ratelimit-Limit: 50
			X-Ratelimit-Remaining: 0
			X-Ratelimit-Reset: 1700000178`,
	},
	{
		name: "a window that is no whole second",
		decision: ratelimit.Decision{Allowed: true, Policy: "odd"}.MadeOf(
			ratelimit.Part{Name: "odd", Limit: odd, Cost: 1, Result: allowed(5, 4, 1_400_000*time.Microsecond)}),
		fields: `Ratelimit: "odd";r=4;t=2
			Ratelimit-Policy: "odd";q=5;w=2
			X-Ratelimit-Limit: 5
			X-Ratelimit-Remaining: 4
			X-Ratelimit-Reset: 1700000002`,
	},
	{
		// Faults row 152: a zero is a value.
		name: "a look at a fresh key on a whole second",
		decision: ratelimit.Decision{Allowed: true, Policy: "per-ip"}.MadeOf(
			ratelimit.Part{Name: "per-ip", Limit: perIP, Result: ratelimit.Result{Allowed: true, Limit: 100, Remaining: 100}}),
		fields: `Ratelimit: "per-ip";r=100;t=0
			Ratelimit-Policy: "per-ip";q=100;w=60
			X-Ratelimit-Limit: 100
			X-Ratelimit-Remaining: 100
			X-Ratelimit-Reset: 0`,
	},
	{
		name: "hidden and shadow policies are not told",
		decision: ratelimit.Decision{Allowed: true, Policy: "per-ip"}.MadeOf(
			ratelimit.Part{Name: "secret", Limit: perIP, Hidden: true, Result: allowed(100, 1, time.Minute)},
			ratelimit.Part{Name: "trial", Limit: perIP, Shadow: true, Result: denied},
			ratelimit.Part{Name: "per-ip", Limit: perIP, Cost: 1, Result: allowed(100, 50, time.Minute)}),
		fields: `Ratelimit: "per-ip";r=50;t=60
			Ratelimit-Policy: "per-ip";q=100;w=60
			X-Ratelimit-Limit: 100
			X-Ratelimit-Remaining: 50
			X-Ratelimit-Reset: 1700000061`,
	},
	{
		name: "nothing to tell: all hidden",
		decision: ratelimit.Decision{Allowed: true}.MadeOf(
			ratelimit.Part{Name: "secret", Limit: perIP, Hidden: true, Result: allowed(100, 1, time.Minute)}),
	},
	{
		name:     "nothing to tell: exempt",
		config:   ratelimit.HeaderConfig{ExposeHeaders: true},
		decision: ratelimit.Decision{Allowed: true, Reason: ratelimit.ReasonExempt}.MadeOf(),
	},
	{
		name: "nothing to tell: unlimited",
		decision: ratelimit.Decision{Allowed: true}.MadeOf(
			ratelimit.Part{Name: "plan", Limit: ratelimit.Unlimited, Result: ratelimit.Result{Allowed: true}}),
	},
	{
		name: "failed open",
		decision: ratelimit.Decision{Allowed: true, Reason: ratelimit.ReasonFailedOpen, Degraded: true}.MadeOf(
			ratelimit.Part{Name: "per-ip", Limit: perIP, Cost: 1, Result: ratelimit.Result{Allowed: true}},
			ratelimit.Part{Name: "plan", Limit: plan, Cost: 1, Result: ratelimit.Result{Allowed: true}}),
		fields: `Ratelimit-Policy: "per-ip";q=100;w=60, "plan";q=1000;w=3600;floodgate-burst=50`,
	},
	{
		// Faults rows 146, 149 and 154. Only what denied is in RateLimit.
		name: "denied by one of two",
		decision: ratelimit.Decision{Reason: ratelimit.ReasonRateLimited, Policy: "per-ip", RetryAfter: denied.RetryAfter, Result: denied}.MadeOf(
			ratelimit.Part{Name: "per-ip", Limit: perIP, Cost: 1, Result: denied},
			ratelimit.Part{Name: "plan", Limit: plan, Cost: 1, Result: allowed(50, 50, 0)}),
		fields: `Cache-Control: no-store
			Ratelimit: "per-ip";r=0;t=5
			Ratelimit-Policy: "per-ip";q=100;w=60, "plan";q=1000;w=3600;floodgate-burst=50
			Retry-After: 5
			X-Ratelimit-Limit: 100
			X-Ratelimit-Remaining: 0
			X-Ratelimit-Reset: 1700000061`,
		json:    `{"error":"rate_limit_exceeded","message":"Too many requests. Try again in 5 seconds.","limit":100,"remaining":0,"reset":1700000061,"retry_after":5,"policy":"per-ip"}`,
		problem: `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded","status":429,"detail":"Too many requests. Try again in 5 seconds.","violated-policies":["per-ip"]}`,
	},
	{
		// A cost of 5 with 3 left: what is left is told as it is.
		name: "denied by both, quota left",
		decision: ratelimit.Decision{Reason: ratelimit.ReasonRateLimited, Policy: "plan", RetryAfter: 7200 * time.Millisecond}.MadeOf(
			ratelimit.Part{Name: "per-ip", Limit: perIP, Cost: 5, Result: denied},
			ratelimit.Part{Name: "plan", Limit: plan, Cost: 5, Result: ratelimit.Result{Limit: 50, Remaining: 3, RetryAfter: 7200 * time.Millisecond, ResetAfter: 169_200 * time.Millisecond, At: start}}),
		fields: `Cache-Control: no-store
			Ratelimit: "per-ip";r=0;t=5, "plan";r=3;t=8
			Ratelimit-Policy: "per-ip";q=100;w=60, "plan";q=1000;w=3600;floodgate-burst=50
			Retry-After: 8
			X-Ratelimit-Limit: 50
			X-Ratelimit-Remaining: 3
			X-Ratelimit-Reset: 1700000170`,
		json:    `{"error":"rate_limit_exceeded","message":"Too many requests. Try again in 8 seconds.","limit":50,"remaining":3,"reset":1700000170,"retry_after":8,"policy":"plan"}`,
		problem: `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded","status":429,"detail":"Too many requests. Try again in 8 seconds.","violated-policies":["per-ip","plan"]}`,
	},
	{
		name: "never",
		decision: ratelimit.Decision{Reason: ratelimit.ReasonRateLimited, Policy: "per-ip", RetryAfter: ratelimit.Never}.MadeOf(
			ratelimit.Part{Name: "per-ip", Limit: perIP, Cost: 101, Result: ratelimit.Result{Limit: 100, Remaining: 9, RetryAfter: ratelimit.Never, At: start}}),
		fields: `Cache-Control: no-store
			Ratelimit: "per-ip";r=9
			Ratelimit-Policy: "per-ip";q=100;w=60
			X-Ratelimit-Limit: 100
			X-Ratelimit-Remaining: 9
			X-Ratelimit-Reset: 1700000001`,
		json:    `{"error":"rate_limit_exceeded","message":"Too many requests. This one exceeds what the limit ever allows; waiting does not help.","limit":100,"remaining":9,"reset":1700000001,"retry_after":null,"policy":"per-ip"}`,
		problem: `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded","status":429,"detail":"Too many requests. This one exceeds what the limit ever allows; waiting does not help.","violated-policies":["per-ip"]}`,
	},
	{
		name: "a quota of zero, in debt for ever",
		decision: ratelimit.Decision{Reason: ratelimit.ReasonRateLimited, Policy: "shut", RetryAfter: ratelimit.Never}.MadeOf(
			ratelimit.Part{Name: "shut", Limit: ratelimit.TokenBucket(0, time.Second, 1), Cost: 1, Result: ratelimit.Result{Limit: 1, RetryAfter: ratelimit.Never, ResetAfter: ratelimit.Never, At: start}}),
		fields: `Cache-Control: no-store
			Ratelimit: "shut";r=0
			Ratelimit-Policy: "shut";q=0;w=1;floodgate-burst=1
			X-Ratelimit-Limit: 1
			X-Ratelimit-Remaining: 0`,
		json:    `{"error":"rate_limit_exceeded","message":"Too many requests. This one exceeds what the limit ever allows; waiting does not help.","limit":1,"remaining":0,"reset":null,"retry_after":null,"policy":"shut"}`,
		problem: `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded","status":429,"detail":"Too many requests. This one exceeds what the limit ever allows; waiting does not help.","violated-policies":["shut"]}`,
	},
	{
		name: "denied by a hidden policy",
		decision: ratelimit.Decision{Reason: ratelimit.ReasonRateLimited, RetryAfter: denied.RetryAfter, Result: denied}.MadeOf(
			ratelimit.Part{Name: "secret", Limit: perIP, Hidden: true, Cost: 1, Result: denied},
			ratelimit.Part{Name: "plan", Limit: plan, Cost: 1, Result: allowed(50, 50, 0)}),
		fields: `Cache-Control: no-store
			Ratelimit-Policy: "plan";q=1000;w=3600;floodgate-burst=50
			Retry-After: 5`,
		json:    `{"error":"rate_limit_exceeded","message":"Too many requests. Try again in 5 seconds.","limit":null,"remaining":null,"reset":null,"retry_after":5,"policy":"unadvertised"}`,
		problem: `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded","status":429,"detail":"Too many requests. Try again in 5 seconds.","violated-policies":["unadvertised"]}`,
	},
	{
		// The wait is the hidden policy's, everything else is not.
		name: "denied by a hidden policy and another",
		decision: ratelimit.Decision{Reason: ratelimit.ReasonRateLimited, Policy: "per-ip", RetryAfter: time.Minute, Result: denied}.MadeOf(
			ratelimit.Part{Name: "secret", Limit: plan, Hidden: true, Cost: 1, Result: ratelimit.Result{Limit: 50, RetryAfter: time.Minute, ResetAfter: time.Hour, At: start}},
			ratelimit.Part{Name: "per-ip", Limit: perIP, Cost: 1, Result: denied}),
		fields: `Cache-Control: no-store
			Ratelimit: "per-ip";r=0;t=5
			Ratelimit-Policy: "per-ip";q=100;w=60
			Retry-After: 60
			X-Ratelimit-Limit: 100
			X-Ratelimit-Remaining: 0
			X-Ratelimit-Reset: 1700000061`,
		json:    `{"error":"rate_limit_exceeded","message":"Too many requests. Try again in 60 seconds.","limit":100,"remaining":0,"reset":1700000061,"retry_after":60,"policy":"per-ip"}`,
		problem: `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded","status":429,"detail":"Too many requests. Try again in 60 seconds.","violated-policies":["per-ip"]}`,
	},
	{
		// Faults row 148: a wait that is over is still told as one to wait.
		name: "a wait of nothing",
		decision: ratelimit.Decision{Reason: ratelimit.ReasonRateLimited, Policy: "per-ip", RetryAfter: -time.Second}.MadeOf(
			ratelimit.Part{Name: "per-ip", Limit: perIP, Cost: 1, Result: ratelimit.Result{Limit: 100, Remaining: -1, RetryAfter: -time.Second, ResetAfter: -time.Second, At: start}}),
		fields: `Cache-Control: no-store
			Ratelimit: "per-ip";r=0;t=1
			Ratelimit-Policy: "per-ip";q=100;w=60
			Retry-After: 1
			X-Ratelimit-Limit: 100
			X-Ratelimit-Remaining: 0
			X-Ratelimit-Reset: 1700000001`,
		json:    `{"error":"rate_limit_exceeded","message":"Too many requests. Try again in 1 second.","limit":100,"remaining":0,"reset":1700000001,"retry_after":1,"policy":"per-ip"}`,
		problem: `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded","status":429,"detail":"Too many requests. Try again in 1 second.","violated-policies":["per-ip"]}`,
	},
	{
		name:     "failed closed",
		decision: ratelimit.Decision{Reason: ratelimit.ReasonFailedClosed, Degraded: true, Err: fmt.Errorf("dial tcp 10.0.0.5:6379")}.MadeOf(),
		fields: `Cache-Control: no-store
			Retry-After: 1`,
		json:    `{"error":"rate_limiter_unavailable","message":"The service cannot take requests at the moment. Try again in 1 second.","limit":null,"remaining":null,"reset":null,"retry_after":1,"policy":null}`,
		problem: `{"type":"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity","title":"Temporary Reduced Capacity","status":503,"detail":"The service cannot take requests at the moment. Try again in 1 second."}`,
	},
	{
		name:     "canceled",
		decision: ratelimit.Decision{Reason: ratelimit.ReasonCanceled, Err: fmt.Errorf("context canceled")}.MadeOf(),
		fields:   `Cache-Control: no-store`,
		json:     `{"error":"request_canceled","message":"The request ended before it could be served.","limit":null,"remaining":null,"reset":null,"retry_after":null,"policy":null}`,
		problem:  `{"type":"about:blank","title":"Service Unavailable","status":503,"detail":"The request ended before it could be served."}`,
	},
	{
		name: "the largest numbers",
		decision: ratelimit.Decision{Allowed: true, Policy: "max"}.MadeOf(
			ratelimit.Part{Name: "max", Limit: ratelimit.FixedWindow(ratelimit.MaxQuota, ratelimit.MaxWindow), Cost: 1, Result: ratelimit.Result{
				Allowed: true, Limit: 1<<63 - 1, Remaining: 1<<63 - 1, ResetAfter: ratelimit.Never - 1, At: 1<<63 - 1}}),
		fields: `Ratelimit: "max";r=999999999999999;t=9223372037
			Ratelimit-Policy: "max";q=999999999999999;w=31622400
			X-Ratelimit-Limit: 999999999999999
			X-Ratelimit-Remaining: 999999999999999
			X-Ratelimit-Reset: 9232595408892`,
	},
	{
		name: "a name with everything a String may hold",
		decision: ratelimit.Decision{Reason: ratelimit.ReasonRateLimited, Policy: `say "hi", \o/;q=1`, RetryAfter: time.Second}.MadeOf(
			ratelimit.Part{Name: `say "hi", \o/;q=1`, Limit: ratelimit.PerSecond(1), Cost: 1, Result: ratelimit.Result{Limit: 1, RetryAfter: time.Second, ResetAfter: time.Second, At: start}}),
		fields: `Cache-Control: no-store
			Ratelimit: "say \"hi\", \\o/;q=1";r=0;t=1
			Ratelimit-Policy: "say \"hi\", \\o/;q=1";q=1;w=1
			Retry-After: 1
			X-Ratelimit-Limit: 1
			X-Ratelimit-Remaining: 0
			X-Ratelimit-Reset: 1700000002`,
		json:    `{"error":"rate_limit_exceeded","message":"Too many requests. Try again in 1 second.","limit":1,"remaining":0,"reset":1700000002,"retry_after":1,"policy":"say \"hi\", \\o/;q=1"}`,
		problem: `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded","status":429,"detail":"Too many requests. Try again in 1 second.","violated-policies":["say \"hi\", \\o/;q=1"]}`,
	},
	{
		name:     "draft 12",
		config:   ratelimit.HeaderConfig{Draft: ratelimit.Draft12Preview},
		decision: twoAllowed(),
		fields: `Ratelimit: "per-ip";a=99;w=10;c=5, "plan";a=49;w=177;c=5
			Ratelimit-Policy: "per-ip";q=100;w=60, "plan";q=1000;w=3600;floodgate-burst=50
			X-Ratelimit-Limit: 50
			X-Ratelimit-Remaining: 49
			X-Ratelimit-Reset: 1700000004`,
	},
	{
		name:     "draft 07",
		config:   ratelimit.HeaderConfig{Draft: ratelimit.Draft07},
		decision: twoAllowed(),
		fields: `Ratelimit: limit=50, remaining=49, reset=4
			Ratelimit-Policy: 100;w=60, 1000;w=3600;floodgate-burst=50
			X-Ratelimit-Limit: 50
			X-Ratelimit-Remaining: 49
			X-Ratelimit-Reset: 1700000004`,
	},
	{
		name:     "draft 06 and a delta",
		config:   ratelimit.HeaderConfig{Draft: ratelimit.Draft06, XRateLimit: ratelimit.ResetDelta},
		decision: twoAllowed(),
		fields: `Ratelimit-Limit: 50
			Ratelimit-Policy: 100;w=60, 1000;w=3600;floodgate-burst=50
			Ratelimit-Remaining: 49
			Ratelimit-Reset: 4
			X-Ratelimit-Limit: 50
			X-Ratelimit-Remaining: 49
			X-Ratelimit-Reset: 4`,
	},
	{
		name:     "no draft",
		config:   ratelimit.HeaderConfig{Draft: ratelimit.NoDraft},
		decision: twoAllowed(),
		fields: `X-Ratelimit-Limit: 50
			X-Ratelimit-Remaining: 49
			X-Ratelimit-Reset: 1700000004`,
	},
	{
		name:     "no X-RateLimit, exposed",
		config:   ratelimit.HeaderConfig{XRateLimit: ratelimit.NoXRateLimit, ExposeHeaders: true},
		decision: twoAllowed(),
		fields: `Access-Control-Expose-Headers: RateLimit, RateLimit-Policy, Retry-After
			Ratelimit: "per-ip";r=99;t=10, "plan";r=49;t=177
			Ratelimit-Policy: "per-ip";q=100;w=60, "plan";q=1000;w=3600;floodgate-burst=50`,
	},
	{
		name:     "none at all",
		config:   ratelimit.HeaderConfig{Draft: ratelimit.NoDraft, XRateLimit: ratelimit.NoXRateLimit, ExposeHeaders: true},
		decision: twoAllowed(),
	},
	{
		// reset of these drafts is the same instant as Retry-After.
		name:   "draft 06 denied",
		config: ratelimit.HeaderConfig{Draft: ratelimit.Draft06, XRateLimit: ratelimit.NoXRateLimit, ExposeHeaders: true},
		decision: ratelimit.Decision{Reason: ratelimit.ReasonRateLimited, Policy: "per-ip", RetryAfter: denied.RetryAfter, Result: denied}.MadeOf(
			ratelimit.Part{Name: "per-ip", Limit: perIP, Cost: 1, Result: denied}),
		fields: `Access-Control-Expose-Headers: RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, RateLimit-Policy, Retry-After
			Cache-Control: no-store
			Ratelimit-Limit: 100
			Ratelimit-Policy: 100;w=60
			Ratelimit-Remaining: 0
			Ratelimit-Reset: 5
			Retry-After: 5`,
		json:    `{"error":"rate_limit_exceeded","message":"Too many requests. Try again in 5 seconds.","limit":100,"remaining":0,"reset":1700000061,"retry_after":5,"policy":"per-ip"}`,
		problem: `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded","status":429,"detail":"Too many requests. Try again in 5 seconds.","violated-policies":["per-ip"]}`,
	},
	{
		name:   "draft 07 never",
		config: ratelimit.HeaderConfig{Draft: ratelimit.Draft07, XRateLimit: ratelimit.ResetDelta},
		decision: ratelimit.Decision{Reason: ratelimit.ReasonRateLimited, Policy: "shut", RetryAfter: ratelimit.Never}.MadeOf(
			ratelimit.Part{Name: "shut", Limit: ratelimit.TokenBucket(0, time.Second, 1), Cost: 1, Result: ratelimit.Result{Limit: 1, RetryAfter: ratelimit.Never, ResetAfter: ratelimit.Never, At: start}}),
		fields: `Cache-Control: no-store
			Ratelimit: limit=1, remaining=0, reset=999999999999999
			Ratelimit-Policy: 0;w=1;floodgate-burst=1
			X-Ratelimit-Limit: 1
			X-Ratelimit-Remaining: 0`,
		json:    `{"error":"rate_limit_exceeded","message":"Too many requests. This one exceeds what the limit ever allows; waiting does not help.","limit":1,"remaining":0,"reset":null,"retry_after":null,"policy":"shut"}`,
		problem: `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded","status":429,"detail":"Too many requests. This one exceeds what the limit ever allows; waiting does not help.","violated-policies":["shut"]}`,
	},
}

func twoAllowed() *ratelimit.Decision {
	return ratelimit.Decision{Allowed: true, Policy: "plan"}.MadeOf(
		ratelimit.Part{Name: "per-ip", Limit: perIP, Cost: 5, Result: allowed(100, 99, 10*time.Second)},
		ratelimit.Part{Name: "plan", Limit: plan, Cost: 5, Result: allowed(50, 49, 3600*time.Millisecond)})
}

// written is a header as golden writes it.
func written(h http.Header) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			all = append(all, name+": "+value)
		}
	}
	return strings.Join(all, "\n")
}

// flush takes the indentation off a text of golden.
func flush(text string) string { return strings.ReplaceAll(text, "\n\t\t\t", "\n") }

func TestGoldenFields(t *testing.T) {
	for _, c := range golden {
		t.Run(c.name, func(t *testing.T) {
			native := http.Header{}
			c.config.Apply(native, c.decision)
			if got, want := written(native), flush(c.fields); got != want {
				t.Errorf("fields are\n%s\nwant\n%s", got, want)
			}
			foreign := http.Header{}
			c.config.Apply(ratelimit.Foreign{Fields: foreign}, c.decision)
			if got, want := written(foreign), written(native); got != want {
				t.Errorf("through another kind of header the fields are\n%s\nnot\n%s", got, want)
			}
			checkWellFormed(t, native, c.config)
		})
	}
}

func TestGoldenBodies(t *testing.T) {
	for _, c := range golden {
		t.Run(c.name, func(t *testing.T) {
			for form, want := range map[ratelimit.BodyForm]string{ratelimit.BodyJSON: c.json, ratelimit.BodyProblem: c.problem} {
				contentType, body, status := ratelimit.BodyOf(c.decision, ratelimit.HeaderConfig{Body: form})
				if want == "" {
					if contentType != "" || body != "" || status != 0 {
						t.Errorf("an allowed request is answered %d %s %s", status, contentType, body)
					}
					continue
				}
				if body != want+"\n" {
					t.Errorf("body is\n%s\nwant\n%s", body, want)
				}
				checkBody(t, contentType, body, status)
			}
		})
	}
}

// checkWellFormed holds fields against the rules of the drafts, by a reader
// that shares no code with the writer.
func checkWellFormed(t *testing.T, h http.Header, config ratelimit.HeaderConfig) {
	t.Helper()
	for name, lines := range h {
		if len(lines) != 1 || lines[0] == "" {
			t.Errorf("%s has the lines %q", name, lines)
		}
		if name != http.CanonicalHeaderKey(name) {
			t.Errorf("%s is not in the form of http.Header", name)
		}
	}
	for _, name := range []string{
		"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After",
		"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset",
	} {
		if value := h.Get(name); strings.Trim(value, "0123456789") != "" {
			t.Errorf("%s is %q, not a number", name, value)
		}
	}
	policies := canonicalList(t, h, "RateLimit-Policy")
	if config.Draft == ratelimit.Draft07 || config.Draft == ratelimit.Draft06 {
		for _, item := range policies {
			wantInteger(t, item, "w", 1)
			if item.Value.Kind != sfv.Integer {
				t.Errorf("RateLimit-Policy has the member %v", item.Value)
			}
		}
		return
	}
	known := map[string]bool{}
	for _, item := range policies {
		if item.Value.Kind != sfv.String || known[item.Value.Text] {
			t.Errorf("RateLimit-Policy has the member %v (again?)", item.Value)
		}
		known[item.Value.Text] = true
		wantInteger(t, item, "q", 0)
		wantInteger(t, item, "w", 1)
	}
	available, window := "r", "t"
	if config.Draft == ratelimit.Draft12Preview {
		available, window = "a", "w"
	}
	for _, item := range canonicalList(t, h, "RateLimit") {
		if item.Value.Kind != sfv.String || !known[item.Value.Text] {
			t.Errorf("RateLimit has the member %v, which is not in RateLimit-Policy", item.Value)
		}
		wantInteger(t, item, available, 0)
		if _, ok := item.Param(window); ok {
			wantInteger(t, item, window, 0)
		}
	}
}

// canonicalList reads a field strictly and compares it with its canonical form.
func canonicalList(t *testing.T, h http.Header, name string) []sfv.Item {
	t.Helper()
	lines := h.Values(name)
	list, err := sfv.ParseList(strings.Join(lines, ", "))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if len(lines) > 0 && (len(list) == 0 || sfv.FormatList(list) != strings.Join(lines, ", ")) {
		t.Errorf("%s is %q, in canonical form %q", name, lines, sfv.FormatList(list))
	}
	return list
}

func wantInteger(t *testing.T, item sfv.Item, key string, least int64) {
	t.Helper()
	if got, ok := item.Param(key); !ok || got.Kind != sfv.Integer || got.Int < least {
		t.Errorf("%s has %s = %v, want an Integer of at least %d", item.Value.Text, key, got, least)
	}
}
