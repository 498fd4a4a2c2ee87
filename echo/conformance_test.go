package echolimit_test

import (
	"context"
	"net"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/adaptertest"
	echolimit "github.com/go-floodgate/floodgate/echo"
)

func TestConformance(t *testing.T) {
	adaptertest.Run(t, adaptertest.Harness{Serve: serve})
}

func serve(t testing.TB, l net.Listener, site adaptertest.Site) {
	e := echo.New()
	e.Logger.SetLevel(7)
	if site.OnError != nil {
		e.HTTPErrorHandler = func(err error, c echo.Context) { _ = site.OnError(exchange(c), err) }
	}
	if site.Recover {
		e.Use(middleware.RecoverWithConfig(middleware.RecoverConfig{DisablePrintStack: true}))
	}
	e.Use(mounted(site.Use)...)
	for _, route := range site.Routes {
		e.Add(route.Method, spelled(route), handler(route.Handler), mounted(route.Use)...)
	}
	for _, group := range site.Groups {
		g := e.Group(group.Prefix, mounted(group.Use)...)
		for _, route := range group.Routes {
			g.Add(route.Method, spelled(route), handler(route.Handler), mounted(route.Use)...)
		}
	}
	if site.Built != nil {
		site.Built(func(l *ratelimit.Limiter) error { return echolimit.CheckRoutes(l, e) })
	}
	adaptertest.ServeHTTP(t, l, e)
}

func spelled(route adaptertest.Route) string { return adaptertest.Spell(route.Pattern, ":name", "*") }

func handler(h adaptertest.Handler) echo.HandlerFunc {
	return func(c echo.Context) error { return h(exchange(c)) }
}

func mounted(all []adaptertest.Middleware) []echo.MiddlewareFunc {
	middlewares := make([]echo.MiddlewareFunc, len(all))
	for i, m := range all {
		if m.Limiter != nil {
			middlewares[i] = echolimit.New(m.Limiter, adaptertest.ConfigOf(m.Config, exchange, echolimit.JSONField))
			continue
		}
		middlewares[i] = func(next echo.HandlerFunc) echo.HandlerFunc {
			return func(c echo.Context) error {
				return m.Around(exchange(c), func(ctx context.Context) error {
					c.SetRequest(c.Request().WithContext(ctx))
					return next(c)
				})
			}
		}
	}
	return middlewares
}

func exchange(c echo.Context) adaptertest.Exchange {
	return adaptertest.HTTP{W: c.Response(), R: c.Request(), Failure: func(status int) error { return echo.NewHTTPError(status) }}
}
