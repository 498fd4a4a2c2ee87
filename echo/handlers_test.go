package echolimit_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"

	"github.com/labstack/echo/v4"

	ratelimit "github.com/go-floodgate/floodgate/core"
	echolimit "github.com/go-floodgate/floodgate/echo"
	"github.com/go-floodgate/floodgate/memstore"
)

// TestManyHandlers has many more routes than limited handlers are kept: each
// request reaches its own handler, and is counted once.
func TestManyHandlers(t *testing.T) {
	const routes, clients = 1000, 4
	between := func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error { return next(c) } // another one for each request
	}
	for _, c := range []struct {
		name string
		use  func(e *echo.Echo, limited echo.MiddlewareFunc)
	}{
		{"first", func(e *echo.Echo, limited echo.MiddlewareFunc) { e.Use(between, limited) }},
		{"further out", func(e *echo.Echo, limited echo.MiddlewareFunc) { e.Use(limited, between) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLimiter(t, memstore.New(), ratelimit.Policy{Name: "route", Key: ratelimit.ByRoute(), Limit: ratelimit.PerDay(clients)})
			e := echo.New()
			c.use(e, echolimit.New(l))
			for i := range routes {
				e.GET("/"+strconv.Itoa(i), func(c echo.Context) error { return c.String(http.StatusOK, strconv.Itoa(i)) })
			}
			var group sync.WaitGroup
			for range clients {
				group.Go(func() {
					for i := range routes {
						if w := send(t, e, http.MethodGet, "/"+strconv.Itoa(i)); w.Code != http.StatusOK || w.Body.String() != strconv.Itoa(i) {
							t.Errorf("route %d answers %d %q", i, w.Code, w.Body)
						}
					}
				})
			}
			group.Wait()
			for i := range routes {
				if w := send(t, e, http.MethodGet, "/"+strconv.Itoa(i)); w.Code != http.StatusTooManyRequests {
					t.Errorf("request %d of route %d is answered with %d, want 429", clients+1, i, w.Code)
				}
			}
		})
	}
}

// TestHandlersOfTwoServers has one middleware in two servers, whose handlers are
// functions of the same text with other variables.
func TestHandlersOfTwoServers(t *testing.T) {
	l := newLimiter(t, memstore.New(), ratelimit.Policy{Name: "ip", Limit: ratelimit.PerDay(100)})
	limited := echolimit.New(l)
	var servers []*echo.Echo
	for i := range 2 {
		e := echo.New()
		e.Use(limited)
		e.GET("/", func(c echo.Context) error { return c.String(http.StatusOK, strconv.Itoa(i)) })
		servers = append(servers, e)
	}
	for range 3 {
		for i, e := range servers {
			if w := send(t, e, http.MethodGet, "/"); w.Body.String() != strconv.Itoa(i) {
				t.Errorf("server %d answers %q", i, w.Body)
			}
		}
	}
}

// TestHandlerMadeOnce calls one limited handler again and again, as those who
// put their chain together themselves do.
func TestHandlerMadeOnce(t *testing.T) {
	l := newLimiter(t, memstore.New(), ratelimit.Policy{Name: "ip", Limit: ratelimit.PerDay(2)})
	e := echo.New()
	handler := echolimit.New(l)(func(c echo.Context) error { return c.NoContent(http.StatusNoContent) })
	for i, want := range []int{http.StatusNoContent, http.StatusNoContent, http.StatusTooManyRequests} {
		w := httptest.NewRecorder()
		if err := handler(e.NewContext(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody), w)); err != nil || w.Code != want {
			t.Errorf("request %d is answered with %d, %v, want %d", i+1, w.Code, err, want)
		}
	}
}
