package redisstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/redisstore/redistest"
)

// leased are limits of the algorithms that have leases.
func leased(quota int64, window time.Duration) []ratelimit.Limit {
	return []ratelimit.Limit{
		ratelimit.FixedWindow(quota, window), ratelimit.SlidingWindow(quota, window),
		ratelimit.TokenBucket(quota, window, quota/4), ratelimit.LeakyBucket(quota, window, quota/4-1),
	}
}

// TestLeaseSaves spends most requests of a hot key in the process.
func TestLeaseSaves(t *testing.T) {
	server := redistest.Start(t)
	for _, l := range leased(100_000, time.Minute) {
		s, advance := simulated(t, server.Client(), WithLease("policy", 100))
		for i := range 4000 {
			r := take(t, s, charge("hot", l, 1))[0]
			if !r.Allowed || r.RetryAfter != 0 || r.Limit != l.Capacity() || r.Remaining > r.Limit-1 || r.ResetAfter <= 0 {
				t.Fatalf("%v, request %d: %+v", l.Algorithm, i, r)
			}
			advance(100 * time.Microsecond)
		}
		stats := s.Stats()
		t.Logf("%v: 4000 requests in %d calls, %d units taken ahead", l.Algorithm, stats.Calls, stats.LeasedUnits)
		if stats.Calls > 200 {
			t.Errorf("%v: 4000 requests took %d calls", l.Algorithm, stats.Calls)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		after := open(t, server.Client(), WithPrefix(s.keys.prefix), withClock(s.clock))
		used := l.Capacity() - left(t, after, "hot", l)
		if most := int64(4000); used > most {
			t.Errorf("%v: %d units are charged after 4000 were spent and the store closed", l.Algorithm, used)
		}
		if !l.Algorithm.Bucket() && used != 4000 {
			t.Errorf("%v: %d units are charged after 4000 were spent and the store closed, want 4000", l.Algorithm, used)
		}
	}
}

// TestLeaseBound lets several processes spend leases on one key, at random
// times, in random numbers, and counts what is admitted over every span: at
// most what the limit allows over the span and a lease's life.
func TestLeaseBound(t *testing.T) {
	server := redistest.Start(t)
	const window = 10 * time.Second
	for _, l := range leased(400, window) {
		for seed := range uint64(2) {
			t.Run(fmt.Sprint(l.Algorithm, seed), func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 1))
				first, advance := simulated(t, server.Client(), WithLease("policy", 30))
				stores := []*Store{first}
				for range 2 {
					stores = append(stores, open(t, server.Client(), WithPrefix(first.keys.prefix), withClock(first.clock), WithLease("policy", 30)))
				}
				var times []int64 // of admitted units, in microseconds
				for range 1500 {
					advance(time.Duration(random.IntN(20)) * time.Millisecond)
					for range random.IntN(4) {
						cost := 1 + random.Int64N(3)
						if take(t, stores[random.IntN(3)], charge("hot", l, cost))[0].Allowed {
							for range cost {
								times = append(times, first.clock().UnixMicro())
							}
						}
					}
				}
				var hits uint64
				for _, s := range stores {
					hits += s.Stats().LeaseHits
				}
				if hits == 0 {
					t.Error("no request was answered from a lease")
				}
				checkLeaseBound(t, l, times)
			})
		}
	}
}

// checkLeaseBound compares with what the limit allows over every span that
// begins and ends with an admitted unit.
func checkLeaseBound(t *testing.T, l ratelimit.Limit, times []int64) {
	t.Helper()
	window, life := l.Window.Microseconds(), lifeOf(&l).Microseconds()
	for i := range times {
		for j := i; j < len(times); j += 1 + j%7 {
			span, units := times[j]-times[i]+life, int64(j-i+1)
			var most int64
			switch {
			case l.Algorithm.Bucket():
				most = l.Capacity() + l.Quota*span/window + 1
			default:
				// Exactly the quota per aligned window: units don't outlive it.
				most = l.Quota * (times[j]/window - times[i]/window + 1)
			}
			if units > most {
				t.Fatalf("%v: %d units in %d µs, want at most %d", l.Algorithm, units, times[j]-times[i], most)
			}
		}
	}
}

// TestLeaseUse measures what leases cost in utilisation: of a limit that is
// asked for twice as much as it allows, by three processes, nearly all is
// admitted.
func TestLeaseUse(t *testing.T) {
	server := redistest.Start(t)
	for _, l := range leased(1000, 10*time.Second) {
		first, advance := simulated(t, server.Client(), WithLease("policy", 100))
		stores := []*Store{first}
		for range 2 {
			stores = append(stores, open(t, server.Client(), WithPrefix(first.keys.prefix), withClock(first.clock), WithLease("policy", 100)))
		}
		admitted, window := 0, int64(0)
		for range 3 * 1000 {
			advance(10 * time.Millisecond)
			for i := range 2 {
				if take(t, stores[(int(window)+i)%3], charge("hot", l, 1))[0].Allowed {
					admitted++
				}
			}
			window++
		}
		share := float64(admitted) / 3000
		t.Logf("%v: %.3f of the limit was used under twice its load", l.Algorithm, share)
		if share < 0.9 {
			t.Errorf("%v: only %.3f of the limit was used", l.Algorithm, share)
		}
	}
}

// TestLeaseEnds gives back what nobody spends, by itself.
func TestLeaseEnds(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, server.Client(), WithLease("policy", 50))
	l := ratelimit.FixedWindow(1000, 24*time.Hour)
	for range 120 {
		take(t, s, charge("hot", l, 1))
	}
	if s.Stats().LeasedUnits == 0 {
		t.Fatal("nothing was taken ahead")
	}
	exact := open(t, server.Client(), WithPrefix(s.keys.prefix))
	redistest.Eventually(t, "unspent units are back", func() bool { return left(t, exact, "hot", l) == 880 })
	redistest.Eventually(t, "the key is forgotten", func() bool {
		s.leases.mu.Lock()
		defer s.leases.mu.Unlock()
		return len(s.leases.keys) == 0 && s.leases.timer == nil
	})
}

// TestLeaseReset does not spend what was taken before a key was reset.
func TestLeaseReset(t *testing.T) {
	server := redistest.Start(t)
	s, _ := simulated(t, server.Client(), WithLease("policy", 50))
	l := ratelimit.FixedWindow(1000, time.Hour)
	c := charge("hot", l, 1)
	for range 300 {
		take(t, s, c)
	}
	if err := s.Reset(context.Background(), []ratelimit.Key{c.Key()}); err != nil {
		t.Fatal(err)
	}
	admitted := 0
	for range 1500 {
		if take(t, s, c)[0].Allowed {
			admitted++
		}
	}
	if admitted != 1000 {
		t.Errorf("%d admitted after Reset, want 1000", admitted)
	}
}

// TestLeaseConcurrent hammers one key from many goroutines of two stores.
func TestLeaseConcurrent(t *testing.T) {
	server := redistest.Start(t)
	one, _ := simulated(t, server.Client(), WithLease("policy", 100))
	two := open(t, server.Client(), WithPrefix(one.keys.prefix), withClock(one.clock), WithLease("policy", 100))
	for _, l := range leased(4000, time.Hour) {
		var mu sync.Mutex
		admitted := int64(0)
		var wait sync.WaitGroup
		for i := range 40 {
			s := []*Store{one, two}[i%2]
			wait.Go(func() {
				mine := int64(0)
				for range 200 {
					if take(t, s, charge("hot", l, 1))[0].Allowed {
						mine++
					}
				}
				mu.Lock()
				admitted += mine
				mu.Unlock()
			})
		}
		wait.Wait()
		// What one has left the other can't have: at most a lease.
		if admitted > l.Capacity() || admitted < l.Capacity()-200 {
			t.Errorf("%v: %d admitted of %d", l.Algorithm, admitted, l.Capacity())
		}
	}
}
