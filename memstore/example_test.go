package memstore_test

import (
	"bytes"
	"context"
	"fmt"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/memstore"
)

func ExampleNew() {
	store := memstore.New()
	charges := []ratelimit.Charge{{
		Policy: "per-user", Partition: ratelimit.UserKey("alice"), Limit: ratelimit.SlidingLog(2, time.Minute), Cost: 1,
	}}
	results := make([]ratelimit.Result, 1)
	for range 3 {
		if err := store.Take(context.Background(), charges, results); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(results[0].Allowed, results[0].Remaining)
	}
	// Output:
	// true 1
	// true 0
	// false 0
}

// A service that must not hesitate when many new clients come at once takes the
// memory for them when it starts.
func ExampleWithPreallocation() {
	store := memstore.New(memstore.WithMaxKeys(100_000), memstore.WithPreallocation())
	fmt.Println(store.Stats().Keys)
	// Output: 0
}

// A clock of one's own makes a test independent of time.
func ExampleWithClock() {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	store := memstore.New(memstore.WithClock(func() time.Time { return now }))
	charges := []ratelimit.Charge{{
		Policy: "per-user", Partition: ratelimit.UserKey("alice"), Limit: ratelimit.TokenBucket(1, time.Minute, 1), Cost: 1,
	}}
	results := make([]ratelimit.Result, 1)
	for _, pause := range []time.Duration{0, 59 * time.Second, time.Second} {
		now = now.Add(pause)
		if err := store.Take(context.Background(), charges, results); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(results[0].Allowed, results[0].RetryAfter)
	}
	// Output:
	// true 0s
	// false 1s
	// true 0s
}

// With a coarse clock the answers are the same, and sooner there.
func ExampleWithCoarseClock() {
	store := memstore.New(memstore.WithCoarseClock())
	charges := []ratelimit.Charge{{
		Policy: "per-user", Partition: ratelimit.UserKey("alice"), Limit: ratelimit.TokenBucket(1, time.Hour, 100_000), Cost: 1,
	}}
	results := make([]ratelimit.Result, 1)
	admitted := 0
	for range 100_100 {
		if err := store.Take(context.Background(), charges, results); err != nil {
			fmt.Println(err)
			return
		}
		if results[0].Allowed {
			admitted++
		}
	}
	fmt.Println(admitted)
	// Output: 100000
}

// The counts of one process go on in the next one.
func ExampleStore_Restore() {
	charges := []ratelimit.Charge{{
		Policy: "daily", Partition: ratelimit.UserKey("alice"), Limit: ratelimit.FixedWindow(20, 24*time.Hour), Cost: 5,
	}}
	results := make([]ratelimit.Result, 1)

	blue := memstore.New()
	if err := blue.Take(context.Background(), charges, results); err != nil {
		fmt.Println(err)
		return
	}
	var dump bytes.Buffer
	if err := blue.Dump(&dump); err != nil {
		fmt.Println(err)
		return
	}

	green := memstore.New()
	if err := green.Restore(&dump); err != nil {
		fmt.Println(err)
		return
	}
	if err := green.Take(context.Background(), charges, results); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(results[0].Remaining)
	// Output: 10
}
