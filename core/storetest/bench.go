package storetest

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// Bench measures Take in the shapes that matter: each algorithm on one key, a
// denied key, one key and a million of them from all processors, keys that
// never come again, and three policies in one call. newStore opens an empty
// store on its real clock; it is called once for each shape.
func Bench(b *testing.B, newStore func(testing.TB) ratelimit.Store) {
	b.Helper()
	for _, a := range algorithms {
		b.Run("one_key/"+a.String(), func(b *testing.B) {
			takeInTurn(b, newStore(b), []ratelimit.Charge{on("client", benchLimit(a), 1)})
		})
	}
	for _, a := range algorithms {
		b.Run("denied/"+a.String(), func(b *testing.B) {
			store := newStore(b)
			c := on("client", limitOf(a, 10, time.Hour), 1)
			full := []ratelimit.Charge{as(force, c)}
			full[0].Cost = 20
			if err := store.Take(b.Context(), full, make([]ratelimit.Result, 1)); err != nil {
				b.Fatal(err)
			}
			takeInTurn(b, store, []ratelimit.Charge{c})
		})
	}
	sliding := benchLimit(ratelimit.AlgorithmSlidingWindow)
	b.Run("three_policies", func(b *testing.B) {
		takeInTurn(b, newStore(b), []ratelimit.Charge{
			under("ip", on("192.0.2.1", sliding, 1)),
			under("plan", on("alice", benchLimit(ratelimit.AlgorithmTokenBucket), 1)),
			under("points", on("alice", sliding, 5)),
		})
	})
	b.Run("parallel/keys=1", func(b *testing.B) {
		takeAtOnce(b, newStore(b), []ratelimit.Partition{"client"}, sliding)
	})
	b.Run("parallel/keys=1000000", func(b *testing.B) {
		takeAtOnce(b, newStore(b), benchKeys(1_000_000), sliding)
	})
	b.Run("churn", func(b *testing.B) {
		store := newStore(b)
		charges, results := []ratelimit.Charge{on("", sliding, 1)}, make([]ratelimit.Result, 1)
		var key [16]byte
		b.ReportAllocs()
		for i := uint64(0); b.Loop(); i++ {
			for at := range key {
				key[at] = 'a' + byte(i>>(4*at)&15)
			}
			charges[0].Partition = ratelimit.Partition(key[:])
			if err := store.Take(b.Context(), charges, results); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// benchLimit is never used up while a benchmark runs.
func benchLimit(a ratelimit.Algorithm) ratelimit.Limit {
	if a == ratelimit.AlgorithmSlidingLog {
		// Its entries cost memory, so a short window.
		return limitOf(a, ratelimit.MaxLogQuota, time.Millisecond)
	}
	return limitOf(a, 1_000_000_000, time.Hour)
}

func benchKeys(n int) []ratelimit.Partition {
	keys := make([]ratelimit.Partition, n)
	for i := range keys {
		keys[i] = ratelimit.Partition(fmt.Sprintf("user:%07d", i))
	}
	return keys
}

func takeInTurn(b *testing.B, store ratelimit.Store, charges []ratelimit.Charge) {
	b.Helper()
	ctx, results := b.Context(), make([]ratelimit.Result, len(charges))
	b.ReportAllocs()
	for b.Loop() {
		if err := store.Take(ctx, charges, results); err != nil {
			b.Fatal(err)
		}
	}
}

func takeAtOnce(b *testing.B, store ratelimit.Store, keys []ratelimit.Partition, l ratelimit.Limit) {
	b.Helper()
	var worker atomic.Uint64
	ctx := b.Context()
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		charges, results := []ratelimit.Charge{on("", l, 1)}, make([]ratelimit.Result, 1)
		// Each walks the keys in an order of its own that repeats late.
		for at := worker.Add(1) << 32; pb.Next(); at += 0x9E3779B97F4A7C15 {
			charges[0].Partition = keys[at%uint64(len(keys))]
			if err := store.Take(ctx, charges, results); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
