package redisstore

import (
	"context"
	"errors"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/redisstore/redistest"
)

// within is what a caller is answered who must not wait for ever.
func within(t *testing.T, take func() error) error {
	t.Helper()
	answer := make(chan error, 1)
	go func() { answer <- take() }()
	select {
	case err := <-answer:
		return err
	case <-time.After(10 * guard):
		t.Fatal("the caller waits beyond its budget")
		return nil
	}
}

// relay has a flight after the other be over and the next one begin at once,
// until the test ends, as when Redis fails one caller after the other.
func relay(t *testing.T, next func(flight chan struct{}) (last chan struct{})) {
	t.Helper()
	done, stopped := make(chan struct{}), make(chan struct{})
	next(make(chan struct{}))
	go func() {
		defer close(stopped)
		for {
			select {
			case <-done:
				close(next(nil))
				return
			case <-time.After(DefaultBudget / 10):
				close(next(make(chan struct{})))
			}
		}
	}()
	t.Cleanup(func() { close(done); <-stopped })
}

// A caller that waits for others, one after the other, has one budget for all
// of them.
func TestWaitingForOthersHasOneBudget(t *testing.T) {
	server := redistest.Start(t)
	results := make([]ratelimit.Result, 1)

	t.Run("lease", func(t *testing.T) {
		s, _ := simulated(t, server.Client(), WithLease("policy", 100))
		c := charge("client", ratelimit.TokenBucket(10_000, time.Minute, 10_000), 5)
		take(t, s, c)
		var held *lease
		for _, only := range s.leases.keys {
			held = only
		}
		held.asked = 1000 // it is hot
		relay(t, func(flight chan struct{}) chan struct{} {
			held.mu.Lock()
			defer held.mu.Unlock()
			last := held.flight
			held.flight, held.left = flight, 0
			return last
		})
		s.budget = DefaultBudget
		if err := within(t, func() error { return s.Take(context.Background(), []ratelimit.Charge{c}, results) }); !errors.Is(err, ErrTimeout) {
			t.Errorf("Take: %v, want a timeout", err)
		}
	})

	t.Run("denial", func(t *testing.T) {
		s, advance := simulated(t, server.Client())
		c := charge("client", ratelimit.FixedWindow(1, time.Hour), 1)
		take(t, s, c)
		take(t, s, c)
		advance(DefaultDenialAge)
		relay(t, func(flight chan struct{}) (last chan struct{}) {
			for i := range s.denials.shards {
				shard := &s.denials.shards[i]
				shard.mu.Lock()
				for _, known := range shard.entries {
					last = known.flight
					known.flight = flight
				}
				shard.mu.Unlock()
			}
			return last
		})
		s.budget = DefaultBudget
		if err := within(t, func() error { return s.Take(context.Background(), []ratelimit.Charge{c}, results) }); !errors.Is(err, ErrTimeout) {
			t.Errorf("Take: %v, want a timeout", err)
		}
	})
}

// Who has waited for another caller until its budget was over does not get a
// second one from Redis, and that is no failure of Redis.
func TestWaitedForOthersAsksNoLonger(t *testing.T) {
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr)
	s := lone(t, proxy.Addr, time.Minute)
	proxy.Hold()
	t.Cleanup(proxy.Release)
	r := newRequest(s)
	back := make(chan struct{})
	close(back)
	if err := r.await(context.Background(), back); err != nil || r.left() > time.Minute {
		t.Errorf("await: %v, %v left", err, r.left())
	}
	r.deadline = time.Now()
	charges := []ratelimit.Charge{charge("client", hourly, 1)}
	r.addKey(charges[0].Policy, charges[0].Partition, &charges[0].Limit)
	if err := within(t, func() error { return r.ask(context.Background(), charges, make([]ratelimit.Result, 1), false) }); !errors.Is(err, ErrTimeout) {
		t.Errorf("ask: %v, want a timeout", err)
	}
	if n := s.router.first.breaker.gate.Counts().TotalFailures; n != 0 {
		t.Errorf("%d failures", n)
	}
}
