package echolimit

import (
	"strings"

	"github.com/labstack/echo/v5"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// CheckRoutes returns an error that names the patterns of l's policies that are
// for no route of e; see [ratelimit.Limiter.CheckRoutes]. The first request
// sees to it otherwise.
func CheckRoutes(l *ratelimit.Limiter, e *echo.Echo) error { return l.CheckRoutes(routesOf(e)...) }

func routesOf(e *echo.Echo) (routes []string) {
	for _, route := range e.Router().Routes() {
		// Echo adds a slash that is missing, but lists the path without it.
		path := "/" + strings.TrimPrefix(route.Path, "/")
		switch route.Method {
		case echo.RouteNotFound:
		case echo.RouteAny:
			routes = append(routes, path)
		default:
			routes = append(routes, route.Method+" "+path)
		}
	}
	return routes
}

// routesAround are those of the server that a request is in.
func routesAround(c *echo.Context) []string { return routesOf(c.Echo()) }
