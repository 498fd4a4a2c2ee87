package echolimit_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/adaptertest"
	echolimit "github.com/go-floodgate/floodgate/echo"
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

// send serves one request and returns its answer.
func send(t testing.TB, h http.Handler, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody))
	return w
}

func TestMistakesAtStart(t *testing.T) {
	l := newLimiter(t, memstore.New(), ratelimit.Policy{Name: "ip", Limit: ratelimit.PerMinute(1)})
	for _, c := range []struct {
		make func()
		want string
	}{
		{func() { echolimit.New(nil) }, "echolimit: the limiter is nil"},
		{func() { echolimit.New(l, echolimit.Config{}, echolimit.Config{}) }, "echolimit: more than one Config"},
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
	e := echo.New()
	e.Use(echolimit.New(newLimiter(t, store, ratelimit.Policy{Name: "ip", Limit: ratelimit.TokenBucket(60, time.Minute, 3)})))
	e.GET("/", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
	for i, want := range []struct {
		status    int
		remaining string
	}{{200, "2"}, {200, "1"}, {200, "0"}, {429, "0"}, {429, "0"}} {
		w := send(t, e, http.MethodGet, "/")
		if w.Code != want.status || w.Header().Get("X-RateLimit-Remaining") != want.remaining {
			t.Errorf("request %d: %d with %q left, want %d with %s", i+1, w.Code, w.Header().Get("X-RateLimit-Remaining"), want.status, want.remaining)
		}
	}
	at = at.Add(time.Second)
	if w := send(t, e, http.MethodGet, "/"); w.Code != http.StatusOK {
		t.Errorf("after Retry-After: %d, want 200", w.Code)
	}
}

// TestRoute sees which route a limiter takes a request for. Group.Use makes
// Echo register handlers for all that is below a group and matches no route.
func TestRoute(t *testing.T) {
	var route string
	var log strings.Builder
	handler := func(c echo.Context) error { return c.NoContent(http.StatusOK) }
	e := echo.New()
	e.Use(echolimit.New(newLimiter(t, adaptertest.NewScript(), ratelimit.Policy{Name: "route", Key: ratelimit.ByRoute(), Limit: ratelimit.PerMinute(1)},
		observed(&route), ratelimit.Logger(slog.New(slog.NewTextHandler(&log, nil))))))
	e.GET("/users/:id", handler)
	e.Any("/any", handler)
	e.RouteNotFound("/lost/*", handler)
	g := e.Group("/g", func(next echo.HandlerFunc) echo.HandlerFunc { return next })
	g.GET("", handler)
	g.GET("/files/*", handler)
	for target, want := range map[string]string{
		"GET /users/1": "/users/{id}", "POST /users/1": ratelimit.UnmatchedRoute, "HEAD /users/1": ratelimit.UnmatchedRoute,
		"GET /users": ratelimit.UnmatchedRoute, "PUT /any": "/any", "GET /lost/1": ratelimit.UnmatchedRoute,
		"GET /g": "/g", "POST /g": ratelimit.UnmatchedRoute, "GET /g/nothing": ratelimit.UnmatchedRoute,
		"GET /g/files/a/b": "/g/files/{...}", "GET /nothing": ratelimit.UnmatchedRoute,
	} {
		method, path, _ := strings.Cut(target, " ")
		if send(t, e, method, path); route != want {
			t.Errorf("%s: route %q, want %q", target, route, want)
		}
	}
	if log.Len() > 0 {
		t.Errorf("a route that is known, or known to be none, is said to be unknown: %s", log.String())
	}
}

// observed keeps the route of the last request.
func observed(route *string) ratelimit.Option {
	return ratelimit.Observe(ratelimit.Observer{Decision: func(_ context.Context, o *ratelimit.Observation) { *route = o.Route }})
}

// TestInPre sees that a limiter that is mounted before the routing says that it
// can't know the route, and counts all the same.
func TestInPre(t *testing.T) {
	var log strings.Builder
	l := newLimiter(t, memstore.New(), ratelimit.Policy{Name: "route", Key: ratelimit.ByRoute(), Limit: ratelimit.PerHour(1)},
		ratelimit.Logger(slog.New(slog.NewTextHandler(&log, nil))))
	e := echo.New()
	e.Pre(echolimit.New(l))
	e.GET("/users/:id", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
	for i, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
		if w := send(t, e, http.MethodGet, "/users/1"); w.Code != want {
			t.Errorf("request %d: %d, want %d", i+1, w.Code, want)
		}
	}
	if n := strings.Count(log.String(), "code="+ratelimit.CodeRouteUnknown); n != 1 {
		t.Errorf("said %d times that the route is unknown, want once: %s", n, log.String())
	}
}

// TestStatusOfErrors sees which status a policy goes by if a handler returns an
// error, and that it is the one that Echo's own handler of errors sends, which
// looks for no HTTPError within another error.
func TestStatusOfErrors(t *testing.T) {
	for _, c := range []struct {
		before int // what the handler has sent when it returns the error
		err    error
		want   int
	}{
		{err: echo.ErrNotFound, want: 404},
		{err: echo.NewHTTPError(http.StatusTeapot, "short and stout"), want: 418},
		{err: echo.ErrForbidden.WithInternal(errors.New("inner")), want: 403},
		{err: echo.ErrForbidden.WithInternal(echo.ErrConflict), want: 409},
		{err: fmt.Errorf("wrapped: %w", echo.ErrUnauthorized), want: 500},
		{err: errors.New("plain"), want: 500},
		{before: http.StatusAccepted, err: echo.ErrUnauthorized, want: 202},
	} {
		told := make(chan int, 10)
		e := echo.New()
		e.Use(echolimit.New(newLimiter(t, adaptertest.NewScript(), ratelimit.Policy{
			Name: "counted", Limit: ratelimit.PerMinute(1), Counts: ratelimit.CountStatus(func(status int) bool { told <- status; return true }),
		})))
		for len(told) > 0 { // what was asked when the limiter was made
			<-told
		}
		e.GET("/", func(x echo.Context) error {
			if c.before != 0 {
				_ = x.NoContent(c.before)
			}
			return c.err
		})
		w := send(t, e, http.MethodGet, "/")
		if got := <-told; got != c.want {
			t.Errorf("%v: the policy was told %d, want %d", c.err, got, c.want)
		}
		if w.Code != c.want {
			t.Errorf("%v: Echo sent %d, want %d", c.err, w.Code, c.want)
		}
	}
}

// TestRouteOfHosts sees that each host of Echo has routes of its own, also in
// Pre, and that routes that were added to a router directly count.
func TestRouteOfHosts(t *testing.T) {
	var route string
	handler := func(c echo.Context) error { return c.NoContent(http.StatusOK) }
	e := echo.New()
	e.Use(echolimit.New(newLimiter(t, adaptertest.NewScript(), ratelimit.Policy{Name: "ip", Limit: ratelimit.PerMinute(1)}, observed(&route))))
	e.GET("/users/:id", handler)
	e.Router().Add(http.MethodGet, "/added", handler)
	e.Host("api.example.com", func(next echo.HandlerFunc) echo.HandlerFunc { return next }).GET("/users/:name", handler)
	for target, want := range map[string]string{
		"http://example.com/users/1": "/users/{id}", "http://api.example.com/users/1": "/users/{name}",
		"http://example.com/added": "/added", "http://api.example.com/added": ratelimit.UnmatchedRoute,
	} {
		if send(t, e, http.MethodGet, target); route != want {
			t.Errorf("%s: route %q, want %q", target, route, want)
		}
	}
}
