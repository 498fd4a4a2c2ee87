package ratelimit_test

import (
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// goldenAllowed are decisions to let a request pass.
var goldenAllowed = []golden{
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
		// One token takes 1000000 and a third microseconds.
		name: "a fraction of a microsecond above a second",
		decision: ratelimit.Decision{Allowed: true, Policy: "odd"}.MadeOf(
			ratelimit.Part{Name: "odd", Limit: ratelimit.TokenBucket(3, 3_000_001*time.Microsecond, 2), Cost: 1, Result: allowed(2, 1, 1_000_001*time.Microsecond)}),
		fields: `Ratelimit: "odd";r=1;t=2
			Ratelimit-Policy: "odd";q=3;w=4;floodgate-burst=2
			X-Ratelimit-Limit: 2
			X-Ratelimit-Remaining: 1
			X-Ratelimit-Reset: 1700000002`,
	},
	{
		name: "the largest bucket",
		decision: ratelimit.Decision{Allowed: true, Policy: "max"}.MadeOf(
			ratelimit.Part{Name: "max", Limit: ratelimit.TokenBucket(1, ratelimit.MaxWindow, ratelimit.MaxQuota-1), Cost: 1, Result: allowed(ratelimit.MaxQuota-1, ratelimit.MaxQuota-2, 0)}),
		fields: `Ratelimit: "max";r=999999999999997;t=999999999999999
			Ratelimit-Policy: "max";q=1;w=31622400;floodgate-burst=999999999999998
			X-Ratelimit-Limit: 999999999999998
			X-Ratelimit-Remaining: 999999999999997
			X-Ratelimit-Reset: 1700000001`,
	},
	{
		// Another clock, another capacity, and an empty bucket that says it
		// has a unit by now: the store is believed as far as it can be.
		name: "a store with its own mind",
		decision: ratelimit.Decision{Allowed: true, Policy: "plan"}.MadeOf(
			ratelimit.Part{Name: "plan", Limit: plan, Cost: 1, Result: ratelimit.Result{Allowed: true, Limit: 25, ResetAfter: 176_400 * time.Millisecond, At: -start}}),
		fields: `Ratelimit: "plan";r=0;t=1
			Ratelimit-Policy: "plan";q=1000;w=3600;floodgate-burst=50
			X-Ratelimit-Limit: 25
			X-Ratelimit-Remaining: 0
			X-Ratelimit-Reset: 177`,
	},
	{
		name: "an empty bucket that says it is new",
		decision: ratelimit.Decision{Allowed: true, Policy: "plan"}.MadeOf(
			ratelimit.Part{Name: "plan", Limit: plan, Cost: 1, Result: allowed(50, 0, 0)}),
		fields: `Ratelimit: "plan";r=0;t=1
			Ratelimit-Policy: "plan";q=1000;w=3600;floodgate-burst=50
			X-Ratelimit-Limit: 50
			X-Ratelimit-Remaining: 0
			X-Ratelimit-Reset: 1700000001`,
	},
	{
		name: "the largest numbers",
		decision: ratelimit.Decision{Allowed: true, Policy: "max"}.MadeOf(
			ratelimit.Part{Name: "max", Limit: ratelimit.FixedWindow(ratelimit.MaxQuota, ratelimit.MaxWindow), Cost: 1, Result: ratelimit.Result{
				Allowed: true, Limit: 1<<63 - 1, Remaining: 1<<63 - 1, ResetAfter: ratelimit.Never - 1, At: 1<<63 - 1,
			}}),
		fields: `Ratelimit: "max";r=999999999999999;t=9223372037
			Ratelimit-Policy: "max";q=999999999999999;w=31622400
			X-Ratelimit-Limit: 999999999999999
			X-Ratelimit-Remaining: 999999999999999
			X-Ratelimit-Reset: 9232595408892`,
	},
}
