package echolimit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/labstack/echo/v5"

	ratelimit "github.com/go-floodgate/floodgate/core"
	echolimit "github.com/go-floodgate/floodgate/echov5"
	"github.com/go-floodgate/floodgate/memstore"
)

// A limiter for all routes of a server.
func ExampleNew() {
	api := ratelimit.Must(ratelimit.New(memstore.New(),
		ratelimit.Policy{Name: "per-ip", Limit: ratelimit.TokenBucket(60, time.Hour, 2)},
	))
	e := echo.New()
	e.Use(echolimit.New(api))
	e.GET("/users/:id", func(c *echo.Context) error { return c.String(http.StatusOK, c.Param("id")) })

	for range 3 {
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/users/7", http.NoBody))
		fmt.Println(w.Code, w.Header().Get("X-RateLimit-Remaining"), "left", w.Header().Get("RateLimit-Policy"))
	}
	// Output:
	// 200 1 left "per-ip";q=60;w=3600;floodgate-burst=2
	// 200 0 left "per-ip";q=60;w=3600;floodgate-burst=2
	// 429 0 left "per-ip";q=60;w=3600;floodgate-burst=2
}

// Limiters for a group and for one route. On the log-in route only failures
// count, by client and by account.
func ExampleNew_perRoute() {
	store := memstore.New()
	api := ratelimit.Must(ratelimit.New(store, ratelimit.Policy{Name: "api", Limit: ratelimit.PerHour(1)}))
	login := ratelimit.Must(ratelimit.New(store, ratelimit.Login()))

	e := echo.New()
	group := e.Group("/api", echolimit.New(api))
	group.GET("/search", func(c *echo.Context) error { return c.NoContent(http.StatusOK) })
	signIn := func(*echo.Context) error { return echo.ErrUnauthorized } // a wrong password
	e.POST("/login", signIn, echolimit.New(login, echolimit.Config{Account: echolimit.JSONField("username")}))

	for range 2 {
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/search", http.NoBody))
		fmt.Print(w.Code, " ")
	}
	for range 6 {
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/login", strings.NewReader(`{"username":"alice"}`)))
		fmt.Print(w.Code, " ")
	}
	// Output: 200 429 401 401 401 401 401 429
}

// Users that the application has authenticated, a path that is not limited, and
// an answer of one's own.
func ExampleConfig() {
	api := ratelimit.Must(ratelimit.New(memstore.New(),
		ratelimit.Policy{Name: "per-user", Key: ratelimit.ByUser(), Limit: ratelimit.PerHour(1)},
	))
	e := echo.New()
	e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) error {
			c.Set("user", "alice") // who has signed in
			return next(c)
		}
	}, echolimit.New(api, echolimit.Config{
		User: func(c *echo.Context) string {
			user, _ := c.Get("user").(string)
			return user
		},
		Skip: func(c *echo.Context) bool { return c.Path() == "/health" },
		OnDeny: func(c *echo.Context, d ratelimit.Decision) error {
			return c.String(d.Status(), fmt.Sprintf("%s is over: %s", d.Policy, d.Reason))
		},
	}))
	hello := func(c *echo.Context) error { return c.String(http.StatusOK, "hello") }
	e.GET("/", hello)
	e.GET("/health", hello)

	for _, path := range []string{"/", "/", "/health"} {
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		fmt.Println(w.Code, w.Body)
	}
	// Output:
	// 200 hello
	// 429 per-user is over: rate_limited
	// 200 hello
}
