package redisstore

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/redisstore/redistest"
)

// Observers added early and late are told of the same, and what is read of a
// store for metrics is what it counts.
func TestObserversAndFigures(t *testing.T) {
	server := redistest.Start(t)
	server.Do("CONFIG", "SET", "maxmemory", "1")
	var (
		mu     sync.Mutex
		calls  [3]int
		states [3][]BreakerState
	)
	observer := func(i int) Observer {
		return Observer{
			Call: func(c Call) {
				mu.Lock()
				defer mu.Unlock()
				calls[i] += c.Requests
			},
			Breaker: func(_ string, _, to BreakerState) {
				mu.Lock()
				defer mu.Unlock()
				states[i] = append(states[i], to)
			},
		}
	}
	s := open(t, server.Client(), WithObserver(observer(0)), WithObserver(Observer{}), WithObserver(observer(1)))
	s.Watch(observer(2))
	if f := figures(t, s); f["open_breakers"]+f["half_open_breakers"] != 0 {
		t.Errorf("a new store has breakers that are open: %v", f)
	}
	for range 50 {
		_ = s.Take(context.Background(), []ratelimit.Charge{charge("client", hourly, 1)}, make([]ratelimit.Result, 1))
	}
	redistest.Eventually(t, "all are told", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return calls[0] > 0 && calls[0] == calls[1] && calls[1] == calls[2] && uint64(calls[2]) == s.Stats().Requests
	})
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(states[0], states[1]) || !slices.Equal(states[1], states[2]) || !slices.Contains(states[2], BreakerOpen) {
		t.Errorf("told of the breaker: %v, want the same three times, with open", states)
	}
	stats, f := s.Stats(), figures(t, s)
	if f["open_breakers"]+f["half_open_breakers"] != 1 {
		t.Errorf("open breakers: %v, want 1", f)
	}
	if f["breaker_refusals"] != float64(stats.BreakerRefusals) || stats.BreakerRefusals == 0 {
		t.Errorf("breaker_refusals %v, want %d", f["breaker_refusals"], stats.BreakerRefusals)
	}
}

// Each of the Stats has its figure.
func TestFiguresOfDenialsAndLeases(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, server.Client(), WithLease("policy", 10))
	for range 1000 {
		take(t, s, charge("hot", ratelimit.FixedWindow(2000, time.Hour), 1))
	}
	for range 20 {
		refused := charge("refused", ratelimit.FixedWindow(1, time.Hour), 1)
		refused.Policy = "no leases"
		take(t, s, refused)
	}
	stats, f := s.Stats(), figures(t, s)
	for name, want := range map[string]uint64{
		"timeouts": stats.Timeouts, "given_back": stats.GivenBack, "denial_hits": stats.DenialHits, "lease_hits": stats.LeaseHits,
		"leased_units": stats.LeasedUnits, "lease_spent_units": stats.LeaseSpent,
	} {
		if f[name] != float64(want) {
			t.Errorf("%s is %v, want %d", name, f[name], want)
		}
	}
	if stats.LeaseSpent == 0 || stats.DenialHits == 0 || len(f) != 11 {
		t.Errorf("stats %+v and %d figures: want denials and leases to be of use, and 11", stats, len(f))
	}
}

func figures(t *testing.T, s ratelimit.MeasuredStore) map[string]float64 {
	t.Helper()
	all := make(map[string]float64)
	for _, f := range s.Figures() {
		if _, twice := all[f.Name]; twice || f.Help == "" {
			t.Errorf("the figure %q comes twice or says nothing", f.Name)
		}
		all[f.Name] = f.Value
	}
	return all
}
