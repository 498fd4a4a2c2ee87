package prommetrics_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/memstore"
	"github.com/go-floodgate/floodgate/prommetrics"
)

// bench is a registry with metrics, on a store in memory whose clock stands
// still.
type bench struct {
	t        *testing.T
	registry *prometheus.Registry
	metrics  *prommetrics.Metrics
	store    *memstore.Store
}

func newBench(t *testing.T, options ...prommetrics.Option) *bench {
	t.Helper()
	b := &bench{t: t, registry: prometheus.NewPedanticRegistry(), store: memstore.New(memstore.WithClock(noon))}
	var err error
	if b.metrics, err = prommetrics.New(b.registry, options...); err != nil {
		t.Fatal(err)
	}
	return b
}

func noon() time.Time { return time.Date(2027, 1, 15, 12, 0, 0, 0, time.UTC) }

// limiter is one on the bench's store, which the metrics observe.
func (b *bench) limiter(options ...ratelimit.Option) *ratelimit.Limiter {
	return b.on(b.store, options...)
}

func (b *bench) on(store ratelimit.Store, options ...ratelimit.Option) *ratelimit.Limiter {
	b.t.Helper()
	l, err := ratelimit.New(store, append(options, ratelimit.Observe(b.metrics.Observer()), ratelimit.Logger(nil))...)
	if err != nil {
		b.t.Fatal(err)
	}
	return l
}

// samples are all series there are, as "name{label="value",...}", with their
// values; of a histogram _count and the buckets.
func (b *bench) samples() map[string]float64 {
	b.t.Helper()
	families, err := b.registry.Gather()
	if err != nil {
		b.t.Fatal(err)
	}
	all := make(map[string]float64)
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			switch {
			case metric.GetHistogram() != nil:
				all[series(name+"_count", metric.GetLabel())] = float64(metric.GetHistogram().GetSampleCount())
				for _, bucket := range metric.GetHistogram().GetBucket() {
					le := &dto.LabelPair{Name: new("le"), Value: new(fmt.Sprint(bucket.GetUpperBound()))}
					all[series(name+"_bucket", append(slices.Clone(metric.GetLabel()), le))] = float64(bucket.GetCumulativeCount())
				}
			case metric.GetCounter() != nil:
				all[series(name, metric.GetLabel())] = metric.GetCounter().GetValue()
			default:
				all[series(name, metric.GetLabel())] = metric.GetGauge().GetValue()
			}
		}
	}
	return all
}

func series(name string, labels []*dto.LabelPair) string {
	var text strings.Builder
	for _, label := range labels {
		if label.GetValue() != "" {
			fmt.Fprintf(&text, ",%s=%q", label.GetName(), label.GetValue())
		}
	}
	return name + "{" + strings.TrimPrefix(text.String(), ",") + "}"
}

// want compares the series whose names begin so, 0 ones left out, with those
// that are wanted.
func (b *bench) want(prefix string, wanted map[string]float64) {
	b.t.Helper()
	b.compare(wanted, func(name string) bool { return strings.HasPrefix(name, prefix) })
}

// wantWithout compares all series but those whose names have part.
func (b *bench) wantWithout(part string, wanted map[string]float64) {
	b.t.Helper()
	b.compare(wanted, func(name string) bool { return !strings.Contains(name, part) })
}

func (b *bench) compare(wanted map[string]float64, meant func(name string) bool) {
	b.t.Helper()
	got := b.samples()
	maps.DeleteFunc(got, func(name string, value float64) bool { return value == 0 || !meant(name) })
	if maps.Equal(got, wanted) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if got[name] != wanted[name] {
			b.t.Errorf("%s is %v, want %v", name, got[name], wanted[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if _, there := got[name]; !there {
			b.t.Errorf("%s is missing, want %v", name, wanted[name])
		}
	}
}

// request is one request of a made-up framework.
type request struct {
	context             context.Context
	method, route, peer string
	apiKey              string
}

func get(route string) *request {
	return &request{context: context.Background(), method: "GET", route: route, peer: "192.0.2.1:4711"}
}

func (r *request) Context() context.Context { return r.context }
func (r *request) Method() string           { return r.method }
func (r *request) Route() (string, bool)    { return r.route, true }
func (r *request) RemoteAddr() string       { return r.peer }
func (r *request) User() string             { return "" }
func (r *request) Account() string          { return "" }

func (r *request) Header(name string) []string {
	if name == "X-Api-Key" && r.apiKey != "" {
		return []string{r.apiKey}
	}
	return nil
}

// serve has l decide n such requests.
func serve(l *ratelimit.Limiter, n int, r *request) {
	for range n {
		var call ratelimit.Call
		l.Begin(&call, r, http.Header{})
		call.Finish(http.StatusOK, false)
	}
}

// failing is a store that fails with what it is told, if that is not nil, and
// knows its errors.
type failing struct {
	ratelimit.Store
	err error
}

func (f *failing) Take(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
	if f.err != nil {
		return f.err
	}
	return f.Store.Take(ctx, charges, results)
}

func (f *failing) Reset(context.Context, []ratelimit.Key) error { return f.err }

func (f *failing) ErrorKind(err error) string { return err.Error() }
