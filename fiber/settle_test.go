package fiberlimit_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/adaptertest"
	fiberlimit "github.com/go-floodgate/floodgate/fiber"
)

// TestAnsweredFurtherOut sees which requests are given back where failures
// count and middleware answers the errors of handlers.
func TestAnsweredFurtherOut(t *testing.T) {
	wrong := errors.New("a wrong password")
	for _, c := range []struct {
		name   string
		outer  func(c *fiber.Ctx, err error) error
		status int
		back   bool
	}{
		{"answered", func(c *fiber.Ctx, _ error) error { return c.SendStatus(http.StatusUnauthorized) }, 401, false},
		{"forgiven", func(c *fiber.Ctx, _ error) error { return c.SendStatus(http.StatusAccepted) }, 202, true},
		{"replaced", func(*fiber.Ctx, error) error { return fiber.ErrForbidden }, 403, false},
		{"kept", func(_ *fiber.Ctx, err error) error { return err }, 500, false},
		{"dropped", func(*fiber.Ctx, error) error { return nil }, 200, false},
	} {
		script := adaptertest.NewScript()
		app := fiber.New()
		app.Use(func(x *fiber.Ctx) error { return c.outer(x, x.Next()) })
		app.Get("/", fiberlimit.New(newLimiter(t, script, ratelimit.Policy{
			Name: "login", Limit: ratelimit.SlidingLog(5, time.Hour), Counts: ratelimit.CountFailures,
		})), func(*fiber.Ctx) error { return wrong })
		if status := to(app).send("GET", "/").StatusCode(); status != c.status {
			t.Errorf("an error that is %s: status %d, want %d", c.name, status, c.status)
		}
		if back := len(script.Adjustments()) == 1; back != c.back {
			t.Errorf("an error that is %s: given back: %v, want %v", c.name, back, c.back)
		}
	}
}

// TestPanicOfAPolicysFunction sees that it ends no process: fasthttp would not
// recover from it.
func TestPanicOfAPolicysFunction(t *testing.T) {
	script, made := adaptertest.NewScript(), false
	l := newLimiter(t, script, ratelimit.Policy{Name: "p", Limit: ratelimit.PerHour(5), Counts: ratelimit.CountStatus(func(int) bool {
		if made {
			panic("the function's own")
		}
		return true
	})})
	made = true
	app := fiber.New()
	app.Get("/", fiberlimit.New(l), func(*fiber.Ctx) error { return fiber.ErrTeapot })
	if status := to(app).send("GET", "/").StatusCode(); status != fiber.StatusTeapot {
		t.Errorf("status %d", status)
	}
	if n := len(script.Adjustments()); n != 0 {
		t.Errorf("%d given back", n)
	}
}
