package redisstore

import (
	"math/rand/v2"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
	"github.com/go-floodgate/floodgate/redisstore/redistest"
)

// TestLargeNumbers compares the script with the state machines where products
// are far above 2^53: quotas up to the largest, windows of a year, buckets that
// take decades to drain, debts that saturate. The two never differ.
func TestLargeNumbers(t *testing.T) {
	server := redistest.Start(t)
	s, _ := simulated(t, server.Client(), WithDenialCache(0, 0))
	random := rand.New(rand.NewPCG(7, 7))
	now := int64(1_800_000_000_000_000)
	s.clock = func() time.Time { return time.UnixMicro(now) }
	// wide is a number of any magnitude up to most.
	wide := func(most int64) int64 { return 1 + random.Int64N(most)>>random.IntN(50) }

	for round := range 300 {
		who := string(rune('a'+round%26)) + time.Duration(round).String()
		l := largeLimit(random, wide)
		var state algorithm.State
		var admitted []ratelimit.Adjustment
		for step := range 20 {
			switch random.IntN(4) {
			case 0:
				now += wide(l.Window.Microseconds() * 3)
			case 1:
				now -= wide(l.Window.Microseconds())
			case 2:
				if l.Algorithm != ratelimit.AlgorithmSlidingLog {
					l.Quota = min(wide(ratelimit.MaxQuota), ratelimit.MaxQuota)
				}
				for l.Validate() != nil {
					l = largeLimitOf(l.Algorithm, l.Window, wide)
				}
			}
			now = min(max(now, 1_700_000_000_000_000), 1_900_000_000_000_000)
			if len(admitted) > 0 && random.IntN(3) == 0 {
				a := admitted[random.IntN(len(admitted))]
				a.Limit, a.NewCost = l, wide(2*l.Capacity())-1
				if err := s.Adjust(t.Context(), []ratelimit.Adjustment{a}); err != nil {
					t.Fatal(err)
				}
				state = algorithm.Adjust(state, now, l, a.At, a.Cost, a.NewCost)
			}
			c := charge(who, l, min(wide(l.Capacity()+1), algorithm.MaxUnits))
			var want ratelimit.Result
			if random.IntN(5) == 0 {
				c.Mode = ratelimit.ModeForce
				state, want = algorithm.Force(state, now, l, c.Cost)
			} else {
				state, want = algorithm.Step(state, now, l, c.Cost)
			}
			got := take(t, s, c)[0]
			if got != want {
				t.Fatalf("round %d, step %d: %+v at %d\nthe script says  %+v\nthe machine says %+v", round, step, c, now, got, want)
			}
			if want.Allowed {
				admitted = append(admitted, ratelimit.Adjustment{Policy: c.Policy, Partition: c.Partition, At: got.At, Cost: c.Cost})
			}
		}
	}
}

func largeLimit(random *rand.Rand, wide func(int64) int64) ratelimit.Limit {
	algorithms := []ratelimit.Algorithm{
		ratelimit.AlgorithmFixedWindow, ratelimit.AlgorithmSlidingWindow, ratelimit.AlgorithmSlidingLog,
		ratelimit.AlgorithmTokenBucket, ratelimit.AlgorithmLeakyBucket,
	}
	window := time.Duration(max(wide(ratelimit.MaxWindow.Microseconds()), ratelimit.MinWindow.Microseconds())) * time.Microsecond
	return largeLimitOf(algorithms[random.IntN(len(algorithms))], min(window, ratelimit.MaxWindow), wide)
}

func largeLimitOf(a ratelimit.Algorithm, window time.Duration, wide func(int64) int64) ratelimit.Limit {
	for {
		l := ratelimit.Limit{Algorithm: a, Window: window, Quota: min(wide(ratelimit.MaxQuota), ratelimit.MaxQuota)}
		if a.Bucket() {
			l.Burst = min(wide(ratelimit.MaxQuota), ratelimit.MaxQuota-1)
		}
		if a == ratelimit.AlgorithmSlidingLog {
			l.Quota = wide(ratelimit.MaxLogQuota - 1)
		}
		if l.Validate() == nil {
			return l
		}
	}
}

// TestValkey runs the suite on Valkey where there is one.
func TestValkey(t *testing.T) {
	server := redistest.StartValkey(t)
	if server == nil {
		return
	}
	conform(t, dialer(server), true, WithDenialCache(0, 0))
}
