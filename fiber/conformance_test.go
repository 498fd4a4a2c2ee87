package fiberlimit_test

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/recover"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/adaptertest"
	fiberlimit "github.com/go-floodgate/floodgate/fiber"
)

// TestConformance runs with views into the buffers of requests, as is usual,
// and with Immutable, where Fiber copies them.
func TestConformance(t *testing.T) {
	for name, immutable := range map[string]bool{"views": false, "immutable": true} {
		t.Run(name, func(t *testing.T) {
			adaptertest.Run(t, adaptertest.Harness{
				Serve: func(t testing.TB, l net.Listener, site adaptertest.Site) {
					t.Helper()
					serve(t, l, fiber.Config{Immutable: immutable, DisableStartupMessage: true}, site)
				},
				Lacks: adaptertest.ClientGone | adaptertest.Writer,
			})
		})
	}
}

func serve(t testing.TB, l net.Listener, cfg fiber.Config, site adaptertest.Site) {
	t.Helper()
	if site.OnError != nil {
		cfg.ErrorHandler = func(c *fiber.Ctx, err error) error { return site.OnError(visit{c}, err) }
	}
	app := fiber.New(cfg)
	if site.Recover {
		app.Use(recover.New())
	}
	build(app, site.Use, site.Routes)
	for _, group := range site.Groups {
		build(app.Group(group.Prefix), group.Use, group.Routes)
	}
	if site.Built != nil {
		site.Built(func(l *ratelimit.Limiter) error { return fiberlimit.CheckRoutes(l, app) })
	}
	ended := make(chan error, 1)
	go func() { ended <- app.Listener(l) }()
	t.Cleanup(func() {
		// Shutdown waits for 100 ms, and does nothing if Listener has not
		// begun yet.
		_ = l.Close()
		if err := <-ended; err != nil {
			t.Errorf("serving: %v", err)
		}
	})
}

func build(r fiber.Router, use []adaptertest.Middleware, routes []adaptertest.Route) {
	for _, m := range use {
		r.Use(middleware(m))
	}
	for _, route := range routes {
		var handlers []fiber.Handler
		for _, m := range route.Use {
			handlers = append(handlers, middleware(m))
		}
		handlers = append(handlers, func(c *fiber.Ctx) error { return route.Handler(visit{c}) })
		r.Add(route.Method, adaptertest.Spell(route.Pattern, ":name", "*"), handlers...)
	}
}

func middleware(m adaptertest.Middleware) fiber.Handler {
	if m.Limiter != nil {
		return fiberlimit.New(m.Limiter, adaptertest.ConfigOf(m.Config, exchange, fiberlimit.JSONField))
	}
	return func(c *fiber.Ctx) error {
		return m.Around(visit{c}, func(ctx context.Context) error {
			c.SetUserContext(ctx)
			return c.Next()
		})
	}
}

// visit is an Exchange of Fiber.
type visit struct{ c *fiber.Ctx }

func exchange(c *fiber.Ctx) adaptertest.Exchange { return visit{c} }

func (v visit) Context() context.Context              { return v.c.UserContext() }
func (v visit) Header(name string) string             { return v.c.Get(name) }
func (v visit) Body() ([]byte, error)                 { return v.c.Body(), nil }
func (v visit) SetHeader(name, value string)          { v.c.Set(name, value) }
func (v visit) Fail(status int) error                 { return fiber.NewError(status) }
func (v visit) Respond(status int, body string) error { return v.c.Status(status).SendString(body) }
func (visit) Writer() http.ResponseWriter             { return nil }

// Stream has the body sent after the handler has returned.
func (v visit) Stream(status int, f func(send func(chunk string) error) error) error {
	v.c.Status(status).Context().SetBodyStreamWriter(func(w *bufio.Writer) {
		_ = f(func(chunk string) error {
			if _, err := w.WriteString(chunk); err != nil {
				return err
			}
			return w.Flush()
		})
	})
	return nil
}

// Upgrade hands the connection over after the handler has returned.
func (v visit) Upgrade(f func(net.Conn)) error {
	v.c.Status(http.StatusSwitchingProtocols)
	v.c.Context().Hijack(func(conn net.Conn) { f(conn) })
	return nil
}
