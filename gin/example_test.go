package ginlimit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	ratelimit "github.com/go-floodgate/floodgate/core"
	ginlimit "github.com/go-floodgate/floodgate/gin"
	"github.com/go-floodgate/floodgate/memstore"
)

// A limiter for all routes of an engine.
func ExampleNew() {
	api := ratelimit.Must(ratelimit.New(memstore.New(),
		ratelimit.Policy{Name: "per-ip", Limit: ratelimit.TokenBucket(60, time.Hour, 2)},
	))
	r := gin.New()
	r.Use(ginlimit.New(api))
	r.GET("/users/:id", func(c *gin.Context) { c.String(http.StatusOK, "user %s\n", c.Param("id")) })

	for range 3 {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/users/7", http.NoBody))
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

	r := gin.New()
	group := r.Group("/api", ginlimit.New(api))
	group.GET("/search", func(c *gin.Context) { c.Status(http.StatusOK) })
	r.POST("/login", ginlimit.New(login, ginlimit.Config{Account: ginlimit.JSONField("username")}), func(c *gin.Context) {
		c.Status(http.StatusUnauthorized) // a wrong password
	})

	for range 2 {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/search", http.NoBody))
		fmt.Print(w.Code, " ")
	}
	for range 6 {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/login", strings.NewReader(`{"username":"alice"}`)))
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
	r := gin.New()
	r.Use(func(c *gin.Context) { c.Set("user", "alice") }) // who has signed in
	r.Use(ginlimit.New(api, ginlimit.Config{
		User: func(c *gin.Context) string { return c.GetString("user") },
		Skip: func(c *gin.Context) bool { return c.FullPath() == "/health" },
		OnDeny: func(c *gin.Context, d ratelimit.Decision) error {
			c.String(d.Status(), "%s is over: %s", d.Policy, d.Reason)
			return nil
		},
	}))
	hello := func(c *gin.Context) { c.String(http.StatusOK, "hello") }
	r.GET("/", hello)
	r.GET("/health", hello)

	for _, path := range []string{"/", "/", "/health"} {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		fmt.Println(w.Code, w.Body)
	}
	// Output:
	// 200 hello
	// 429 per-user is over: rate_limited
	// 200 hello
}

// A table of endpoints in one middleware, and a check at start: an entry that
// matches no route would limit nothing.
func ExampleCheckRoutes() {
	api := ratelimit.Must(ratelimit.New(memstore.New(), ratelimit.Logger(nil), ratelimit.Policy{
		Name: "api", Limit: ratelimit.PerMinute(100),
		Endpoints: map[string]ratelimit.Limit{
			"POST /api/login": ratelimit.SlidingLog(5, 15*time.Minute),
			"/api/users/:id":  ratelimit.PerMinute(30),
			"/admin/...":      ratelimit.PerMinute(10),
		},
	}))
	r := gin.New()
	r.Use(ginlimit.New(api))
	ok := func(c *gin.Context) { c.Status(http.StatusOK) }
	r.POST("/api/login", ok)
	r.GET("/api/users/:name", ok)
	r.GET("/admin/reports", ok)

	fmt.Println(ginlimit.CheckRoutes(api, r))
	// Output:
	// ratelimit: patterns match no route of the application: policy "api": Endpoints "/api/users/{id}" (is "GET /api/users/{name}" meant?)
}
