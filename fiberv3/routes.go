package fiberlimit

import (
	"github.com/gofiber/fiber/v3"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// CheckRoutes returns an error that names the patterns of l's policies that are
// for no route of app; see [ratelimit.Limiter.CheckRoutes]. An app lists the
// routes of those mounted in it only when it serves. The first request sees to
// it otherwise.
func CheckRoutes(l *ratelimit.Limiter, app *fiber.App) error { return l.CheckRoutes(routesOf(app)...) }

func routesOf(app *fiber.App) (routes []string) {
	for _, route := range app.GetRoutes(true) {
		routes = append(routes, route.Method+" "+route.Path)
	}
	return routes
}

// routesAround are those of the app that a request is in.
func routesAround(c fiber.Ctx) []string { return routesOf(c.App()) }
