package redisstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/memstore"
	"github.com/go-floodgate/floodgate/redisstore/redistest"
)

// guard is the outer bound of what a test waits for one decision: far above
// the budget, far below the client's own timeouts.
const guard = 2 * time.Second

// watched is a store under faults and three limiters on it, one for each thing
// that a store failure may mean.
type watched struct {
	t      *testing.T
	store  *Store
	policy map[ratelimit.FailurePolicy]*ratelimit.Limiter

	mu     sync.Mutex
	failed int // calls since the last success
	opened int
}

// watch makes a store that is closed, and must have let go of everything, at
// the end of the test.
func watch(t *testing.T, client redis.UniversalClient) *watched {
	t.Helper()
	w := &watched{t: t, policy: make(map[ratelimit.FailurePolicy]*ratelimit.Limiter)}
	w.store = New(client, WithPrefix(freshPrefix()), WithBudget(300*time.Millisecond), WithObserver(Observer{
		Call: func(c Call) {
			if c.Late {
				return // of before
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.failed++; c.Err == nil {
				w.failed = 0
			}
		},
		Breaker: func(_ string, _, to BreakerState) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if to == BreakerOpen {
				w.opened++
			}
		},
	}))
	t.Cleanup(func() {
		if err := w.store.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		_ = client.Close()
		redistest.Eventually(t, "no call is left behind", func() bool { return w.store.Stats().Abandoned == 0 })
	})
	for _, on := range []ratelimit.FailurePolicy{ratelimit.FailOpen, ratelimit.FailClosed, ratelimit.FailLocal} {
		limiter, err := ratelimit.New(w.store,
			ratelimit.Policy{Name: on.String(), Limit: ratelimit.FixedWindow(1000, time.Hour), OnStoreFailure: on},
			ratelimit.Fallback(memstore.New(), 250), ratelimit.Logger(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(err)
		}
		w.policy[on] = limiter
	}
	return w
}

// allow decides within the guard.
func (w *watched) allow(on ratelimit.FailurePolicy, who string) ratelimit.Decision {
	w.t.Helper()
	answer := make(chan ratelimit.Decision, 1)
	go func() { answer <- w.policy[on].Allow(context.Background(), ratelimit.NamedKey(who)) }()
	select {
	case d := <-answer:
		return d
	case <-time.After(guard):
		w.t.Fatalf("no decision within %v", guard)
		return ratelimit.Decision{}
	}
}

// works checks that all is well.
func (w *watched) works() {
	w.t.Helper()
	for on := range w.policy {
		redistest.Eventually(w.t, "decisions are Redis'", func() bool {
			d := w.allow(on, "before")
			return !d.Degraded && d.Allowed
		})
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.opened = 0
}

// obeys checks that while Redis fails every policy does what it says, and that
// the breaker opens and makes an end of waiting.
func (w *watched) obeys() {
	w.t.Helper()
	for i := range 8 {
		who := fmt.Sprint("client", i%2)
		if d := w.allow(ratelimit.FailOpen, who); !d.Allowed || !d.Degraded || d.Reason != ratelimit.ReasonFailedOpen || d.Err == nil {
			w.t.Errorf("open: allowed %t, degraded %t, %v, error %v", d.Allowed, d.Degraded, d.Reason, d.Err)
		}
		if d := w.allow(ratelimit.FailClosed, who); d.Allowed || !d.Degraded || d.Reason != ratelimit.ReasonFailedClosed || d.Err == nil {
			w.t.Errorf("closed: allowed %t, degraded %t, %v, error %v", d.Allowed, d.Degraded, d.Reason, d.Err)
		}
	}
	admitted := 0
	for range 10 {
		d := w.allow(ratelimit.FailLocal, "local")
		if !d.Degraded || d.Err == nil {
			w.t.Errorf("local: degraded %t, error %v", d.Degraded, d.Err)
		}
		if d.Allowed {
			admitted++
		}
	}
	if admitted != 4 {
		w.t.Errorf("local: %d of 10 admitted, want 4, this process's share of 1000 among 250", admitted)
	}
	w.mu.Lock()
	opened := w.opened
	w.mu.Unlock()
	if opened == 0 {
		w.t.Error("the circuit breaker did not open")
	}
	if d := w.allow(ratelimit.FailOpen, "late"); !errors.Is(d.Err, ErrBreakerOpen) && !errors.Is(d.Err, ErrTimeout) {
		// A probe may be on its way, whatever it meets.
		w.t.Logf("with an open breaker: %v", d.Err)
	}
}

// recovers checks that, Redis being back, all is well again after at most three
// more calls that failed.
func (w *watched) recovers() {
	w.t.Helper()
	w.mu.Lock()
	w.failed = 0
	w.mu.Unlock()
	most := 0
	redistest.Eventually(w.t, "decisions are Redis' again", func() bool {
		d := w.allow(ratelimit.FailClosed, "after")
		w.mu.Lock()
		most = max(most, w.failed)
		w.mu.Unlock()
		return !d.Degraded && d.Allowed
	})
	if most > 3 {
		w.t.Errorf("%d probes failed after Redis was back, want at most 3", most)
	}
	for on := range w.policy {
		if d := w.allow(on, "recovered"); d.Degraded || !d.Allowed {
			w.t.Errorf("after the fault, %v: %v: %v", on, d.Reason, d.Err)
		}
	}
}

func TestKilledAndRestarted(t *testing.T) {
	for name, client := range clients() {
		t.Run(name, func(t *testing.T) {
			server := redistest.Start(t)
			w := watch(t, client(redis.Options{Addr: server.Addr}))
			w.works()
			server.Kill()
			w.obeys()
			server.Run() // with no script and no key
			w.recovers()
		})
	}
}

func TestPaused(t *testing.T) {
	for name, client := range clients() {
		t.Run(name, func(t *testing.T) {
			server := redistest.Start(t)
			w := watch(t, client(redis.Options{Addr: server.Addr, ReadTimeout: time.Second}))
			w.works()
			server.Pause()
			w.obeys()
			server.Resume()
			w.recovers()
		})
	}
}

// clients are clients whose calls the store hands to a goroutine of its own,
// and such whose calls it makes on the callers' if they are alone.
func clients() map[string]func(redis.Options) redis.UniversalClient {
	return map[string]func(redis.Options) redis.UniversalClient{
		"plain":         func(o redis.Options) redis.UniversalClient { return redis.NewClient(&o) },
		"interruptible": func(o redis.Options) redis.UniversalClient { return redis.NewClient(Interruptible(&o)) },
	}
}

func TestBlackHole(t *testing.T) {
	server := redistest.Start(t)
	for _, c := range []struct {
		name    string
		options *redis.Options
	}{
		{"defaults", &redis.Options{ReadTimeout: time.Second}},
		{"long timeouts and retries", &redis.Options{ReadTimeout: 5 * time.Second, MaxRetries: 5, ContextTimeoutEnabled: false}},
		{"contexts obeyed", &redis.Options{ContextTimeoutEnabled: true, PoolSize: 1}},
		{"interruptible", Interruptible(&redis.Options{})},
	} {
		t.Run(c.name, func(t *testing.T) {
			proxy := redistest.NewProxy(t, server.Addr)
			c.options.Addr = proxy.Addr
			w := watch(t, redis.NewClient(c.options))
			w.works()
			proxy.BlackHole()
			w.obeys()
			proxy.Release()
			w.recovers()
		})
	}
}

func TestStartWithRedisDown(t *testing.T) {
	server := redistest.Prepare(t)
	w := watch(t, server.Client())
	w.obeys()
	server.Run()
	w.recovers()
}

func TestWrongPassword(t *testing.T) {
	server := redistest.Start(t, "--requirepass", "right")
	w := watch(t, redis.NewClient(&redis.Options{Addr: server.Addr, Password: "wrong"}))
	w.obeys()
	admin := redis.NewClient(&redis.Options{Addr: server.Addr, Password: "right"})
	defer admin.Close()
	if err := admin.ConfigSet(context.Background(), "requirepass", "wrong").Err(); err != nil {
		t.Fatal(err)
	}
	w.recovers()
}

func TestMemoryFull(t *testing.T) {
	server := redistest.Start(t)
	w := watch(t, server.Client())
	w.works()
	server.Do("CONFIG", "SET", "maxmemory", "1")
	w.obeys()
	server.Do("CONFIG", "SET", "maxmemory", "0")
	w.recovers()
}

// TestDemotedMaster has the server become a replica, which refuses writes.
func TestDemotedMaster(t *testing.T) {
	server, master := redistest.Start(t), redistest.Start(t)
	w := watch(t, server.Client())
	w.works()
	server.Do("REPLICAOF", "127.0.0.1", master.Port)
	w.obeys()
	server.Do("REPLICAOF", "NO", "ONE")
	w.recovers()
}

// TestPoolExhausted has the application use every connection for something
// that blocks.
func TestPoolExhausted(t *testing.T) {
	for name, make := range clients() {
		t.Run(name, func(t *testing.T) {
			server := redistest.Start(t)
			client := make(redis.Options{Addr: server.Addr, PoolSize: 2, ReadTimeout: 10 * time.Second})
			w := watch(t, client)
			w.works()
			var wait sync.WaitGroup
			for range 2 {
				wait.Go(func() { client.BLPop(context.Background(), 0, "blocker") })
			}
			redistest.Eventually(t, "both connections block", func() bool {
				return client.PoolStats().TotalConns == 2 && client.PoolStats().IdleConns == 0
			})
			w.obeys()
			server.Do("RPUSH", "blocker", "1", "2")
			wait.Wait()
			w.recovers()
		})
	}
}

func TestSlow(t *testing.T) {
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr)
	w := watch(t, redis.NewClient(&redis.Options{Addr: proxy.Addr}))
	w.works()
	proxy.Delay(500 * time.Millisecond)
	w.obeys()
	proxy.Delay(0)
	w.recovers()
}
