package memstore

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

// TestLogsAgainstModel lets several logs of one shard grow, shrink and be
// adjusted, with steps in time of very different sizes, and compares each
// answer with the model's.
func TestLogsAgainstModel(t *testing.T) {
	for _, scale := range []int64{1, 50, 1000, 1 << 22, 1 << 36} {
		t.Run(fmt.Sprint("step=", scale), func(t *testing.T) {
			type charged struct{ at, cost int64 }
			var (
				l       logs
				random  = rand.New(rand.NewPCG(uint64(scale), 1))
				states  [5]algorithm.State
				models  [5]algorithm.State
				charges [5][]charged
				window  = time.Duration(min(max(200*scale, 1000), int64(ratelimit.MaxWindow/time.Microsecond))) * time.Microsecond
				now     = int64(1_800_000_000_000_000)
			)
			for step := range 20_000 {
				i := random.IntN(len(states))
				limit := ratelimit.SlidingLog(random.Int64N(300), window)
				now += random.Int64N(2*scale) * random.Int64N(2)
				if random.IntN(3000) == 0 {
					now += window.Microseconds()
				}
				if random.IntN(50) == 0 {
					now -= random.Int64N(20*scale + 1)
				}
				cost := random.Int64N(3)
				if random.IntN(10) == 0 {
					cost = 1 << random.Int64N(62)
				}
				switch do := algorithm.Action(random.IntN(4)); {
				case do == 3 && len(charges[i]) > 0:
					c := &charges[i][max(0, len(charges[i])-1-random.IntN(30))]
					if random.IntN(20) == 0 {
						c.at += random.Int64N(1+2*scale) - scale
					}
					models[i] = algorithm.Adjust(models[i], now, limit, c.at, c.cost, cost)
					l.adjust(&states[i], now, &limit, c.at, cost-c.cost)
					c.cost = cost
				case do == 3:
				case do == algorithm.ActionForce && cost > 1000 && random.IntN(100) > 0:
				default:
					var want, got ratelimit.Result
					model := algorithm.Apply(do, &models[i], now, &limit, cost, &want)
					taken := l.apply(do, &states[i], now, &limit, cost, &got)
					if want != got || model != taken {
						t.Fatalf("step %d: action %d of cost %d under %v:\ngot  %+v\nwant %+v", step, do, cost, limit, got, want)
					}
					if taken {
						charges[i] = append(charges[i], charged{got.At, cost})
					}
				}
				entries := l.all(&states[i])
				sum := int64(0)
				for _, e := range entries {
					sum += e.Units
				}
				if sum != states[i].Level {
					t.Fatalf("step %d: the log's entries have %d units, its level says %d", step, sum, states[i].Level)
				}
				if random.IntN(2000) == 0 {
					l.release(&states[i])
					states[i], models[i], charges[i] = algorithm.State{}, algorithm.State{}, nil
				}
			}
			for i := range states {
				l.release(&states[i])
			}
			checkAllFree(t, &l)
		})
	}
}

// checkAllFree counts the free chunks of logs that are all gone.
func checkAllFree(t *testing.T, l *logs) {
	t.Helper()
	if l.rings != 0 || len(l.pages) > 1 {
		t.Errorf("%d logs and %d pages are left", l.rings, len(l.pages))
	}
	free := 0
	for n := l.free; n != 0; n = l.chunk(n).next {
		free++
	}
	if want := len(l.pages)*chunksPerPage - 1; len(l.pages) > 0 && free != want {
		t.Errorf("%d free chunks, want all %d", free, want)
	}
}

// TestLogSize fills logs with single units and measures.
func TestLogSize(t *testing.T) {
	for _, apart := range []time.Duration{time.Microsecond, time.Second, time.Minute, time.Hour} {
		var (
			l      logs
			limit  = ratelimit.SlidingLog(800, ratelimit.MaxWindow)
			states = make([]algorithm.State, 100)
		)
		for n := int64(1); n <= 800; n++ {
			for i := range states {
				var r ratelimit.Result
				l.apply(algorithm.ActionStep, &states[i], 1_800_000_000_000_000+n*apart.Microseconds(), &limit, 1, &r)
			}
			chunks := len(l.pages) * chunksPerPage
			for f := l.free; f != 0; f = l.chunk(f).next {
				chunks--
			}
			// 41 bytes for the entry itself, a segment's empty slots included.
			if size := 41 + 32*(float64(chunks)-1)/float64(len(states)); size > float64(64+8*n) {
				t.Fatalf("%d entries %v apart take %.0f bytes, want 64 and 8 an entry", n, apart, size)
			}
		}
	}
}
