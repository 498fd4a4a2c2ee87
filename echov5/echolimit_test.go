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

	"github.com/labstack/echo/v5"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/adaptertest"
	echolimit "github.com/go-floodgate/floodgate/echov5"
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
	e.GET("/", func(c *echo.Context) error { return c.NoContent(http.StatusOK) })
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
	handler := func(c *echo.Context) error { return c.NoContent(http.StatusOK) }
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
	e.GET("/users/:id", func(c *echo.Context) error { return c.NoContent(http.StatusOK) })
	for i, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
		if w := send(t, e, http.MethodGet, "/users/1"); w.Code != want {
			t.Errorf("request %d: %d, want %d", i+1, w.Code, want)
		}
	}
	if n := strings.Count(log.String(), "code="+ratelimit.CodeRouteUnknown); n != 1 {
		t.Errorf("said %d times that the route is unknown, want once: %s", n, log.String())
	}
}

// TestHeadOfGet sees how a HEAD request ends that Echo lets the handler of GET
// answer: Echo holds its status back until the middleware has returned.
func TestHeadOfGet(t *testing.T) {
	for status, back := range map[int]int{http.StatusOK: 1, http.StatusUnauthorized: 0} {
		script := adaptertest.NewScript()
		e := echo.NewWithConfig(echo.Config{Router: echo.NewRouter(echo.RouterConfig{AutoHandleHEAD: true})})
		e.GET("/", func(c *echo.Context) error {
			if _, err := echo.UnwrapResponse(c.Response()); err != nil {
				t.Error(err)
			}
			return c.String(status, "body")
		},
			echolimit.New(newLimiter(t, script, ratelimit.Policy{Name: "failures", Limit: ratelimit.PerMinute(1), Counts: ratelimit.CountFailures})))
		if w := send(t, e, http.MethodHead, "/"); w.Code != status || w.Header().Get("Content-Length") != "4" {
			t.Errorf("the answer is %d with %s bytes, want %d with 4", w.Code, w.Header().Get("Content-Length"), status)
		}
		if n := len(script.Adjustments()); n != back {
			t.Errorf("status %d: %d given back, want %d", status, n, back)
		}
	}
}

// TestResponseIsPutBack sees that middleware further out finds the response
// that it has set.
func TestResponseIsPutBack(t *testing.T) {
	e := echo.New()
	e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) error {
			own := &wrapping{c.Response()}
			c.SetResponse(own)
			err := next(c)
			if c.Response() != http.ResponseWriter(own) {
				t.Errorf("the response is a %T afterwards", c.Response())
			}
			return err
		}
	}, echolimit.New(newLimiter(t, adaptertest.NewScript(),
		ratelimit.Policy{Name: "failures", Limit: ratelimit.PerMinute(1), Counts: ratelimit.CountFailures})))
	e.HEAD("/", func(c *echo.Context) error { return c.NoContent(http.StatusOK) })
	if w := send(t, e, http.MethodHead, "/"); w.Code != http.StatusOK {
		t.Errorf("status %d, want 200", w.Code)
	}
}

// wrapping is a response of other middleware.
type wrapping struct{ http.ResponseWriter }

func (w *wrapping) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// TestStatusOfErrors sees that a policy goes by the status that Echo's own
// handler of errors sends.
func TestStatusOfErrors(t *testing.T) {
	for _, err := range []error{
		echo.ErrNotFound, echo.NewHTTPError(http.StatusTeapot, "short and stout"), fmt.Errorf("wrapped: %w", echo.ErrUnauthorized),
		echo.ErrBadRequest.Wrap(echo.ErrForbidden), errors.New("plain"), coded(http.StatusConflict), coded(0),
	} {
		told := make(chan int, 10)
		e := echo.New()
		e.Logger = slog.New(slog.DiscardHandler)
		e.Use(echolimit.New(newLimiter(t, adaptertest.NewScript(), ratelimit.Policy{
			Name: "counted", Limit: ratelimit.PerMinute(1), Counts: ratelimit.CountStatus(func(status int) bool { told <- status; return true }),
		})))
		for len(told) > 0 { // what was asked when the limiter was made
			<-told
		}
		e.GET("/", func(*echo.Context) error { return err })
		w := send(t, e, http.MethodGet, "/")
		if got := <-told; got != w.Code {
			t.Errorf("%v: the policy was told %d, Echo sent %d", err, got, w.Code)
		}
	}
}

// coded is an error of the application with a status.
type coded int

func (c coded) Error() string   { return "coded" }
func (c coded) StatusCode() int { return int(c) }
