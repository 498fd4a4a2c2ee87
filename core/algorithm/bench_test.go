package algorithm_test

import (
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

func BenchmarkStep(b *testing.B) {
	for _, l := range []ratelimit.Limit{
		ratelimit.FixedWindow(100, time.Minute),
		ratelimit.SlidingWindow(100, time.Minute),
		ratelimit.TokenBucket(100, time.Minute, 100),
		ratelimit.LeakyBucket(100, time.Minute, 100),
	} {
		for name, apart := range map[string]int64{"admitted": 10 * time.Second.Microseconds(), "denied": 0} {
			b.Run("algorithm="+l.Algorithm.String()+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				var s algorithm.State
				now := int64(1_700_000_000_000_000)
				for b.Loop() {
					s, _ = algorithm.Step(s, now, l, 1)
					now += apart
				}
			})
		}
	}
}
