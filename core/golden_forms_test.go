package ratelimit_test

import (
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// goldenForms are the other forms that fields can be sent in.
var goldenForms = []golden{
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
