package redisstore

import (
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/redisstore/redistest"
)

// BenchmarkFaults prints what a decision takes while Redis fails, with the
// default budget: the first few wait for it, the breaker answers the rest and
// lets one through now and then to see whether Redis is back.
func BenchmarkFaults(b *testing.B) {
	for _, fault := range []struct {
		name   string
		inject func(*testing.B, *redistest.Server, *redistest.Proxy)
	}{
		{"none", func(*testing.B, *redistest.Server, *redistest.Proxy) {}},
		{"killed", func(_ *testing.B, s *redistest.Server, _ *redistest.Proxy) { s.Kill() }},
		{"paused", func(b *testing.B, s *redistest.Server, _ *redistest.Proxy) { s.Pause(); b.Cleanup(s.Resume) }},
		{"black hole", func(_ *testing.B, _ *redistest.Server, p *redistest.Proxy) { p.BlackHole() }},
		{"slow by 500 ms", func(_ *testing.B, _ *redistest.Server, p *redistest.Proxy) { p.Delay(500 * time.Millisecond) }},
	} {
		b.Run(fault.name, func(b *testing.B) {
			server := redistest.Start(b)
			proxy := redistest.NewProxy(b, server.Addr)
			client := redis.NewClient(&redis.Options{Addr: proxy.Addr})
			defer client.Close()
			store := New(client, WithPrefix(freshPrefix()))
			defer store.Close()
			charges := []ratelimit.Charge{{Policy: "p", Partition: "k", Limit: ratelimit.PerSecond(1_000_000), Cost: 1}}
			results := make([]ratelimit.Result, 1)
			if err := store.Take(b.Context(), charges, results); err != nil {
				b.Fatal(err)
			}
			fault.inject(b, server, proxy)
			var took []time.Duration
			for b.Loop() {
				start := time.Now()
				_ = store.Take(b.Context(), charges, results) // failing is what it does
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			at := func(permille int) float64 {
				return float64(took[(len(took)-1)*permille/1000]) / float64(time.Microsecond)
			}
			b.ReportMetric(at(500), "p50-µs")
			b.ReportMetric(at(990), "p99-µs")
			b.ReportMetric(at(1000)/1000, "max-ms")
		})
	}
}
