package chilimit_test

import (
	"net"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	chilimit "github.com/go-floodgate/floodgate/chi"
	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/adaptertest"
)

func TestConformance(t *testing.T) {
	t.Run("http1", func(t *testing.T) {
		adaptertest.Run(t, adaptertest.Harness{Serve: serve, Lacks: adaptertest.ErrorHandler})
	})
	t.Run("http2", func(t *testing.T) {
		adaptertest.Run(t, adaptertest.Harness{Serve: serve, HTTP2: true, Lacks: adaptertest.ErrorHandler})
	})
}

func serve(t testing.TB, l net.Listener, site adaptertest.Site) {
	t.Helper()
	r := chi.NewRouter()
	if site.Recover {
		r.Use(middleware.Recoverer)
	}
	build(r, site.Use, site.Routes)
	for _, group := range site.Groups {
		r.Route(group.Prefix, func(r chi.Router) { build(r, group.Use, group.Routes) })
	}
	if site.Built != nil {
		site.Built(func(l *ratelimit.Limiter) error { return chilimit.CheckRoutes(l, r) })
	}
	adaptertest.ServeHTTP(t, l, r)
}

func build(r chi.Router, use []adaptertest.Middleware, routes []adaptertest.Route) {
	r.Use(middlewares(use)...)
	for _, route := range routes {
		r.With(middlewares(route.Use)...).Method(route.Method, adaptertest.Spell(route.Pattern, "{name}", "*"), route.Handler)
	}
}

func middlewares(all []adaptertest.Middleware) chi.Middlewares {
	var middlewares chi.Middlewares
	for _, m := range all {
		if m.Limiter == nil {
			middlewares = append(middlewares, m.Handler)
			continue
		}
		middlewares = append(middlewares, chilimit.New(m.Limiter, adaptertest.ConfigOf(m.Config, exchange, chilimit.JSONField)))
	}
	return middlewares
}

func exchange(x chilimit.Exchange) adaptertest.Exchange { return adaptertest.HTTP{W: x.W, R: x.R} }
