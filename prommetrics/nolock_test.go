package prommetrics

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/memstore"
)

// Once its series are there a decision takes no lock, also one that is counted
// under "other"; and the store is not timed for it.
func TestDecisionsTakeNoLock(t *testing.T) {
	m, err := New(prometheus.NewRegistry(), WithBounds(Bounds{Policies: 1, Routes: 1, Series: 1}))
	if err != nil {
		t.Fatal(err)
	}
	if !m.Observer().Untimed {
		t.Error("the clock is read for metrics that have no use for the time")
	}
	var limits []*ratelimit.Limiter
	for _, name := range []string{"first", "beyond the bound"} {
		l, err := ratelimit.New(memstore.New(), ratelimit.Policy{Name: name, Limit: ratelimit.PerMinute(1)},
			ratelimit.Observe(m.Observer()), ratelimit.Logger(nil))
		if err != nil {
			t.Fatal(err)
		}
		limits = append(limits, l)
	}
	decide := func() {
		for _, l := range limits {
			l.Allow(t.Context(), "admitted and refused")
			m.decided(t.Context(), &ratelimit.Observation{Decision: &ratelimit.Decision{}, Method: "GET", Route: "/beyond/the/bound"})
		}
	}
	for range 3 {
		decide()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		decide()
	}()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Fatal("a decision waits for a lock")
	}
}
