package fiberlimit_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gofiber/fiber/v2"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/adaptertest"
	fiberlimit "github.com/go-floodgate/floodgate/fiber"
)

// TestCheckRoutesOfAnApp sees that a pattern is found exactly if requests are
// counted under it, in groups and in an app that is mounted in another.
func TestCheckRoutesOfAnApp(t *testing.T) {
	var l *ratelimit.Limiter
	limited := func(c *fiber.Ctx) error { return fiberlimit.New(l)(c) }
	handler := func(c *fiber.Ctx) error { return c.SendStatus(http.StatusOK) }
	app, sub := fiber.New(), fiber.New()
	app.Use(func(c *fiber.Ctx) error { return c.Next() })
	app.Get("/", limited, handler)
	app.All("/all", limited, handler)
	app.Get("/files/*", limited, handler)
	app.Get("/n/:id<int>", limited, handler)
	app.Group("/g").Post("/:id?", limited, handler)
	sub.Get("/x", limited, handler)
	app.Mount("/sub", sub)
	for _, c := range []struct{ method, pattern, path string }{
		{"GET", "/", "/"},
		{"PATCH", "/all", "/all"},
		{"GET", "/files/*", "/files/a/b"},
		{"GET", "/n/{id}", "/n/7"},
		{"POST", "/g/:id", "/g/7"},
		{"GET", "/g/:id", "/g/7"},
		{"GET", "/sub/x", "/sub/x"},
		{"GET", "/sub/...", "/sub/x"},
		{"GET", "/elsewhere", "/elsewhere"},
	} {
		script := adaptertest.NewScript()
		l = ratelimit.Must(ratelimit.New(script, ratelimit.Logger(nil), ratelimit.Policy{
			Name: "p", Endpoints: map[string]ratelimit.Limit{c.method + " " + c.pattern: ratelimit.PerMinute(1)},
		}))
		response, err := app.Test(httptest.NewRequest(c.method, c.path, http.NoBody), -1)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		counted, err := len(script.Charges()) > 0, fiberlimit.CheckRoutes(l, app)
		if counted != (err == nil) {
			t.Errorf("%s %s: %s is counted under it: %v, CheckRoutes says %v", c.method, c.pattern, c.path, counted, err)
		}
	}
}
