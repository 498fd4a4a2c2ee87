package ratelimit_test

import (
	"context"
	"fmt"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

func ExampleParseLimit() {
	for _, text := range []string{"100/min", "sliding_log 5/15min", "token_bucket 1000/h burst 50", "leaky_bucket 10/2s queue 4"} {
		limit, err := ratelimit.ParseLimit(text)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(limit.Algorithm, limit.Quota, limit.Window, limit.Capacity())
	}
	// Output:
	// sliding_window 100 1m0s 100
	// sliding_log 5 15m0s 5
	// token_bucket 1000 1h0m0s 50
	// leaky_bucket 10 2s 5
}

// A limiter decides without HTTP as well. A program would give it
// memstore.New() or redisstore.New(client); the store here is one of this
// package's tests.
func ExampleLimiter_Allow() {
	store := newModelStore()
	exports, err := ratelimit.New(store,
		ratelimit.Policy{Name: "exports", Limit: ratelimit.TokenBucket(60, time.Hour, 2)},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		decision := exports.Allow(context.Background(), ratelimit.UserKey("ann"))
		fmt.Println(decision.Allowed, decision.Result.Remaining, decision.RetryAfter.Round(time.Minute))
	}
	// Output:
	// true 1 0s
	// true 0 0s
	// false 0 1m0s
}

// Login is a list of policies like any other.
func ExampleLogin() {
	for _, policy := range ratelimit.Login() {
		fmt.Println(policy.Name, policy.Limit)
	}
	// Output:
	// login-ip sliding_log 5/15min
	// login-account sliding_log 5/15min
}
