package prommetrics_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/memstore"
)

// remoteStore is a store that tells what a test says.
type remoteStore struct {
	ratelimit.Store
	figures []ratelimit.Figure

	mu        sync.Mutex
	observers []ratelimit.StoreObserver
}

func (s *remoteStore) Figures() []ratelimit.Figure { return s.figures }

func (s *remoteStore) ErrorKind(err error) string { return err.Error() }

func (s *remoteStore) Watch(o ratelimit.StoreObserver) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observers = append(s.observers, o)
}

func (s *remoteStore) call(c ratelimit.StoreCall) {
	for _, o := range s.observers {
		o.Call(c)
	}
}

func (s *remoteStore) change(to ratelimit.BreakerState) {
	for _, o := range s.observers {
		o.Breaker("server", 0, to)
	}
}

// plain is a store that tells nothing.
type plain struct{ ratelimit.Store }

func TestCallsOfStores(t *testing.T) {
	b := newBench(t)
	remote := &remoteStore{}
	if err := b.metrics.Watch("redis", remote); err != nil {
		t.Fatal(err)
	}
	for _, c := range []ratelimit.StoreCall{
		{Requests: 1, Duration: 2 * time.Millisecond},
		{Requests: 5, Duration: 200 * time.Microsecond},
		{Requests: 200, Duration: 2 * time.Second, Late: true},
		{Requests: 1, Duration: time.Millisecond, Err: errors.New("network")},
		{Requests: 1, Duration: 3 * time.Second, Err: errors.New("network"), Late: true},
		{Requests: 2, Duration: time.Millisecond, Err: errors.New("timeout")},
	} {
		remote.call(c)
	}
	for _, to := range []ratelimit.BreakerState{ratelimit.BreakerOpen, ratelimit.BreakerHalfOpen, ratelimit.BreakerOpen, ratelimit.BreakerHalfOpen, ratelimit.BreakerClosed, 77} {
		remote.change(to)
	}
	b.wantWithout("_bucket", map[string]float64{
		`rate_limit_store_call_duration_seconds_count{outcome="ok",store="redis"}`:    3,
		`rate_limit_store_call_duration_seconds_count{outcome="error",store="redis"}`: 3,
		`rate_limit_store_batch_requests_count{store="redis"}`:                        6,
		`rate_limit_store_call_errors_total{kind="network",store="redis"}`:            2,
		`rate_limit_store_call_errors_total{kind="timeout",store="redis"}`:            1,
		`rate_limit_store_late_calls_total{store="redis"}`:                            2,
		`rate_limit_store_breaker_changes_total{state="open",store="redis"}`:          2,
		`rate_limit_store_breaker_changes_total{state="half_open",store="redis"}`:     2,
		`rate_limit_store_breaker_changes_total{state="closed",store="redis"}`:        1,
	})
	buckets := b.samples()
	for name, want := range map[string]float64{
		`rate_limit_store_call_duration_seconds_bucket{outcome="ok",store="redis",le="0.0001"}`:  0,
		`rate_limit_store_call_duration_seconds_bucket{outcome="ok",store="redis",le="0.00025"}`: 1,
		`rate_limit_store_call_duration_seconds_bucket{outcome="ok",store="redis",le="0.0025"}`:  2,
		`rate_limit_store_call_duration_seconds_bucket{outcome="ok",store="redis",le="1"}`:       2,
		`rate_limit_store_batch_requests_bucket{store="redis",le="1"}`:                           3,
		`rate_limit_store_batch_requests_bucket{store="redis",le="8"}`:                           5,
		`rate_limit_store_batch_requests_bucket{store="redis",le="128"}`:                         5,
	} {
		if got, there := buckets[name]; !there || got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

// Figures are read when they are asked for.
func TestFiguresOfStores(t *testing.T) {
	b := newBench(t)
	fallback := memstore.New(memstore.WithMaxKeys(50))
	remote := &remoteStore{figures: []ratelimit.Figure{{Name: "lease_hits", Help: "H.", Counter: true, Value: 3}, {Name: "open_breakers", Help: "B.", Value: 1}}}
	for name, store := range map[string]ratelimit.Store{"memory": b.store, "fallback": fallback, "redis": remote} {
		if err := b.metrics.Watch(name, store); err != nil {
			t.Fatal(err)
		}
	}
	l := b.limiter(ratelimit.Policy{Name: "ip", Limit: ratelimit.PerMinute(3)})
	for _, peer := range []string{"192.0.2.1:1", "192.0.2.2:1", "192.0.2.3:1"} {
		r := get("/")
		r.peer = peer
		serve(l, 2, r)
	}
	remote.figures[0].Value = 4
	remote.figures = append(remote.figures, ratelimit.Figure{Name: "unheard_of", Help: "A store that breaks its word.", Value: 1})
	b.want("rate_limit_store_", map[string]float64{
		`rate_limit_store_keys{store="memory"}`:            3,
		`rate_limit_store_max_keys{store="memory"}`:        1 << 20,
		`rate_limit_store_max_keys{store="fallback"}`:      50,
		`rate_limit_store_lease_hits_total{store="redis"}`: 4,
		`rate_limit_store_open_breakers{store="redis"}`:    1,
	})
	if n, err := testutil.GatherAndCount(b.registry, "rate_limit_store_forgotten_keys_total"); n != 2 || err != nil {
		t.Errorf("%d series of evictions (%v), want one for each store in memory", n, err)
	}
}

func TestWatchNamesWhatIsWrongAndTheMend(t *testing.T) {
	b := newBench(t)
	figures := func(all ...ratelimit.Figure) ratelimit.Store { return &remoteStore{figures: all} }
	if err := b.metrics.Watch("first", figures(ratelimit.Figure{Name: "keys", Value: 1})); err != nil {
		t.Fatal(err)
	}
	before := len(b.samples())
	for _, test := range []struct {
		name  string
		store ratelimit.Store
		mend  string
	}{
		{"a", nil, "the store is nil: give one"},
		{"a", (*memstore.Store)(nil), "the store is nil: give one"},
		{"", b.store, "the name is no label: say in a word which store it is"},
		{"\xff", b.store, "the name is no label"},
		{"a", plain{b.store}, "a prommetrics_test.plain tells nothing of itself"},
		{"first", b.store, "the name is taken: give each store its own, and watch each once"},
		{"a", figures(ratelimit.Figure{Name: "keys", Counter: true}), `the figure "keys" is a counter in one store and a level in another`},
		{"a", figures(ratelimit.Figure{Name: "x"}, ratelimit.Figure{Name: "x"}), `the store has two figures "x": it has to name them apart`},
		{"a", figures(ratelimit.Figure{Name: "Keys"}), "snake_case"},
		{"a", figures(ratelimit.Figure{Name: "keys_total"}), "snake_case"},
		{"a", figures(ratelimit.Figure{Name: "batch_requests"}), "a word of its own"},
	} {
		wantError(t, "prommetrics: Watch(", func() error { return b.metrics.Watch(test.name, test.store) })
		wantError(t, test.mend, func() error { return b.metrics.Watch(test.name, test.store) })
	}
	if after := len(b.samples()); after != before {
		t.Errorf("%d series, %d before: something was watched after all", after, before)
	}
}
