package httplimit_test

import (
	"net"
	"net/http"
	"testing"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/adaptertest"
	httplimit "github.com/go-floodgate/floodgate/nethttp"
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
	mux := http.NewServeMux()
	add := func(prefix string, use []adaptertest.Middleware, routes []adaptertest.Route) {
		for _, r := range routes {
			mux.Handle(r.Method+" "+prefix+r.Pattern, mount(use, nil, mount(r.Use, nil, r.Handler)))
		}
	}
	add("", nil, site.Routes)
	for _, group := range site.Groups {
		add(group.Prefix, group.Use, group.Routes)
	}
	handler := mount(site.Use, httplimit.RoutesOf(mux), mux)
	if site.Built != nil {
		site.Built(func(l *ratelimit.Limiter) error { return httplimit.CheckRoutes(l, mux) })
	}
	if site.Recover {
		handler = recovering(handler)
	}
	adaptertest.ServeHTTP(t, l, handler)
}

func mount(all []adaptertest.Middleware, route func(httplimit.Exchange) string, next http.Handler) http.Handler {
	for i := len(all) - 1; i >= 0; i-- {
		m := all[i]
		if m.Limiter == nil {
			next = m.Handler(next)
			continue
		}
		cfg := adaptertest.ConfigOf(m.Config, exchange, httplimit.JSONField)
		if _, wraps := next.(*http.ServeMux); cfg.Route == nil && !wraps {
			cfg.Route = route
		}
		next = httplimit.Wrap(m.Limiter, next, cfg)
	}
	return next
}

func exchange(x httplimit.Exchange) adaptertest.Exchange {
	return adaptertest.HTTP{W: x.W, R: x.R}
}

// recovering stands for the recovery that net/http has not.
func recovering(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if recover() != nil {
				w.WriteHeader(http.StatusInternalServerError)
			}
		}()
		next.ServeHTTP(w, r)
	})
}
