package echolimit_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/adaptertest"
	echolimit "github.com/go-floodgate/floodgate/echo"
)

// TestAnsweredFurtherOut sees which requests are given back where failures
// count and middleware answers the errors of handlers.
func TestAnsweredFurtherOut(t *testing.T) {
	wrong := errors.New("a wrong password")
	for _, c := range []struct {
		name   string
		outer  func(c echo.Context, err error) error
		status int
		back   bool
	}{
		{"answered", func(c echo.Context, _ error) error { return c.String(http.StatusUnauthorized, "no") }, 401, false},
		{"forgiven", func(c echo.Context, _ error) error { return c.NoContent(http.StatusNoContent) }, 204, true},
		{"replaced", func(echo.Context, error) error { return echo.ErrForbidden }, 403, false},
		{"kept", func(_ echo.Context, err error) error { return err }, 500, false},
		{"dropped", func(echo.Context, error) error { return nil }, 200, false},
	} {
		script := adaptertest.NewScript()
		e := echo.New()
		e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
			return func(x echo.Context) error { return c.outer(x, next(x)) }
		}, echolimit.New(newLimiter(t, script, ratelimit.Policy{
			Name: "login", Limit: ratelimit.SlidingLog(5, time.Hour), Counts: ratelimit.CountFailures,
		})))
		e.GET("/", func(echo.Context) error { return wrong })
		if w := send(t, e, http.MethodGet, "/"); w.Code != c.status {
			t.Errorf("an error that is %s: status %d, want %d", c.name, w.Code, c.status)
		}
		if back := len(script.Adjustments()) == 1; back != c.back {
			t.Errorf("an error that is %s: given back: %v, want %v", c.name, back, c.back)
		}
	}
}
