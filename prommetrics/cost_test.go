package prommetrics_test

import (
	"context"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/adapter"
	"github.com/go-floodgate/floodgate/memstore"
	"github.com/go-floodgate/floodgate/prommetrics"
)

// middleware is what httplimit does of a request, without httpsnoop, which
// users of this module have no use for.
func middleware(l *ratelimit.Limiter, next http.Handler) http.Handler {
	engine := adapter.New[*http.Request]("middleware", l, nil).Mounted()
	passages := sync.Pool{New: func() any {
		p := new(passage)
		p.Keep()
		return p
	}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := passages.Get().(*passage)
		header := w.Header()
		defer p.end(&passages, header)
		p.Call.KnownByHeader(header)
		if !engine.Begin(&p.Passage, r, p, header) {
			_ = p.Refuse(func(r *http.Request, answer ratelimit.Answer) error { return adapter.WriteAnswer(w, r.Method, answer) })
			return
		}
		if p.Marks() {
			r = r.WithContext(&p.Call)
		}
		next.ServeHTTP(w, r)
	})
}

type passage struct{ adapter.Passage[*http.Request] }

func (p *passage) end(free *sync.Pool, known http.Header) {
	if p.Done() {
		free.Put(p)
	}
	runtime.KeepAlive(known)
}

func (p *passage) Context() context.Context            { return p.C.Context() }
func (p *passage) Method() string                      { return p.C.Method }
func (p *passage) RemoteAddr() string                  { return p.C.RemoteAddr }
func (p *passage) Header(name string) []string         { return p.C.Header[name] }
func (p *passage) Route() (pattern string, known bool) { return p.C.Pattern, p.C.Pattern != "" }

// discard is the cheapest ResponseWriter, so that what is measured is the
// middleware.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(int)             {}
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }

var (
	generous = ratelimit.Policy{Name: "per-ip", Limit: ratelimit.TokenBucket(1e9, time.Second, 1e9)}
	more     = ratelimit.Policies{
		generous,
		{Name: "per-route", Key: ratelimit.ByRoute(), Limit: ratelimit.TokenBucket(1e9, time.Second, 1e9)},
		{Name: "trial", Limit: ratelimit.PerDay(0), Shadow: true},
	}
	spent = ratelimit.Policy{Name: "per-ip", Limit: ratelimit.PerDay(0)}
)

// server serves one request after another, with metrics or without.
func server(t testing.TB, metered bool, policies ratelimit.Option) (serve func()) {
	t.Helper()
	options := []ratelimit.Option{policies, ratelimit.Logger(nil)}
	if metered {
		metrics, err := prommetrics.New(prometheus.NewRegistry())
		if err != nil {
			t.Fatal(err)
		}
		options = append(options, ratelimit.Observe(metrics.Observer()))
	}
	l, err := ratelimit.New(memstore.New(), options...)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /api/users/{id}", middleware(l, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/api/users/7", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.RemoteAddr = "192.0.2.1:4711"
	w := &discard{header: make(http.Header)}
	return func() {
		clear(w.header)
		mux.ServeHTTP(w, r)
	}
}

var servers = []struct {
	name     string
	policies ratelimit.Option
}{
	{"allowed", generous},
	{"three-policies", more},
	{"denied", spent},
}

// TestAllocations: metrics make none.
func TestAllocations(t *testing.T) {
	for _, s := range servers {
		without, with := allocations(server(t, false, s.policies)), allocations(server(t, true, s.policies))
		if with != without {
			t.Errorf("%s: %v allocations with metrics, %v without", s.name, with, without)
		}
	}
}

// allocations is the least that one of many runs makes: the race detector
// empties pools at random.
func allocations(f func()) float64 {
	f()
	least := testing.AllocsPerRun(1, f)
	for range 100 {
		least = min(least, testing.AllocsPerRun(1, f))
	}
	return least
}

// BenchmarkMiddleware alternates between a middleware with metrics and one
// without, in turns so short that both have the same machine, and reports by how
// much metrics slow the median turn down.
func BenchmarkMiddleware(b *testing.B) {
	for _, s := range servers {
		without, with := server(b, false, s.policies), server(b, true, s.policies)
		b.Run(s.name, func(b *testing.B) {
			const turn = 50
			var took [2][]time.Duration
			for b.Loop() {
				for i, serve := range []func(){without, with} {
					start := time.Now()
					for range turn {
						serve()
					}
					took[i] = append(took[i], time.Since(start)/turn)
				}
			}
			median := func(turns []time.Duration) float64 {
				slices.Sort(turns)
				return float64(turns[len(turns)/2])
			}
			bare, metered := median(took[0]), median(took[1])
			b.ReportMetric(bare, "ns/without")
			b.ReportMetric(metered, "ns/with")
			b.ReportMetric(100*(metered-bare)/bare, "%added")
		})
	}
}
