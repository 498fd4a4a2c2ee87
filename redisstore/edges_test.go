package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/redisstore/redistest"
)

// TestProbeIsLeft has every caller leave before its budget is over, so that
// none of them tells the breaker that a probe has no answer.
func TestProbeIsLeft(t *testing.T) {
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr)
	proxy.BlackHole()
	var opened atomic.Int32
	s := open(t, redis.NewClient(&redis.Options{Addr: proxy.Addr, ReadTimeout: time.Minute}), WithBudget(DefaultBudget), WithObserver(Observer{
		Breaker: func(_ string, _, to BreakerState) {
			if to == BreakerOpen {
				opened.Add(1)
			}
		},
	}))
	t.Cleanup(proxy.Release)
	redistest.Eventually(t, "the breaker opens again after each probe", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), DefaultBudget/10)
		defer cancel()
		_ = s.Take(ctx, []ratelimit.Charge{charge("client", hourly, 1)}, make([]ratelimit.Result, 1))
		return opened.Load() > 2
	})
}

// TestRememberedWait has a denial be long on its way to Redis and back: who
// then waits as long as the cache says must pass.
func TestRememberedWait(t *testing.T) {
	server := redistest.Start(t)
	var now, step atomic.Int64 // in milliseconds; each look at the clock takes a step
	now.Store(1_800_000_000_000)
	clock := func() time.Time { return time.UnixMilli(now.Add(step.Load())) }
	for _, l := range five(2, 500*time.Millisecond) {
		step.Store(0)
		s := open(t, server.Client(), withClock(clock))
		ask := func() ratelimit.Result { return take(t, s, charge("client", l, 1))[0] }
		ask()
		ask()
		step.Store(10)
		asked := ask()
		step.Store(0)
		told := ask()
		if asked.Allowed || told.Allowed || s.Stats().DenialHits != 1 {
			t.Fatalf("%v: want one denial from Redis and one from memory: %+v, %+v", l.Algorithm, asked, told)
		}
		now.Add(told.RetryAfter.Milliseconds() + 1)
		if r := ask(); !r.Allowed {
			t.Errorf("%v: told to wait %v, and then %v more", l.Algorithm, told.RetryAfter, r.RetryAfter)
		}
	}
}

// TestClosedEverywhere closes a store that remembers a denial and has servers
// it has never asked.
func TestClosedEverywhere(t *testing.T) {
	server := redistest.Start(t)
	addrs := make(map[string]string)
	for i := range 20 {
		addrs[fmt.Sprint("server", i)] = server.Addr
	}
	s := open(t, redis.NewRing(&redis.RingOptions{Addrs: addrs}))
	full := charge("client", ratelimit.FixedWindow(1, time.Hour), 1)
	take(t, s, full)
	take(t, s, full)
	for range 2 {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	charges := []ratelimit.Charge{full}
	for i := range 20 {
		if err := s.Take(context.Background(), charges, make([]ratelimit.Result, 1)); !errors.Is(err, ErrClosed) {
			t.Errorf("Take after Close: %v, want %v", err, ErrClosed)
		}
		charges[0] = charge(fmt.Sprint("client", i), hourly, 1)
	}
}

// TestLogWithoutEntries gives back units of a log that only says it holds some.
func TestLogWithoutEntries(t *testing.T) {
	server := redistest.Start(t)
	client := server.Client()
	s := open(t, client)
	c := charge("client", ratelimit.SlidingLog(3, time.Hour), 1)
	for _, rest := range []string{"", strings.Repeat("\x00", 14)} {
		spoilt := strings.Repeat("\x00", 7) + "\x09" + strings.Repeat("\x00", 6) + rest
		if err := client.Set(context.Background(), s.keyOf(c), spoilt, 0).Err(); err != nil {
			t.Fatal(err)
		}
		err := s.Adjust(context.Background(), []ratelimit.Adjustment{{
			Policy: c.Policy, Partition: c.Partition, Limit: c.Limit, At: time.Now().UnixMicro(), Cost: 1,
		}})
		if err != nil {
			t.Errorf("Adjust: %v", err)
		}
		if r := take(t, s, c)[0]; !r.Allowed {
			t.Errorf("a damaged log denies: %+v", r)
		}
	}
}
