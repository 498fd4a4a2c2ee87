package redisstore

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/redisstore/redistest"
)

// BenchmarkTake measures decisions of several goroutines over many keys.
func BenchmarkTake(b *testing.B) {
	server := redistest.Start(b)
	for _, policies := range []int{1, 3} {
		for _, goroutines := range []int{1, 16, 64, 256} {
			b.Run(fmt.Sprintf("policies=%d/goroutines=%d", policies, goroutines), func(b *testing.B) {
				client := redis.NewClient(Interruptible(&redis.Options{Addr: server.Addr}))
				defer client.Close()
				store := New(client, WithPrefix(freshPrefix()), WithBudget(time.Second))
				defer store.Close()
				benchmarkTake(b, store, policies, goroutines)
			})
		}
	}
}

// BenchmarkLone shows what it saves a lone caller to make its call itself.
func BenchmarkLone(b *testing.B) {
	server := redistest.Start(b)
	for name, client := range clients() {
		b.Run(name, func(b *testing.B) {
			client := client(redis.Options{Addr: server.Addr})
			defer client.Close()
			store := New(client, WithPrefix(freshPrefix()), WithBudget(time.Second))
			defer store.Close()
			benchmarkTake(b, store, 1, 1)
		})
	}
}

func benchmarkTake(b *testing.B, store ratelimit.Store, policies, goroutines int) {
	b.Helper()
	const clients = 100_000
	limit := ratelimit.TokenBucket(1_000_000, time.Second, 1_000_000)
	partitions := make([]ratelimit.Partition, clients)
	for i := range partitions {
		partitions[i] = ratelimit.Partition(fmt.Sprintf("ip:10.0.%d.%d", i/256, i%256))
	}
	names := []string{"per-ip", "route", "all"}
	b.ReportAllocs()
	b.ResetTimer()
	var wait sync.WaitGroup
	for g := range goroutines {
		wait.Go(func() {
			charges, results := make([]ratelimit.Charge, policies), make([]ratelimit.Result, policies)
			for i := g; i < b.N; i += goroutines {
				for p := range charges {
					charges[p] = ratelimit.Charge{Policy: names[p], Partition: partitions[i*7919%clients], Limit: limit, Cost: 1}
				}
				if err := store.Take(context.Background(), charges, results); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
}
