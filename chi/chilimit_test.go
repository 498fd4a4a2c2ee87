package chilimit_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	chilimit "github.com/go-floodgate/floodgate/chi"
	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/adaptertest"
	"github.com/go-floodgate/floodgate/memstore"
)

func newLimiter(t testing.TB, store ratelimit.Store, options ...ratelimit.Option) *ratelimit.Limiter {
	t.Helper()
	l, err := ratelimit.New(store, options...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// send serves one request ("GET /") and returns its answer.
func send(t testing.TB, h http.Handler, target string) *httptest.ResponseRecorder {
	t.Helper()
	method, path, _ := strings.Cut(target, " ")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody))
	return w
}

func nothing(http.ResponseWriter, *http.Request) {}

func TestMistakesAtStart(t *testing.T) {
	l := newLimiter(t, memstore.New(), ratelimit.Policy{Name: "ip", Limit: ratelimit.PerMinute(1)})
	for _, c := range []struct {
		make func()
		want string
	}{
		{func() { chilimit.New(nil) }, "chilimit: the limiter is nil"},
		{func() { chilimit.New(l, chilimit.Config{}, chilimit.Config{}) }, "chilimit: more than one Config"},
	} {
		func() {
			defer func() {
				if got, _ := recover().(string); !strings.HasPrefix(got, c.want) {
					t.Errorf("panicked with %q, want %q", got, c.want)
				}
			}()
			c.make()
		}()
	}
}

func TestOnMemstore(t *testing.T) {
	at := time.UnixMicro(1_700_000_000_000_000)
	store := memstore.New(memstore.WithClock(func() time.Time { return at }))
	r := chi.NewRouter()
	r.Use(chilimit.New(newLimiter(t, store, ratelimit.Policy{Name: "ip", Limit: ratelimit.TokenBucket(60, time.Minute, 3)})))
	r.Get("/", nothing)
	for i, want := range []struct {
		status    int
		remaining string
	}{{200, "2"}, {200, "1"}, {200, "0"}, {429, "0"}, {429, "0"}} {
		w := send(t, r, "GET /")
		if w.Code != want.status || w.Header().Get("X-RateLimit-Remaining") != want.remaining {
			t.Errorf("request %d: %d with %q left, want %d with %s", i+1, w.Code, w.Header().Get("X-RateLimit-Remaining"), want.status, want.remaining)
		}
	}
	at = at.Add(time.Second)
	if w := send(t, r, "GET /"); w.Code != http.StatusOK {
		t.Errorf("after Retry-After: %d, want 200", w.Code)
	}
}

// nested has routes and routers of every kind, and the middleware mounted in
// the named place.
func nested(place string, limit func(http.Handler) http.Handler) http.Handler {
	use := func(here string) func(http.Handler) http.Handler {
		if here == place {
			return limit
		}
		return func(next http.Handler) http.Handler { return next }
	}

	deep := chi.NewRouter()
	deep.Use(use("deep"))
	deep.Get("/", nothing)
	deep.Get("/{item:[a-z]{2}.*}", nothing)

	rest := chi.NewRouter()
	rest.Use(use("rest"))
	rest.With(use("route")).Get("/rest/*", nothing)

	r := chi.NewRouter()
	r.Use(middleware.StripSlashes, middleware.CleanPath, use("root"), middleware.GetHead)
	r.With(use("route")).Get("/", nothing)
	r.With(use("route")).Get("/users/{id}", nothing)
	r.Route("/v1/{tenant:[a-z]{3}}", func(r chi.Router) {
		r.Use(use("sub"))
		r.With(use("route")).Get("/users/{id}", nothing)
		r.With(use("route")).Get("/files/*", nothing)
		r.With(use("mount")).Mount("/deep", deep)
	})
	r.Get("/v1/{tenant:[a-z]{3}}", nothing)
	r.Route("/v2", func(r chi.Router) {
		r.With(use("route")).Get("/own", nothing)
		r.Mount("/", rest)
	})
	r.Route("/all", func(r chi.Router) { r.Get("/*", nothing) })
	r.Mount("/other", http.HandlerFunc(nothing))
	return r
}

// TestRouteIsFoundFromEverywhere sees which route a limiter takes a request
// for, wherever it is mounted, also before chi has looked for the route and
// where other middleware has changed the path that chi goes by.
func TestRouteIsFoundFromEverywhere(t *testing.T) {
	const nowhere = "the limiter was not asked"
	var route string
	l := newLimiter(t, adaptertest.NewScript(), ratelimit.Policy{Name: "ip", Limit: ratelimit.PerHour(1)},
		ratelimit.Observe(ratelimit.Observer{Decision: func(_ context.Context, o *ratelimit.Observation) { route = o.Route }}))
	for place, targets := range map[string]map[string]string{
		"root": {
			"GET /":                      "/",
			"GET /users/1":               "/users/{id}",
			"GET /users/1/":              "/users/{id}",
			"GET //users//1":             "/users/{id}",
			"HEAD /users/1":              "/users/{id}",
			"POST /users/1":              ratelimit.UnmatchedRoute,
			"BREW /users/1":              ratelimit.UnmatchedRoute,
			"GET /users":                 ratelimit.UnmatchedRoute,
			"GET /v1/abc/users/1":        "/v1/{tenant}/users/{id}",
			"GET /v1/ab/users/1":         ratelimit.UnmatchedRoute,
			"GET /v1/abc":                "/v1/{tenant}",
			"POST /v1/abc":               ratelimit.UnmatchedRoute,
			"GET /v1/abc/nothing":        ratelimit.UnmatchedRoute,
			"GET /v1/abc/deep":           "/v1/{tenant}/deep",
			"GET /v1/abc/deep/xy9":       "/v1/{tenant}/deep/{item}",
			"GET /v1/abc/files/a/b":      "/v1/{tenant}/files/{...}",
			"GET /v2/own":                "/v2/own",
			"GET /v2/rest/a/b":           "/v2/rest/{...}",
			"GET /v2":                    ratelimit.UnmatchedRoute,
			"GET /all":                   "/all/{...}",
			"GET /all/a":                 "/all/{...}",
			"GET /other":                 "/other",
			"GET /other/a":               "/other/{...}",
			"GET /%75sers/1":             ratelimit.UnmatchedRoute,
			"GET http://else.where/v2/?": ratelimit.UnmatchedRoute,
		},
		"sub": {
			"GET /v1/abc/users/1":     "/v1/{tenant}/users/{id}",
			"GET /v1/abc/users/1/":    "/v1/{tenant}/users/{id}",
			"HEAD //v1/abc//users/1":  "/v1/{tenant}/users/{id}",
			"GET /v1/abc/deep":        "/v1/{tenant}/deep",
			"GET /v1/abc/deep/xy9":    "/v1/{tenant}/deep/{item}",
			"GET /v1/abc/files/a/b":   "/v1/{tenant}/files/{...}",
			"GET /v1/abc/nothing":     ratelimit.UnmatchedRoute,
			"POST /v1/abc/users/1":    ratelimit.UnmatchedRoute,
			"POST /v1/abc":            ratelimit.UnmatchedRoute,
			"GET /v1/abc":             nowhere,
			"GET /users/1":            nowhere,
			"GET /v1/abc/users/a%2Fb": "/v1/{tenant}/users/{id}",
		},
		"mount": {
			"GET /v1/abc/deep":      "/v1/{tenant}/deep",
			"GET /v1/abc/deep/xy9/": "/v1/{tenant}/deep/{item}",
			"GET /v1/abc/deep/0/":   ratelimit.UnmatchedRoute,
		},
		"deep": {
			"GET /v1/abc/deep/":         "/v1/{tenant}/deep",
			"GET /v1/abc/deep/xy9/":     "/v1/{tenant}/deep/{item}",
			"GET /v1/abc/deep/xy9/more": ratelimit.UnmatchedRoute,
		},
		"rest": {
			"GET /v2/rest/a":  "/v2/rest/{...}",
			"GET /v2/nothing": ratelimit.UnmatchedRoute,
			"GET /v2":         ratelimit.UnmatchedRoute,
		},
		"route": {
			"GET /":                 "/",
			"GET /users/1/":         "/users/{id}",
			"GET /v1/abc/users/1":   "/v1/{tenant}/users/{id}",
			"GET /v1/abc/files/a/b": "/v1/{tenant}/files/{...}",
			"GET /v2/own":           "/v2/own",
			"GET /v2/rest/a":        "/v2/rest/{...}",
		},
		"nowhere": {"GET /": nowhere},
	} {
		h := nested(place, chilimit.New(l))
		for target, want := range targets {
			route = nowhere
			if send(t, h, target); route != want {
				t.Errorf("mounted on %s, %s: route %q, want %q", place, target, route, want)
			}
		}
	}
}

// TestOneMiddlewareInTwoRouters sees that a middleware that is mounted in two
// routers looks for the routes of each.
func TestOneMiddlewareInTwoRouters(t *testing.T) {
	var route string
	limit := chilimit.New(newLimiter(t, adaptertest.NewScript(), ratelimit.Policy{Name: "ip", Limit: ratelimit.PerHour(1)},
		ratelimit.Observe(ratelimit.Observer{Decision: func(_ context.Context, o *ratelimit.Observation) { route = o.Route }})))
	first, second := chi.NewRouter(), chi.NewRouter()
	first.Use(limit)
	first.Get("/{first}", nothing)
	second.Use(limit)
	second.Get("/{second}", nothing)
	for range 2 {
		if send(t, first, "GET /1"); route != "/{first}" {
			t.Errorf("route %q of the first router", route)
		}
		if send(t, second, "GET /1"); route != "/{second}" {
			t.Errorf("route %q of the second router", route)
		}
	}
}

// TestRouteAsChiLooksForIt sees that the limiter goes by the same path and
// method as chi, and finds routes that were added after the first request.
func TestRouteAsChiLooksForIt(t *testing.T) {
	var route string
	r := chi.NewRouter()
	r.Use(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			chi.RouteContext(r.Context()).RouteMethod = r.Header.Get("X-HTTP-Method-Override")
			next.ServeHTTP(w, r)
		})
	}, chilimit.New(newLimiter(t, adaptertest.NewScript(), ratelimit.Policy{Name: "ip", Limit: ratelimit.PerHour(1)},
		ratelimit.Observe(ratelimit.Observer{Decision: func(_ context.Context, o *ratelimit.Observation) { route = o.Route }}))))
	r.Get("/{id}", nothing)
	r.Put("/put/{id}", nothing)
	if send(t, r, "GET /a%2Fb"); route != "/{id}" {
		t.Errorf("an escaped path: route %q", route)
	}
	overridden := httptest.NewRequest(http.MethodPost, "/put/1", http.NoBody)
	overridden.Header.Set("X-HTTP-Method-Override", http.MethodPut)
	if r.ServeHTTP(httptest.NewRecorder(), overridden); route != "/put/{id}" {
		t.Errorf("an overridden method: route %q", route)
	}
	r.Get("/late/{id}", nothing)
	if send(t, r, "GET /late/1"); route != "/late/{id}" {
		t.Errorf("a route that was added late: route %q", route)
	}
}

// TestAroundARouter sees that a limiter around a router, and not in it, says
// that it can't know the route, and counts all the same.
func TestAroundARouter(t *testing.T) {
	var log strings.Builder
	l := newLimiter(t, memstore.New(), ratelimit.Policy{Name: "route", Key: ratelimit.ByRoute(), Limit: ratelimit.PerHour(1)},
		ratelimit.Logger(slog.New(slog.NewTextHandler(&log, nil))))
	r := chi.NewRouter()
	r.Get("/users/{id}", nothing)
	h := chilimit.New(l)(r)
	for i, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
		if w := send(t, h, "GET /users/1"); w.Code != want {
			t.Errorf("request %d: %d, want %d", i+1, w.Code, want)
		}
	}
	if n := strings.Count(log.String(), "code="+ratelimit.CodeRouteUnknown); n != 1 {
		t.Errorf("said %d times that the route is unknown, want once: %s", n, log.String())
	}
}

// TestWithoutARouter sees that a context that no router has made is no route.
func TestWithoutARouter(t *testing.T) {
	h := chilimit.New(newLimiter(t, memstore.New(), ratelimit.Policy{Name: "route", Key: ratelimit.ByRoute(), Limit: ratelimit.PerHour(0)},
		ratelimit.Logger(nil)))(http.HandlerFunc(nothing))
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), chi.RouteCtxKey, chi.NewRouteContext())))
	if w.Code != http.StatusTooManyRequests {
		t.Errorf("status %d, want 429", w.Code)
	}
}
