package echolimit

import (
	"github.com/labstack/echo/v4"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// CheckRoutes returns an error that names the patterns of l's policies that are
// for no route of e or of its hosts; see [ratelimit.Limiter.CheckRoutes]. The
// first request sees to it otherwise.
func CheckRoutes(l *ratelimit.Limiter, e *echo.Echo) error { return l.CheckRoutes(routesOf(e)...) }

func routesOf(e *echo.Echo) (routes []string) {
	all := e.Routes()
	for _, router := range e.Routers() {
		all = append(all, router.Routes()...)
	}
	for _, route := range all {
		if route.Method != echo.RouteNotFound {
			routes = append(routes, route.Method+" "+route.Path)
		}
	}
	return routes
}

// routesAround are those of the server that a request is in.
func routesAround(c echo.Context) []string { return routesOf(c.Echo()) }
