package ratelimit_test

import (
	"context"
	"fmt"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// An export is charged an estimate and settled with the rows it had. A program
// would give the limiter memstore.New() or redisstore.New(client).
func ExampleLimiter_Reserve() {
	exports, err := ratelimit.New(newModelStore(),
		ratelimit.Policy{Name: "rows", Limit: ratelimit.SlidingLog(1000, time.Hour), Settles: true},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, tenant := context.Background(), ratelimit.NamedKey("tenant-7")
	for _, rows := range []int64{150, 1200} {
		decision, reserved := exports.Reserve(ctx, tenant, 500)
		fmt.Println("may start:", decision.Allowed)
		if err := reserved.Settle(ctx, rows); err != nil {
			fmt.Println(err)
		}
	}
	decision, reserved := exports.Reserve(ctx, tenant, 500)
	fmt.Println("may start:", decision.Allowed)
	fmt.Println(reserved.Settle(ctx, 10)) // nothing was charged
	// Output:
	// may start: true
	// may start: true
	// may start: false
	// <nil>
}
