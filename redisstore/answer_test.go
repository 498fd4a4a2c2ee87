package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/redisstore/redistest"
)

// open makes a store that ends with the test, and has no hurry.
func open(t testing.TB, client redis.UniversalClient, options ...Option) *Store {
	t.Helper()
	s := New(client, append([]Option{WithPrefix(freshPrefix()), WithBudget(time.Minute)}, options...)...)
	t.Cleanup(func() {
		_ = s.Close()
		_ = client.Close()
	})
	return s
}

func charge(who string, l ratelimit.Limit, cost int64) ratelimit.Charge {
	return ratelimit.Charge{Policy: "policy", Partition: ratelimit.Partition(who), Limit: l, Cost: cost}
}

func take(t testing.TB, s ratelimit.Store, charges ...ratelimit.Charge) []ratelimit.Result {
	t.Helper()
	results := make([]ratelimit.Result, len(charges))
	if err := s.Take(context.Background(), charges, results); err != nil {
		t.Fatalf("Take: %v", err)
	}
	return results
}

func left(t testing.TB, s ratelimit.Store, who string, l ratelimit.Limit) int64 {
	t.Helper()
	return take(t, s, charge(who, l, 0))[0].Remaining
}

var hourly = ratelimit.FixedWindow(100, time.Hour)

// TestAnswersBeforeTheServer proves by order, not by a clock, that a decision
// does not wait for Redis beyond its budget: the answer is let go only after
// the decision has returned.
func TestAnswersBeforeTheServer(t *testing.T) {
	server := redistest.Start(t)
	for name, options := range map[string]redis.Options{
		"defaults":            {},
		"contexts obeyed":     {ContextTimeoutEnabled: true},
		"a minute to read":    {ReadTimeout: time.Minute, WriteTimeout: time.Minute, MaxRetries: 10},
		"never gives up":      {ReadTimeout: -1, WriteTimeout: -1},
		"a single connection": {PoolSize: 1, PoolTimeout: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			proxy := redistest.NewProxy(t, server.Addr)
			options.Addr = proxy.Addr
			s := open(t, redis.NewClient(&options), WithBudget(DefaultBudget))
			redistest.Eventually(t, "a first decision", func() bool {
				return s.Take(context.Background(), []ratelimit.Charge{charge("warm", hourly, 1)}, make([]ratelimit.Result, 1)) == nil
			})
			proxy.Hold()
			passed := proxy.Passed()
			var wait sync.WaitGroup
			for i := range 20 {
				wait.Go(func() {
					err := s.Take(context.Background(), []ratelimit.Charge{charge(fmt.Sprint("client", i), hourly, 1)}, make([]ratelimit.Result, 1))
					if !errors.Is(err, ErrTimeout) && !errors.Is(err, ErrBreakerOpen) {
						t.Errorf("Take: %v, want a timeout", err)
					}
				})
			}
			done := make(chan struct{})
			go func() { wait.Wait(); close(done) }()
			select {
			case <-done:
			case <-time.After(guard):
				t.Errorf("decisions wait for the server's answer")
			}
			if now := proxy.Passed(); now != passed {
				t.Errorf("%d answers came through", now-passed)
			}
			proxy.Release()
			<-done
			redistest.Eventually(t, "calls left behind come back", func() bool { return s.Stats().Abandoned == 0 })
		})
	}
}

// TestLostAnswer drops an answer after the script has run: the request fails
// and counts once.
func TestLostAnswer(t *testing.T) {
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr)
	s := open(t, redis.NewClient(&redis.Options{Addr: proxy.Addr, MaxRetries: 5, MinRetryBackoff: -1}))
	take(t, s, charge("warm", hourly, 1))
	for i := range 3 {
		who := fmt.Sprint("client", i)
		proxy.LoseAnswer()
		err := s.Take(context.Background(), []ratelimit.Charge{charge(who, hourly, 1)}, make([]ratelimit.Result, 1))
		if err == nil {
			t.Error("Take: no error, though the answer was lost")
		}
		if n := proxy.Lost(); n != i+1 {
			t.Fatalf("%d answers were lost, want %d", n, i+1)
		}
		if n := left(t, s, who, hourly); n != 99 {
			t.Errorf("a request whose answer was lost counts %d, want 1", 100-n)
		}
	}
}

// TestUnknownScript has the server forget the script between requests, alone
// and many at a time.
func TestUnknownScript(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, server.Client(), WithBudget(10*time.Second))
	for range 5 {
		server.Do("SCRIPT", "FLUSH")
		take(t, s, charge("client", hourly, 1))
	}
	if n := left(t, s, "client", hourly); n != 95 {
		t.Errorf("5 requests after a SCRIPT FLUSH each: %d left of 100, want 95", n)
	}
	var wait sync.WaitGroup
	for range 50 {
		wait.Go(func() { take(t, s, charge("many", hourly, 1)) })
		wait.Go(func() { server.Do("SCRIPT", "FLUSH") })
	}
	wait.Wait()
	if n := left(t, s, "many", hourly); n != 50 {
		t.Errorf("50 requests beside SCRIPT FLUSH: %d left of 100, want 50", n)
	}
}

// TestCancelled cancels 100 requests at once: each gets its own context's
// error, and that is no failure of Redis.
func TestCancelled(t *testing.T) {
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr)
	var states []BreakerState
	s := open(t, redis.NewClient(&redis.Options{Addr: proxy.Addr}), WithBudget(time.Minute), WithObserver(Observer{
		Breaker: func(_ string, _, to BreakerState) { states = append(states, to) },
	}))
	take(t, s, charge("warm", hourly, 1))
	proxy.Hold()
	ctx, cancel := context.WithCancel(context.Background())
	var wait, other sync.WaitGroup
	for i := range 100 {
		wait.Go(func() {
			err := s.Take(ctx, []ratelimit.Charge{charge(fmt.Sprint("client", i%7), hourly, 1)}, make([]ratelimit.Result, 1))
			if !errors.Is(err, context.Canceled) {
				t.Errorf("Take of a cancelled request: %v", err)
			}
		})
	}
	// One that is not cancelled, in the same batches, gets its answer.
	for range 3 {
		other.Go(func() { take(t, s, charge("patient", hourly, 1)) })
	}
	redistest.Eventually(t, "some are sent, none is about to be", func() bool {
		l := s.router.first
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.active) > 0 && l.pending == 0
	})
	cancel()
	wait.Wait()
	proxy.Release()
	other.Wait()
	if n := left(t, s, "patient", hourly); n != 97 {
		t.Errorf("3 requests beside cancelled ones: %d left of 100, want 97", n)
	}
	if len(states) > 0 || s.router.first.breaker.refuses() {
		t.Errorf("the circuit breaker changed: %v", states)
	}
}

// TestOpenBreakerAsksNobody counts what reaches the server while the breaker
// is open.
func TestOpenBreakerAsksNobody(t *testing.T) {
	server := redistest.Start(t)
	server.Do("CONFIG", "SET", "maxmemory", "1")
	s := open(t, server.Client())
	refused := 0
	for range 200 {
		err := s.Take(context.Background(), []ratelimit.Charge{charge("client", hourly, 1)}, make([]ratelimit.Result, 1))
		if errors.Is(err, ErrBreakerOpen) {
			refused++
		}
	}
	calls := server.Calls("evalsha") + server.Calls("eval")
	if refused < 150 || calls > 2*(200-refused) {
		t.Errorf("of 200 requests to a server that fails %d were refused at once and %d commands were sent", refused, calls)
	}
	if stats := s.Stats(); stats.BreakerRefusals != uint64(refused) || stats.FailedCalls == 0 {
		t.Errorf("%d refusals, stats %+v", refused, stats)
	}
}

func TestClosed(t *testing.T) {
	server := redistest.Start(t)
	s, err := Open("redis://" + server.Addr)
	if err != nil {
		t.Fatal(err)
	}
	take(t, s, charge("client", hourly, 1))
	for range 2 {
		if err := s.Close(); err != nil && !errors.Is(err, redis.ErrClosed) {
			t.Errorf("Close: %v", err)
		}
	}
	err = s.Take(context.Background(), []ratelimit.Charge{charge("client", hourly, 1)}, make([]ratelimit.Result, 1))
	if !errors.Is(err, ErrClosed) {
		t.Errorf("Take after Close: %v, want %v", err, ErrClosed)
	}
}
