package memstore_test

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/storetest"
	"github.com/go-floodgate/floodgate/memstore"
)

// BenchmarkStore has the shapes that all stores are measured in: each
// algorithm on one key, admitted and denied, three policies, one key and a
// million from all processors, churn.
func BenchmarkStore(b *testing.B) {
	storetest.Bench(b, func(testing.TB) ratelimit.Store { return memstore.New() })
}

// BenchmarkFlood has a new key with each request, at the cap. Either one of
// the keys before makes way, or, with a quota of 1, all are at their limit and
// none does.
func BenchmarkFlood(b *testing.B) {
	for _, quota := range []int64{1, 100} {
		b.Run(fmt.Sprint("quota=", quota), func(b *testing.B) {
			store := memstore.New(memstore.WithMaxKeys(100_000))
			key := make([]byte, 8)
			next := uint64(0)
			charges, results := make([]ratelimit.Charge, 1), make([]ratelimit.Result, 1)
			call := func() {
				next++
				binary.LittleEndian.PutUint64(key, next)
				charges[0] = ratelimit.Charge{Policy: "per-ip", Partition: ratelimit.Partition(key), Limit: ratelimit.FixedWindow(quota, 366*24*time.Hour), Cost: 1}
				if err := store.Take(b.Context(), charges, results); err != nil {
					b.Fatal(err)
				}
			}
			for range 200_000 {
				call()
			}
			b.ReportAllocs()
			for b.Loop() {
				call()
			}
		})
	}
}
