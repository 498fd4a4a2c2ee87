package echolimit_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v5"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/adaptertest"
	echolimit "github.com/go-floodgate/floodgate/echov5"
)

// TestCheckRoutesOfAServer sees that a pattern is found exactly if requests are
// counted under it, in groups as well.
func TestCheckRoutesOfAServer(t *testing.T) {
	handler := func(c *echo.Context) error { return c.NoContent(http.StatusOK) }
	e := echo.New()
	var l *ratelimit.Limiter
	e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) error { return echolimit.New(l)(next)(c) }
	})
	e.GET("", handler)
	e.GET("bare", handler)
	e.Any("/any", handler)
	e.GET("/files/*", handler)
	g := e.Group("/g", func(next echo.HandlerFunc) echo.HandlerFunc { return next }) // has routes for what is not found
	g.GET("", handler)
	g.POST("/:id", handler)
	for _, c := range []struct{ method, pattern, path string }{
		{"GET", "/", "/"},
		{"GET", "/bare", "/bare"},
		{"PATCH", "/any", "/any"},
		{"GET", "/files/*", "/files/a/b"},
		{"GET", "/g", "/g"},
		{"POST", "/g/{id}", "/g/7"},
		{"GET", "/g/:id", "/g/7"},
		{"GET", "/g/*", "/g/7/8"},
		{"GET", "/elsewhere", "/elsewhere"},
	} {
		script := adaptertest.NewScript()
		l = ratelimit.Must(ratelimit.New(script, ratelimit.Logger(nil), ratelimit.Policy{
			Name: "p", Endpoints: map[string]ratelimit.Limit{c.method + " " + c.pattern: ratelimit.PerMinute(1)},
		}))
		e.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(c.method, c.path, http.NoBody))
		counted, err := len(script.Charges()) > 0, echolimit.CheckRoutes(l, e)
		if counted != (err == nil) {
			t.Errorf("%s %s: %s is counted under it: %v, CheckRoutes says %v", c.method, c.pattern, c.path, counted, err)
		}
	}
}
