package redisstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/redisstore/redistest"
)

// directly is whether a request that comes alone would be sent on its caller's
// goroutine, once nothing is under way.
func directly(l *lane) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lone && l.steady
}

func idle(l *lane) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.active) == 0 && l.abandoned == 0
}

// warm makes a request, which may fail on a machine that is busy.
func warm(s *Store) bool {
	return s.Take(context.Background(), []ratelimit.Charge{charge("warm", hourly, 1)}, make([]ratelimit.Result, 1)) == nil
}

// lone is a store whose lone requests are made on their callers' goroutines.
func lone(t *testing.T, address string, budget time.Duration) *Store {
	t.Helper()
	s := open(t, redis.NewClient(Interruptible(&redis.Options{Addr: address, ReadTimeout: time.Hour, WriteTimeout: time.Hour})), WithBudget(budget))
	redistest.Eventually(t, "a lone request needs no other goroutine", func() bool {
		return warm(s) && directly(s.router.first)
	})
	redistest.Eventually(t, "the next request is alone", func() bool { return idle(s.router.first) })
	return s
}

// Whose connections can't be interrupted hands every request over.
func TestDirectOnlyIfInterruptible(t *testing.T) {
	server := redistest.Start(t)
	for name, options := range map[string]*redis.Options{
		"plain":               {},
		"contexts obeyed":     {ContextTimeoutEnabled: true},
		"contexts not obeyed": {Dialer: Interruptible(&redis.Options{}).Dialer},
		"other timeouts":      Interruptible(&redis.Options{ReadTimeout: time.Millisecond * 50, WriteTimeout: 50 * time.Millisecond}),
	} {
		t.Run(name, func(t *testing.T) {
			options.Addr = server.Addr
			s := open(t, redis.NewClient(options), WithBudget(DefaultBudget))
			for range 5 {
				redistest.Eventually(t, "a request succeeds", func() bool { return warm(s) })
			}
			if directly(s.router.first) {
				t.Error("a request is made on its caller's goroutine")
			}
		})
	}
}

// A lone caller leaves when its budget or its context is over, and before Redis
// answers.
func TestDirectLeaves(t *testing.T) {
	server := redistest.Start(t)
	for _, c := range []struct {
		name   string
		budget time.Duration
		leave  func() (context.Context, context.CancelFunc)
		want   error
	}{
		{"budget", DefaultBudget, func() (context.Context, context.CancelFunc) { return context.WithCancel(context.Background()) }, ErrTimeout},
		{"deadline", time.Minute, func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(context.Background(), 50*time.Millisecond)
		}, context.DeadlineExceeded},
		{"cancelled", time.Minute, func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(50*time.Millisecond, cancel)
			return ctx, cancel
		}, context.Canceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			proxy := redistest.NewProxy(t, server.Addr)
			s := lone(t, proxy.Addr, c.budget)
			proxy.Hold()
			ctx, cancel := c.leave()
			defer cancel()
			passed := proxy.Passed()
			answer := make(chan error, 1)
			go func() {
				answer <- s.Take(ctx, []ratelimit.Charge{charge("client", hourly, 1)}, make([]ratelimit.Result, 1))
			}()
			select {
			case err := <-answer:
				if !errors.Is(err, c.want) || errors.Is(err, ErrTimeout) != errors.Is(c.want, ErrTimeout) {
					t.Errorf("Take: %v, want %v", err, c.want)
				}
			case <-time.After(guard):
				t.Error("the caller waits for the server's answer")
			}
			if now := proxy.Passed(); now != passed {
				t.Errorf("%d answers came through", now-passed)
			}
			if directly(s.router.first) {
				t.Error("the next request is in danger of the same")
			}
			proxy.Release()
			redistest.Eventually(t, "all is well again", func() bool {
				return warm(s) && directly(s.router.first)
			})
			look := make([]ratelimit.Result, 1)
			redistest.Eventually(t, "it is known what was counted", func() bool {
				return s.Take(context.Background(), []ratelimit.Charge{charge("client", hourly, 0)}, look) == nil
			})
			if n := look[0].Remaining; n < 99 {
				t.Errorf("%d were counted of a request that was sent once", 100-n)
			}
		})
	}
}

// A caller that leaves is no failure of Redis, and one whose budget is over is.
func TestDirectAndTheBreaker(t *testing.T) {
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr)
	s := lone(t, proxy.Addr, DefaultBudget)
	proxy.BlackHole()
	t.Cleanup(proxy.Release)
	ctx, cancel := context.WithTimeout(context.Background(), DefaultBudget/10)
	defer cancel()
	failures := func() uint32 { return s.router.first.breaker.gate.Counts().TotalFailures }
	before := failures()
	charges := []ratelimit.Charge{charge("client", hourly, 1)}
	if err := s.Take(ctx, charges, make([]ratelimit.Result, 1)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Take: %v, want its context's error", err)
	}
	if n := failures(); n != before {
		t.Errorf("%d failures, for a caller that left", n-before)
	}
	redistest.Eventually(t, "the breaker opens though no caller waits for its budget", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), DefaultBudget/10)
		defer cancel()
		return errors.Is(s.Take(ctx, charges, make([]ratelimit.Result, 1)), ErrBreakerOpen)
	})
}

// A caller that leaves while a half-open breaker waits for its call alone must
// not leave it waiting: nobody else would ever be let in. That a lone request
// is what probes happens where calls that were given up are answered late.
func TestDirectProbeLeaves(t *testing.T) {
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr)
	s := lone(t, proxy.Addr, time.Minute)
	b := s.router.first.breaker
	for range failuresToOpen {
		report, err := b.enter()
		if err != nil {
			t.Fatal(err)
		}
		report(ErrTimeout)
	}
	if !b.refuses() {
		t.Fatal("the breaker is not open")
	}
	redistest.Eventually(t, "the breaker is half-open", func() bool { return !b.refuses() })
	proxy.Hold()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := s.Take(ctx, []ratelimit.Charge{charge("client", hourly, 1)}, make([]ratelimit.Result, 1)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Take: %v, want its context's error", err)
	}
	proxy.Release()
	redistest.Eventually(t, "Redis is asked again", func() bool { return warm(s) })
}

// Answers that are lost, scripts that are forgotten.
func TestDirectFaults(t *testing.T) {
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr)
	s := lone(t, proxy.Addr, time.Minute)
	for range 3 {
		server.Do("SCRIPT", "FLUSH")
		take(t, s, charge("forgotten", hourly, 1))
		if !directly(s.router.first) {
			t.Error("a script that was forgotten is a failure")
		}
	}
	proxy.LoseAnswer()
	if err := s.Take(context.Background(), []ratelimit.Charge{charge("lost", hourly, 1)}, make([]ratelimit.Result, 1)); err == nil || ErrorKind(err) == "timeout" {
		t.Errorf("Take: %v, want a lost connection", err)
	}
	for who, want := range map[string]int64{"forgotten": 97, "lost": 99} {
		if n := left(t, s, who, hourly); n != want {
			t.Errorf("%s: %d left, want %d", who, n, want)
		}
	}
}

// Open makes clients of all kinds so.
func TestOpenIsDirect(t *testing.T) {
	server := redistest.Start(t)
	sentinel := redistest.StartSentinel(t)
	cluster := redistest.StartCluster(t, 0)
	for name, address := range map[string]string{
		"one server": "redis://" + server.Addr,
		"sentinel":   "redis://" + sentinel.Addr + "?master_name=" + redistest.MasterName,
		"cluster":    cluster.Addrs()[0] + "," + cluster.Addrs()[1],
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Open(address, WithPrefix(freshPrefix()), WithBudget(time.Second))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			redistest.Eventually(t, "a lone request needs no other goroutine", func() bool {
				_ = s.Take(context.Background(), []ratelimit.Charge{charge("client", hourly, 1)}, make([]ratelimit.Result, 1))
				l, _ := s.router.place(s.keyOf(charge("client", hourly, 1)))
				return directly(l)
			})
		})
	}
}

// What can't be reached is named.
func TestUnreachable(t *testing.T) {
	server := redistest.Prepare(t)
	s, err := Open("redis://" + server.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	redistest.Eventually(t, "a timeout says that the connection was refused", func() bool {
		err := s.Take(context.Background(), []ratelimit.Charge{charge("client", hourly, 1)}, make([]ratelimit.Result, 1))
		return errors.Is(err, ErrTimeout) && errors.Is(err, syscall.ECONNREFUSED) && ErrorKind(err) == "timeout"
	})
	server.Run()
	redistest.Eventually(t, "Redis is back", func() bool {
		return s.Take(context.Background(), []ratelimit.Charge{charge("client", hourly, 1)}, make([]ratelimit.Result, 1)) == nil
	})
	if cause := dialFailures.of(server.Addr); cause != nil {
		t.Errorf("still said to be unreachable: %v", cause)
	}
}

// A request is answered the same by itself and in a batch.
func TestBatchAnswersAsOne(t *testing.T) {
	server := redistest.Start(t)
	random := rand.New(rand.NewPCG(1, 2))
	now := time.UnixMicro(1_800_000_000_000_000)
	clock := func() time.Time { return now }
	single := open(t, server.Client(), withClock(clock), WithDenialCache(0, 0))
	batched := open(t, server.Client(), withClock(clock))
	modes := []ratelimit.Mode{ratelimit.ModeEnforce, ratelimit.ModeEnforce, ratelimit.ModeShadow, ratelimit.ModePeek, ratelimit.ModeForce, ratelimit.ModeOnDenial}
	for round := range 400 {
		now = now.Add(time.Duration(random.IntN(400_000)) * time.Microsecond)
		charges := make([]ratelimit.Charge, 1+random.IntN(6))
		batch := new(runner)
		batch.bySlot = make(map[uint32]*program)
		calls := make([]*call, len(charges))
		for i := range charges {
			l := five(int64(2+random.IntN(3)), time.Second)
			charges[i] = charge(fmt.Sprint("client", random.IntN(3)), l[random.IntN(len(l))], int64(random.IntN(3)))
			charges[i].Mode = modes[random.IntN(len(modes))]
			c := &charges[i]
			calls[i] = newCall()
			calls[i].items = append(calls[i].items, item{key: batched.keyOf(*c), limit: c.Limit, cost: c.Cost, mode: c.Mode})
			batch.calls = append(batch.calls, calls[i])
		}
		if err := batch.exchange(context.Background(), batched.router.first); err != nil {
			t.Fatal(err)
		}
		batch.finish()
		for i, c := range charges {
			<-calls[i].done
			want := take(t, single, c)[0]
			if calls[i].err != nil || calls[i].results[0] != want {
				t.Fatalf("round %d, charge %d of %d, %+v: %+v, %v\nby itself %+v", round, i, len(charges), c, calls[i].results[0], calls[i].err, want)
			}
		}
	}
}
