package fiberlimit_test

import (
	"net"
	"testing"
	"time"

	"github.com/gofiber/fiber/v3"
	"github.com/valyala/fasthttp"

	ratelimit "github.com/go-floodgate/floodgate/core"
	fiberlimit "github.com/go-floodgate/floodgate/fiberv3"
	"github.com/go-floodgate/floodgate/memstore"
)

func bare(use ...fiber.Handler) *fiber.App {
	app := fiber.New()
	for _, handler := range use {
		app.Use(handler)
	}
	app.Get("/", func(fiber.Ctx) error { return nil })
	return app
}

func limited(t testing.TB, policy ratelimit.Policy) *fiber.App {
	t.Helper()
	return bare(fiberlimit.New(newLimiter(t, memstore.New(), policy, ratelimit.Logger(nil))))
}

var (
	generous = ratelimit.Policy{Name: "per-ip", Limit: ratelimit.TokenBucket(1e9, time.Second, 1e9)}
	spent    = ratelimit.Policy{Name: "per-ip", Limit: ratelimit.PerDay(0)}
)

// serveTo serves one request after another to app.
func serveTo(_ testing.TB, app *fiber.App) func() {
	handler := app.Handler()
	var ctx fasthttp.RequestCtx
	ctx.Init(new(fasthttp.Request), &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 4711}, nil)
	return func() {
		ctx.Response.Reset()
		ctx.ResetUserValues()
		handler(&ctx)
	}
}

// TestAllocations has an allowed request cost nothing beside Fiber and the
// handler, with all fields set.
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
		server *fiber.App
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
