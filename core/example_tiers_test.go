package ratelimit_test

import (
	"fmt"
	"net/http"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// The directory is asked once for a key, and again when it says that a plan has
// changed. What was used stays.
func ExampleTiers() {
	plans := map[string]string{"ann": "free"}
	tiers := &ratelimit.Tiers{
		Resolve: func(r *ratelimit.Request) (ratelimit.Identity, error) {
			fmt.Println("looking up", r.User())
			return ratelimit.Identity{Key: ratelimit.UserKey(r.User()), Tier: plans[r.User()]}, nil
		},
		By: ratelimit.ByUser(),
		Limits: map[string]ratelimit.Limit{
			"free": ratelimit.PerHour(10),
			"pro":  ratelimit.PerHour(1000),
		},
		Default: "free",
	}
	// A program would give it memstore.New() or redisstore.New(client), and
	// requests would come through an adapter.
	api, err := ratelimit.New(newModelStore(), ratelimit.Policy{Name: "plan", Tiers: tiers})
	if err != nil {
		fmt.Println(err)
		return
	}
	request := func() {
		header := http.Header{}
		api.Begin(new(ratelimit.Call), &fakeRequest{user: "ann"}, header)
		fmt.Println(header.Get("X-RateLimit-Remaining"), "of", header.Get("X-RateLimit-Limit"))
	}
	request()
	request()
	plans["ann"] = "pro"
	tiers.Forget(ratelimit.UserKey("ann"))
	request()
	// Output:
	// looking up ann
	// 9 of 10
	// 8 of 10
	// looking up ann
	// 997 of 1000
}

// A client who has bought a plan five times.
func ExampleLimit_Times() {
	fmt.Println(ratelimit.PerMinute(100).Times(5))
	fmt.Println(ratelimit.TokenBucket(1000, time.Hour, 50).Times(5))
	// Output:
	// 500/min
	// token_bucket 5000/h burst 250
}
