package chilimit

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// CheckRoutes returns an error that names the patterns of l's policies that are
// for no route of r; see [ratelimit.Limiter.CheckRoutes]. It is not needed
// where the limiter is mounted in a router: the first request then sees to it.
func CheckRoutes(l *ratelimit.Limiter, r chi.Routes) error {
	return l.CheckRoutes(routesOf(r)...)
}

func routesOf(r chi.Routes) (routes []string) {
	_ = chi.Walk(r, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		routes = append(routes, method+" "+spelled(route))
		return nil
	})
	return routes
}

// routesAround are those of the router that a request is in.
func routesAround(x Exchange) []string { return routesOf(chi.RouteContext(x.R.Context()).Routes) }
