package prommetrics_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/prommetrics"
)

func wantError(t *testing.T, text string, f func() error) {
	t.Helper()
	if err := f(); err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("the error is %v, want %q", err, text)
	}
}

// everything makes every metric there is appear.
func everything(b *bench) {
	b.t.Helper()
	remote := &remoteStore{Store: b.store}
	for name, store := range map[string]ratelimit.Store{"memory": b.store, "remote": remote} {
		if err := b.metrics.Watch(name, store); err != nil {
			b.t.Fatal(err)
		}
	}
	serve(b.limiter(
		ratelimit.Policy{Name: "ip", Limit: ratelimit.FixedWindow(3, time.Hour)},
		ratelimit.Policy{Name: "trial", Limit: ratelimit.FixedWindow(1, time.Hour), Shadow: true},
	), 5, get("/"))
	b.on(&failing{err: errors.New("down")}, ratelimit.Policy{Name: "p", Limit: ratelimit.PerMinute(1)}).Allow(b.t.Context(), "k")
	b.metrics.Offender(b.t.Context(), ratelimit.Offender{Policy: "ip"})
	remote.call(ratelimit.StoreCall{Requests: 3, Duration: time.Millisecond})
	remote.call(ratelimit.StoreCall{Requests: 1, Duration: time.Second, Err: errors.New("down"), Late: true})
	remote.change(ratelimit.BreakerOpen)
}

// promtool's linter finds nothing to say.
func TestLint(t *testing.T) {
	b := newBench(t)
	everything(b)
	problems, err := testutil.GatherAndLint(b.registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
}

func TestNewNamesWhatIsWrongAndTheMend(t *testing.T) {
	registry := prometheus.NewRegistry()
	if _, err := prommetrics.New(registry); err != nil {
		t.Fatal(err)
	}
	again := func(r prometheus.Registerer) func() error {
		return func() error {
			_, err := prommetrics.New(r)
			return err
		}
	}
	wantError(t, "prommetrics: the registerer is nil: give one, such as prometheus.DefaultRegisterer", again(nil))
	wantError(t, "has Floodgate's metrics already: make one Metrics for all limiters and share it, or tell two apart with prometheus.WrapRegistererWith(", again(registry))

	// The mends work.
	if err := again(prometheus.WrapRegistererWithPrefix("second_", registry))(); err != nil {
		t.Errorf("with a prefix: %v", err)
	}
	labelled := prometheus.NewRegistry()
	for _, service := range []string{"a", "b"} {
		if err := again(prometheus.WrapRegistererWith(prometheus.Labels{"service": service}, labelled))(); err != nil {
			t.Errorf("with a label: %v", err)
		}
	}

	// Somebody else has a metric of that name: nothing is registered.
	taken := prometheus.NewRegistry()
	taken.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "rate_limit_near_limit_total", Help: "Something else."}))
	wantError(t, "give prometheus.WrapRegistererWithPrefix(prefix, registerer)", again(taken))
	if n, err := testutil.GatherAndCount(taken); n != 1 || err != nil {
		t.Errorf("%d series are registered after all (%v)", n, err)
	}
}

// The figures of two Metrics in one registry don't meet.
func TestTwoMetricsInOneRegistry(t *testing.T) {
	registry := prometheus.NewRegistry()
	for _, service := range []string{"a", "b"} {
		metrics, err := prommetrics.New(prometheus.WrapRegistererWith(prometheus.Labels{"service": service}, registry))
		if err != nil {
			t.Fatal(err)
		}
		if err := metrics.Watch("memory", newBench(t).store); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := testutil.GatherAndCount(registry, "rate_limit_store_keys"); n != 2 || err != nil {
		t.Errorf("%d series of rate_limit_store_keys (%v), want 2", n, err)
	}
}

// A source that is refused a hundred times its limit is an offender, once.
func TestOffenders(t *testing.T) {
	b := newBench(t)
	l := b.limiter(ratelimit.Policy{Name: "ip", Limit: ratelimit.FixedWindow(2, time.Hour)}, &ratelimit.Offenders{Notify: b.metrics.Offender})
	serve(l, 2+199, get("/"))
	b.want("rate_limit_offenders_total", map[string]float64{})
	serve(l, 500, get("/"))
	b.want("rate_limit_offenders_total", map[string]float64{`rate_limit_offenders_total{policy="ip"}`: 1})
}

func TestOffender(t *testing.T) {
	b := newBench(t, prommetrics.WithBounds(prommetrics.Bounds{Policies: 2}))
	b.limiter(ratelimit.Policy{Name: "a", Limit: ratelimit.PerMinute(1)}).Allow(t.Context(), "k")
	if value, there := b.samples()[`rate_limit_offenders_total{policy="a"}`]; !there || value != 0 {
		t.Errorf("before the first offender: %v, %v; want 0, so that the first is an increase", value, there)
	}
	for _, policy := range []string{"a", "b", "a", "c", "d"} {
		b.metrics.Offender(t.Context(), ratelimit.Offender{Policy: policy})
	}
	b.want("rate_limit_offenders_total", map[string]float64{
		`rate_limit_offenders_total{policy="a"}`:     2,
		`rate_limit_offenders_total{policy="b"}`:     1,
		`rate_limit_offenders_total{policy="other"}`: 2,
	})
}
