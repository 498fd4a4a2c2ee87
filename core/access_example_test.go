package ratelimit_test

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// A client is banned for an hour while the limiter runs.
func ExampleDenyList() {
	var bans ratelimit.AccessList
	api, err := ratelimit.New(newModelStore(), // a program's is memstore.New(), or redisstore.New(client)
		ratelimit.Policy{Name: "per-ip", Limit: ratelimit.PerMinute(100)},
		ratelimit.DenyList(&bans),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	client := ratelimit.IPKey(netip.MustParseAddr("203.0.113.7"))
	fmt.Println(api.Allow(context.Background(), client).Reason)

	if err := bans.Add(ratelimit.AccessEntry{Network: "203.0.113.0/24", Until: time.Now().Add(time.Hour)}); err != nil {
		fmt.Println(err)
	}
	fmt.Println(api.Allow(context.Background(), client).Reason)
	fmt.Println(api.Wait(context.Background(), client))
	// Output:
	// within_limits
	// deny_listed
	// ratelimit: the key is on a deny list: waiting does not help
}
