package chilimit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	chilimit "github.com/go-floodgate/floodgate/chi"
	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/memstore"
)

// A limiter for all routes of a router. A policy's Match names a route, which
// is found although chi has not looked for it yet.
func ExampleNew() {
	api := ratelimit.Must(ratelimit.New(memstore.New(),
		ratelimit.Policy{Name: "per-ip", Limit: ratelimit.TokenBucket(60, time.Hour, 3)},
		ratelimit.Policy{Name: "search", Match: "GET /search", Limit: ratelimit.PerHour(1)},
	))
	r := chi.NewRouter()
	r.Use(chilimit.New(api))
	r.Get("/search", func(http.ResponseWriter, *http.Request) {})
	r.Get("/users/{id}", func(http.ResponseWriter, *http.Request) {})

	for _, path := range []string{"/search", "/search", "/users/7", "/users/8", "/users/9"} {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		fmt.Println(path, w.Code, w.Header().Get("X-RateLimit-Remaining"), "left")
	}
	// Output:
	// /search 200 0 left
	// /search 429 0 left
	// /users/7 200 1 left
	// /users/8 200 0 left
	// /users/9 429 0 left
}

// Limiters for a sub-router and for one route. On the log-in route only
// failures count, by client and by account.
func ExampleNew_perRoute() {
	store := memstore.New()
	api := ratelimit.Must(ratelimit.New(store, ratelimit.Policy{Name: "api", Limit: ratelimit.PerHour(1)}))
	login := ratelimit.Must(ratelimit.New(store, ratelimit.Login()))

	r := chi.NewRouter()
	r.Route("/api", func(r chi.Router) {
		r.Use(chilimit.New(api))
		r.Get("/search", func(http.ResponseWriter, *http.Request) {})
	})
	r.With(chilimit.New(login, chilimit.Config{Account: chilimit.JSONField("username")})).Post("/login", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized) // a wrong password
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
	r := chi.NewRouter()
	r.Use(chilimit.New(api, chilimit.Config{
		User: func(x chilimit.Exchange) string { return userOf(x.R) },
		Skip: func(x chilimit.Exchange) bool { return x.R.URL.Path == "/health" },
		OnDeny: func(x chilimit.Exchange, d ratelimit.Decision) error {
			x.W.WriteHeader(d.Status())
			_, err := fmt.Fprintf(x.W, "%s is over: %s", d.Policy, d.Reason)
			return err
		},
	}))
	hello := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }
	r.Get("/", hello)
	r.Get("/health", hello)

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

// userOf stands for the application's own look-up of who has signed in.
func userOf(*http.Request) string { return "alice" }
