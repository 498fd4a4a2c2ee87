package httplimit_test

import (
	"net/http"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/memstore"
	httplimit "github.com/go-floodgate/floodgate/nethttp"
)

// discard is the cheapest ResponseWriter, so that what is measured is the
// middleware.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(int)             {}
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }

func bare() http.Handler { return http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}) }

func limited(t testing.TB, policy ratelimit.Policy) http.Handler {
	t.Helper()
	return httplimit.Wrap(newLimiter(t, memstore.New(), policy), bare())
}

var (
	generous = ratelimit.Policy{Name: "per-ip", Limit: ratelimit.TokenBucket(1e9, time.Second, 1e9)}
	spent    = ratelimit.Policy{Name: "per-ip", Limit: ratelimit.PerDay(0)}
)

// serveTo serves one request after another to h.
func serveTo(t testing.TB, h http.Handler) func() {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.RemoteAddr = "192.0.2.1:4711"
	w := &discard{header: make(http.Header)}
	return func() {
		clear(w.header)
		h.ServeHTTP(w, r)
	}
}

// TestAllocations bounds what a request costs beside the handler, with all
// fields set. Those of most responses are allocated several at once.
func TestAllocations(t *testing.T) {
	once := ratelimit.Policy{Name: "per-ip", Limit: ratelimit.PerDay(1)}
	for name, c := range map[string]struct {
		policy ratelimit.Policy
		most   float64
	}{"an allowed": {generous, 0}, "a denied": {once, 0}, "a never allowed": {spent, 1}} {
		if added := allocations(serveTo(t, limited(t, c.policy))) - allocations(serveTo(t, bare())); added > c.most {
			t.Errorf("%s request makes %v allocations, want at most %v", name, added, c.most)
		}
	}
}

// allocations is the least that one of many runs makes: the race detector
// empties pools at random.
func allocations(f func()) float64 {
	least := testing.AllocsPerRun(1, f)
	for range 100 {
		f() // it runs f twice, and what is allocated for two would always be seen or never
		least = min(least, testing.AllocsPerRun(1, f))
	}
	return least
}

func BenchmarkMiddleware(b *testing.B) {
	counted := generous
	counted.Counts = ratelimit.CountFailures
	for _, c := range []struct {
		name    string
		handler http.Handler
	}{
		{"bare", bare()},
		{"allowed", limited(b, generous)},
		{"allowed-by-outcome", limited(b, counted)},
		{"denied", limited(b, spent)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			serve := serveTo(b, c.handler)
			for b.Loop() {
				serve()
			}
		})
	}
}
