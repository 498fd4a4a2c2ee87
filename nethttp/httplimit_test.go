package httplimit_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/adaptertest"
	"github.com/go-floodgate/floodgate/memstore"
	httplimit "github.com/go-floodgate/floodgate/nethttp"
)

func newLimiter(t testing.TB, store ratelimit.Store, options ...ratelimit.Option) *ratelimit.Limiter {
	t.Helper()
	l, err := ratelimit.New(store, options...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// get serves one request and returns its answer.
func get(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
	return w
}

func TestMistakesAtStart(t *testing.T) {
	l := newLimiter(t, memstore.New(), ratelimit.Policy{Name: "ip", Limit: ratelimit.PerMinute(1)})
	for _, c := range []struct {
		make func()
		want string
	}{
		{func() { httplimit.New(nil) }, "httplimit: the limiter is nil"},
		{func() { httplimit.Wrap(nil, http.NotFoundHandler()) }, "httplimit: the limiter is nil"},
		{func() { httplimit.New(l, httplimit.Config{}, httplimit.Config{}) }, "httplimit: more than one Config"},
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
	l := newLimiter(t, store, ratelimit.Policy{Name: "ip", Limit: ratelimit.TokenBucket(60, time.Minute, 3)})
	h := httplimit.Wrap(l, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for i, want := range []struct {
		status    int
		remaining string
	}{{200, "2"}, {200, "1"}, {200, "0"}, {429, "0"}, {429, "0"}} {
		w := get(h, "/")
		if w.Code != want.status || w.Header().Get("X-RateLimit-Remaining") != want.remaining {
			t.Errorf("request %d: %d with %q left, want %d with %s", i+1, w.Code, w.Header().Get("X-RateLimit-Remaining"), want.status, want.remaining)
		}
	}
	at = at.Add(time.Second)
	if w := get(h, "/"); w.Code != http.StatusOK {
		t.Errorf("after Retry-After: %d, want 200", w.Code)
	}
}

// TestRoutesOf sees which route requests are counted under when the middleware
// stands before a mux.
func TestRoutesOf(t *testing.T) {
	var route string
	l := newLimiter(t, adaptertest.NewScript(), ratelimit.Policy{Name: "ip", Limit: ratelimit.PerMinute(1)}, ratelimit.Observe(ratelimit.Observer{
		Decision: func(_ context.Context, o *ratelimit.Observation) { route = o.Route },
	}))
	mux := http.NewServeMux()
	for _, pattern := range []string{"GET /u/{id}", "/tree/", "GET example.com/host", "/files/{path...}", "GET /{$}"} {
		mux.Handle(pattern, http.NotFoundHandler())
	}
	between := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { mux.ServeHTTP(w, r) })
	for name, h := range map[string]http.Handler{
		"the mux itself":                httplimit.New(l)(mux),
		"a handler that hands on to it": httplimit.New(l, httplimit.Config{Route: httplimit.RoutesOf(mux)})(between),
	} {
		for path, want := range map[string]string{
			"/u/1": "/u/{id}", "/tree/a/b": "/tree/", "/files/a/b": "/files/{path...}", "/": "/{$}",
			"http://example.com/host": "/host", "/nope": ratelimit.UnmatchedRoute,
		} {
			if get(h, path); route != want {
				t.Errorf("around %s %s is counted under %q, want %q", name, path, route, want)
			}
		}
	}
}

// TestRouteInsideAnotherMux sees that the mux that is wrapped tells the route,
// not one further out.
func TestRouteInsideAnotherMux(t *testing.T) {
	l := newLimiter(t, memstore.New(), ratelimit.Policy{Name: "search", Match: "GET /search", Limit: ratelimit.PerHour(1)})
	inner, outer := http.NewServeMux(), http.NewServeMux()
	inner.HandleFunc("GET /search", func(http.ResponseWriter, *http.Request) {})
	outer.Handle("/api/", http.StripPrefix("/api", httplimit.New(l)(inner)))
	for i, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
		if w := get(outer, "/api/search"); w.Code != want {
			t.Errorf("request %d: %d, want %d", i+1, w.Code, want)
		}
	}
}

// TestRouteUnknown sees that a middleware somewhere before a mux says when it lacks the
// route, and counts all the same.
func TestRouteUnknown(t *testing.T) {
	var log strings.Builder
	l := newLimiter(t, memstore.New(), ratelimit.Policy{Name: "route", Key: ratelimit.ByRoute(), Limit: ratelimit.PerHour(1)},
		ratelimit.Logger(slog.New(slog.NewTextHandler(&log, nil))))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /u/{id}", func(http.ResponseWriter, *http.Request) {})
	h := httplimit.New(l)(http.HandlerFunc(mux.ServeHTTP))
	for i, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
		if w := get(h, "/u/1"); w.Code != want {
			t.Errorf("request %d: %d, want %d", i+1, w.Code, want)
		}
	}
	if n := strings.Count(log.String(), "code="+ratelimit.CodeRouteUnknown); n != 1 {
		t.Errorf("said %d times that the route is unknown, want once: %s", n, log.String())
	}
}

// TestPatternFurtherOut sees that what is mounted around the limiter finds the
// pattern in its request as it would without.
func TestPatternFurtherOut(t *testing.T) {
	l := newLimiter(t, adaptertest.NewScript(), ratelimit.Policy{Name: "ip", Limit: ratelimit.PerMinute(1), Counts: ratelimit.CountFailures})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /u/{id}", func(http.ResponseWriter, *http.Request) {})
	h := httplimit.New(l)(mux)
	r := httptest.NewRequest(http.MethodGet, "/u/1", http.NoBody)
	h.ServeHTTP(httptest.NewRecorder(), r)
	if r.Pattern != "GET /u/{id}" {
		t.Errorf("Pattern is %q afterwards, want the mux's", r.Pattern)
	}
}

// TestStatusSent sees that a policy is told the status that is sent, which is
// not always the one that the handler sets last.
func TestStatusSent(t *testing.T) {
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    int
	}{
		"nothing":       {func(http.ResponseWriter, *http.Request) {}, 200},
		"early hints":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103); w.WriteHeader(404) }, 404},
		"twice":         {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401); w.WriteHeader(200) }, 401},
		"after a write": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("x")); w.WriteHeader(500) }, 200},
		"after a string": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.(interface{ WriteString(string) (int, error) }).WriteString("x")
			w.WriteHeader(500)
		}, 200},
		"after a flush": {func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush(); w.WriteHeader(500) }, 200},
		"after a flush of a controller": {func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).Flush()
			w.WriteHeader(500)
		}, 200},
	} {
		t.Run(name, func(t *testing.T) {
			told := make(chan int, 10)
			l := newLimiter(t, adaptertest.NewScript(), ratelimit.Policy{
				Name: "counted", Limit: ratelimit.PerMinute(1),
				Counts: ratelimit.CountStatus(func(status int) bool { told <- status; return true }),
			})
			for len(told) > 0 { // what was asked when the limiter was made
				<-told
			}
			server := httptest.NewServer(httplimit.Wrap(l, c.handler))
			server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
			defer server.Close()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			response, err := server.Client().Do(request)
			if err != nil {
				t.Fatal(err)
			}
			// A client that hangs up before the end is counted unasked.
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
			if response.StatusCode != c.want {
				t.Fatalf("the server sent %d, want %d", response.StatusCode, c.want)
			}
			select {
			case got := <-told:
				if got != c.want {
					t.Errorf("the policy was told %d, want %d", got, c.want)
				}
			default:
				t.Error("the policy was told nothing")
			}
		})
	}
}
