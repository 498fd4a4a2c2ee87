package echolimit_test

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
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

// TestNothingOfRequestsIsKept: in Pre what comes next is made for each request
// and refers to it.
func TestNothingOfRequestsIsKept(t *testing.T) {
	const requests = 1000
	for _, c := range []struct {
		name string
		use  func(e *echo.Echo, limited echo.MiddlewareFunc)
	}{
		{"Pre", func(e *echo.Echo, limited echo.MiddlewareFunc) { e.Pre(limited) }},
		{"Use", func(e *echo.Echo, limited echo.MiddlewareFunc) { e.Use(limited) }},
		{"by hand", func(e *echo.Echo, limited echo.MiddlewareFunc) {
			e.GET("/", func(c echo.Context) error {
				r := c.Request()
				return limited(func(c echo.Context) error { return c.String(http.StatusOK, r.Method) })(c)
			})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			limited := echolimit.New(newLimiter(t, memstore.New(), ratelimit.Policy{Name: "ip", Limit: ratelimit.PerDay(2 * requests)}))
			e := echo.New()
			e.GET("/", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
			c.use(e, limited)
			var gone atomic.Int64
			for range requests {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
				runtime.AddCleanup(r, func(struct{}) { gone.Add(1) }, struct{}{})
				e.ServeHTTP(httptest.NewRecorder(), r)
			}
			const few = 20 // in pools
			for range 1000 {
				if gone.Load() >= requests-few {
					break
				}
				runtime.GC()
				runtime.Gosched()
			}
			if kept := requests - gone.Load(); kept > few {
				t.Errorf("%d of %d requests are still referred to", kept, requests)
			}
			runtime.KeepAlive(limited)
			runtime.KeepAlive(e)
		})
	}
}

// TestSlotsAreForRoutes: what Echo makes for one request alone takes no slot.
func TestSlotsAreForRoutes(t *testing.T) {
	e := echo.New()
	e.Use(echolimit.New(newLimiter(t, memstore.New(), generous)))
	e.GET("/", func(echo.Context) error { return nil })
	for range 3000 {
		if w := send(t, e, http.MethodOptions, "/"); w.Code != http.StatusNoContent {
			t.Fatalf("OPTIONS is answered with %d", w.Code)
		}
	}
	if added := allocations(serveTo(t, e)) - allocations(serveTo(t, bare())); added > 0 {
		t.Errorf("after requests for no route an allowed request makes %v allocations, want none", added)
	}
}

// TestWithoutSlot: a route that finds no slot costs the handler that is made for
// each request, and no more.
func TestWithoutSlot(t *testing.T) {
	limited := echolimit.New(newLimiter(t, memstore.New(), generous))
	others := echo.New()
	others.Use(limited)
	for i := range 3000 {
		path := "/" + strconv.Itoa(i)
		others.GET(path, func(c echo.Context) error { return c.String(http.StatusOK, path) })
		send(t, others, http.MethodGet, path)
	}
	e := echo.New()
	e.Use(limited)
	e.GET("/", func(echo.Context) error { return nil })
	if added := allocations(serveTo(t, e)) - allocations(serveTo(t, bare())); added != 1 {
		t.Errorf("a request for a route without a slot makes %v allocations, want 1", added)
	}
}
