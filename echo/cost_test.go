package echolimit_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	ratelimit "github.com/go-floodgate/floodgate/core"
	echolimit "github.com/go-floodgate/floodgate/echo"
	"github.com/go-floodgate/floodgate/memstore"
)

// discard is the cheapest ResponseWriter, so that what is measured is the
// middleware.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(int)             {}
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }

func bare(use ...echo.MiddlewareFunc) http.Handler {
	e := echo.New()
	e.Use(use...)
	e.GET("/", func(echo.Context) error { return nil })
	return e
}

func limited(t testing.TB, policy ratelimit.Policy) http.Handler {
	t.Helper()
	return bare(echolimit.New(newLimiter(t, memstore.New(), policy)))
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

// TestAllocations bounds what an allowed request costs beside Echo and the
// handler, with all fields set. (The fields' lines are allocated for several
// responses at once.)
func TestAllocations(t *testing.T) {
	const most = 0
	if added := allocations(serveTo(t, limited(t, generous))) - allocations(serveTo(t, bare())); added > most {
		t.Errorf("an allowed request makes %v allocations, want at most %d", added, most)
	}
}

// allocations is the least that one of many runs makes: the race detector
// empties pools at random.
func allocations(f func()) float64 {
	least := testing.AllocsPerRun(1, f)
	for range 100 {
		least = min(least, testing.AllocsPerRun(1, f))
	}
	return least
}

func BenchmarkMiddleware(b *testing.B) {
	counted, routed := generous, generous
	counted.Counts = ratelimit.CountFailures
	routed.Key = ratelimit.ByRoute()
	for _, c := range []struct {
		name   string
		server http.Handler
	}{
		{"bare", bare()},
		{"allowed", limited(b, generous)},
		{"allowed-by-outcome", limited(b, counted)},
		{"allowed-by-route", limited(b, routed)},
		{"denied", limited(b, spent)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			serve := serveTo(b, c.server)
			for b.Loop() {
				serve()
			}
		})
	}
}
