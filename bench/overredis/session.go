package overredis

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/go-floodgate/floodgate/bench/measure"
)

// Kind is the kind of session that measures here.
const Kind = "redis"

// Metrics beside those of package measure.
const (
	ClientCPU = "client"  // microseconds per decision, all that the process needs
	ServerCPU = "server"  // the same of Redis
	Scripts   = "scripts" // calls of scripts per second
)

// session is a contender's under one load.
type session struct {
	contender Contender
	load      Load
	limiter   *Limiter
	// direct asks the server what it used, without the proxy.
	direct *redis.Client
}

// id names a contender under a load.
func id(c Contender, l Load, policies int) string {
	return fmt.Sprintf("%s|%s|%d", c.Name, l.Name, policies)
}

// NewSession begins a session of a contender.
func NewSession(name string) (measure.Session, error) {
	for policies, contenders := range map[int][]Contender{1: All(), 3: Three()} {
		for _, c := range contenders {
			for _, l := range []Load{manyKeys, hotKeys, deniedKey} {
				if id(c, l, policies) == name {
					return &session{contender: c, load: l}, nil
				}
			}
		}
	}
	return nil, fmt.Errorf("overredis: no contender is called %q", name)
}

func (s *session) Close() error {
	if s.limiter == nil {
		return nil
	}
	s.limiter.Close()
	return s.direct.Close()
}

// Do has goroutines decide for a while, about Order.Keys keys at most. Order.Address is that of the Redis to be
// measured, and, behind a space, the one to be asked what it used.
func (s *session) Do(o measure.Order) (map[string]float64, error) {
	address, direct, _ := strings.Cut(o.Address, " ")
	if s.limiter == nil {
		if o.Keys > 0 {
			s.load.Keys = min(s.load.Keys, o.Keys)
		}
		limiter, err := s.contender.New(address, s.load)
		if err != nil {
			return nil, err
		}
		s.limiter, s.direct = &limiter, redis.NewClient(&redis.Options{Addr: direct})
		if _, err := s.limiter.Ask(context.Background(), 0); err != nil {
			return nil, err
		}
		if _, err := s.decide(o.Goroutines, o.For/4); err != nil { // connections, scripts, the first batches
			return nil, err
		}
	}
	runtime.GC()
	before, err := s.usage()
	if err != nil {
		return nil, err
	}
	done, err := s.decide(o.Goroutines, o.For)
	if err != nil {
		return nil, err
	}
	after, err := s.usage()
	if err != nil {
		return nil, err
	}
	n := float64(max(done.decisions, 1))
	return map[string]float64{
		measure.Nanoseconds: float64(done.took.Nanoseconds()) / n,
		measure.P50:         measure.Percentile(done.times, 50), measure.P99: measure.Percentile(done.times, 99),
		measure.Allocs: (after.allocs - before.allocs) / n,
		ClientCPU:      (after.client - before.client) / n,
		ServerCPU:      (after.server - before.server) / n,
		Scripts:        (after.scripts - before.scripts) / done.took.Seconds(),
	}, nil
}

// done is what was decided.
type done struct {
	decisions int
	times     []time.Duration
	took      time.Duration
}

// remembered is of how many decisions a goroutine remembers the times.
const remembered = 1 << 14

func (s *session) decide(goroutines int, d time.Duration) (done, error) {
	var (
		stop     atomic.Bool
		wait     sync.WaitGroup
		times    = make([][]time.Duration, goroutines)
		counts   = make([]int, goroutines)
		failures = make([]error, goroutines)
		// A hung server ends the measurement, not only slows it down.
		ctx, cancel = context.WithTimeout(context.Background(), d+time.Minute)
	)
	defer cancel()
	want := s.load.Name != deniedKey.Name || s.contender.Floor
	start := time.Now()
	for g := range goroutines {
		times[g] = make([]time.Duration, 0, remembered)
		wait.Go(func() {
			for i := g; !stop.Load(); i += goroutines {
				asked := time.Now()
				allowed, err := s.limiter.Ask(ctx, i)
				if err == nil && allowed != want {
					err = fmt.Errorf("overredis: %s says %t to a request of load %q", s.contender.Name, allowed, s.load.Name)
				}
				if err != nil {
					failures[g] = err
					return
				}
				if len(times[g]) < remembered {
					times[g] = append(times[g], time.Since(asked))
				}
				counts[g]++
			}
		})
	}
	time.Sleep(d)
	stop.Store(true)
	wait.Wait()
	out := done{took: time.Since(start), times: slices.Concat(times...)}
	for _, n := range counts {
		out.decisions += n
	}
	return out, errors.Join(failures...)
}

// usage is what was used so far: microseconds, allocations, calls.
type usage struct{ client, server, allocs, scripts float64 }

func (s *session) usage() (usage, error) {
	var u usage
	info, err := s.direct.Info(context.Background(), "cpu", "commandstats").Result()
	if err != nil {
		return u, err
	}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "used_cpu_sys", "used_cpu_user":
			seconds, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return u, err
			}
			u.server += seconds * 1e6
		case "cmdstat_eval", "cmdstat_evalsha", "cmdstat_fcall":
			calls, _, _ := strings.Cut(strings.TrimPrefix(value, "calls="), ",")
			n, err := strconv.ParseFloat(calls, 64)
			if err != nil {
				return u, err
			}
			u.scripts += n
		}
	}
	used, err := measure.CPU()
	if err != nil {
		return u, err
	}
	u.client = float64(used.Nanoseconds()) / 1000
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u.allocs = float64(m.Mallocs)
	return u, nil
}
