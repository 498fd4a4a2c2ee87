package ratelimit_test

import (
	"errors"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// goldenRefused are denials, and refusals for other reasons.
var goldenRefused = []golden{
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
		name: "failed closed",
		decision: ratelimit.Decision{Reason: ratelimit.ReasonFailedClosed, Degraded: true, Err: errors.New("dial tcp 10.0.0.5:6379")}.MadeOf(
			ratelimit.Part{Name: "per-ip", Limit: perIP, Cost: 1}),
		fields: `Cache-Control: no-store
			Retry-After: 1`,
		json:    `{"error":"rate_limiter_unavailable","message":"The service cannot take requests at the moment. Try again in 1 second.","limit":null,"remaining":null,"reset":null,"retry_after":1,"policy":null}`,
		problem: `{"type":"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity","title":"Temporary Reduced Capacity","status":503,"detail":"The service cannot take requests at the moment. Try again in 1 second."}`,
	},
	{
		name:     "canceled",
		decision: ratelimit.Decision{Reason: ratelimit.ReasonCanceled, Err: errors.New("context canceled")}.MadeOf(),
		fields:   `Cache-Control: no-store`,
		json:     `{"error":"request_canceled","message":"The request ended before it could be served.","limit":null,"remaining":null,"reset":null,"retry_after":null,"policy":null}`,
		problem:  `{"type":"about:blank","title":"Service Unavailable","status":503,"detail":"The request ended before it could be served."}`,
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
}
