package httplimit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/memstore"
	httplimit "github.com/go-floodgate/floodgate/nethttp"
)

// A limiter for all routes of a mux.
func ExampleNew() {
	api := ratelimit.Must(ratelimit.New(memstore.New(),
		ratelimit.Policy{Name: "per-ip", Limit: ratelimit.TokenBucket(60, time.Hour, 2)},
	))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /users/{id}", func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "user %s\n", r.PathValue("id"))
	})
	handler := httplimit.New(api)(mux)

	for range 3 {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/users/7", http.NoBody))
		fmt.Println(w.Code, w.Header().Get("X-RateLimit-Remaining"), "left", w.Header().Get("RateLimit-Policy"))
	}
	// Output:
	// 200 1 left "per-ip";q=60;w=3600;floodgate-burst=2
	// 200 0 left "per-ip";q=60;w=3600;floodgate-burst=2
	// 429 0 left "per-ip";q=60;w=3600;floodgate-burst=2
}

// A limiter for one route. Only failures count, by client and by account.
func ExampleWrap() {
	login := ratelimit.Must(ratelimit.New(memstore.New(), ratelimit.Login()))
	signIn := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized) // a wrong password
	})
	mux := http.NewServeMux()
	mux.Handle("POST /login", httplimit.Wrap(login, signIn, httplimit.Config{Account: httplimit.JSONField("username")}))

	for range 6 {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/login", strings.NewReader(`{"username":"alice"}`)))
		fmt.Print(w.Code, " ")
	}
	// Output: 401 401 401 401 401 429
}

// A limit on some routes: a policy's Match names them.
func ExampleRoutesOf() {
	api := ratelimit.Must(ratelimit.New(memstore.New(),
		ratelimit.Policy{Name: "search", Match: "GET /search", Limit: ratelimit.PerHour(1)},
	))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /search", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	// Something stands between the middleware and the mux.
	logged := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { mux.ServeHTTP(w, r) })
	handler := httplimit.New(api, httplimit.Config{Route: httplimit.RoutesOf(mux)})(logged)

	for _, path := range []string{"/search?q=1", "/search?q=2", "/health"} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		fmt.Println(path, w.Code)
	}
	// Output:
	// /search?q=1 200
	// /search?q=2 429
	// /health 200
}

// Users that the application has authenticated, a path that is not limited, and
// an answer of one's own.
func ExampleConfig() {
	api := ratelimit.Must(ratelimit.New(memstore.New(),
		ratelimit.Policy{Name: "per-user", Key: ratelimit.ByUser(), Limit: ratelimit.PerHour(1)},
	))
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "hello") })
	handler := httplimit.Wrap(api, hello, httplimit.Config{
		User: func(x httplimit.Exchange) string { return userOf(x.R) },
		Skip: func(x httplimit.Exchange) bool { return x.R.URL.Path == "/health" },
		OnDeny: func(x httplimit.Exchange, d ratelimit.Decision) error {
			x.W.WriteHeader(d.Status())
			_, err := fmt.Fprintf(x.W, "%s is over: %s", d.Policy, d.Reason)
			return err
		},
	})

	for _, path := range []string{"/", "/", "/health"} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		fmt.Println(w.Code, w.Body)
	}
	// Output:
	// 200 hello
	// 429 per-user is over: rate_limited
	// 200 hello
}

// A client that keeps to what the server says: all its requests succeed.
func ExampleTransport() {
	api := ratelimit.Must(ratelimit.New(memstore.New(),
		ratelimit.Policy{Name: "per-ip", Limit: ratelimit.TokenBucket(5, time.Second, 2)},
	))
	refused := 0
	server := httptest.NewServer(httplimit.Wrap(api,
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "hello") }),
		httplimit.Config{OnDeny: func(x httplimit.Exchange, d ratelimit.Decision) error {
			refused++
			x.W.WriteHeader(d.Status())
			return nil
		}},
	))
	defer server.Close()

	client := &http.Client{Transport: &httplimit.Transport{MaxWait: 10 * time.Second}}
	for range 4 {
		res, err := client.Get(server.URL) //nolint:noctx // an example
		if err != nil {
			fmt.Println(err)
			return
		}
		_ = res.Body.Close()
		fmt.Print(res.StatusCode, " ")
	}
	fmt.Println(refused, "refused")
	// Output: 200 200 200 200 0 refused
}

// userOf stands for the application's own look-up of who has signed in.
func userOf(*http.Request) string { return "alice" }

// A table of endpoints in one middleware, and a check at start: an entry that
// matches no route would limit nothing.
func ExampleCheckRoutes() {
	api := ratelimit.Must(ratelimit.New(memstore.New(), ratelimit.Logger(nil), ratelimit.Policy{
		Name: "api", Limit: ratelimit.PerMinute(100),
		Endpoints: map[string]ratelimit.Limit{
			"POST /api/login": ratelimit.SlidingLog(5, 15*time.Minute),
			"POST /api/users": ratelimit.PerMinute(30),
		},
	}))
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/login", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /api/users", func(http.ResponseWriter, *http.Request) {})

	fmt.Println(httplimit.CheckRoutes(api, mux))
	// Output:
	// ratelimit: patterns match no route of the application: policy "api": Endpoints "POST /api/users"
}
