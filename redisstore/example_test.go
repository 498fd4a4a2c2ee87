package redisstore_test

import (
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/redisstore"
)

func ExampleNew() {
	client := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
	defer client.Close()

	// No call is made to Redis here: a service starts while Redis is down.
	store := redisstore.New(client)
	defer store.Close()

	api, err := ratelimit.New(store,
		ratelimit.Policy{Name: "per-ip", Key: ratelimit.ByIP(), Limit: ratelimit.PerMinute(100)},
		ratelimit.Policy{Name: "burst", Key: ratelimit.ByUser(), Limit: ratelimit.TokenBucket(600, time.Hour, 20)},
	)
	fmt.Println(api != nil, err)
	// Output: true <nil>
}

func ExampleInterruptible() {
	client := redis.NewClient(redisstore.Interruptible(&redis.Options{Addr: "localhost:6379", PoolSize: 50}))
	defer client.Close()
	store := redisstore.New(client)
	fmt.Println(store.Close())
	// Output: <nil>
}

func ExampleOpen() {
	store, err := redisstore.Open("redis://localhost:7000,localhost:7001,localhost:7002",
		redisstore.WithPrefix("shop:"), redisstore.WithBudget(50*time.Millisecond))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	fmt.Println("a Cluster, without a call to it")
	// Output: a Cluster, without a call to it
}

func ExampleWithObserver() {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	client := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
	defer client.Close()
	store := redisstore.New(client, redisstore.WithObserver(redisstore.Observer{
		Call: func(c redisstore.Call) {
			if c.Err != nil {
				log.Warn("redis", "kind", redisstore.ErrorKind(c.Err), "took", c.Duration)
			}
		},
		Breaker: func(server string, from, to redisstore.BreakerState) {
			log.Warn("circuit breaker", "server", server, "from", from, "to", to)
		},
	}))
	fmt.Println(store.Close())
	// Output: <nil>
}

func ExampleWithLease() {
	client := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
	defer client.Close()
	store := redisstore.New(client, redisstore.WithLease("per-tenant", 100))
	fmt.Println(store.Close())
	// Output: <nil>
}
