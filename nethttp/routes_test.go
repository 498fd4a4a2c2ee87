package httplimit_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/adaptertest"
	httplimit "github.com/go-floodgate/floodgate/nethttp"
)

// naming makes a limiter whose policy names a pattern.
func naming(t *testing.T, pattern string, log *strings.Builder) *ratelimit.Limiter {
	t.Helper()
	l, err := ratelimit.New(adaptertest.NewScript(), ratelimit.Logger(slog.New(slog.NewTextHandler(log, nil))),
		ratelimit.Policy{Name: "p", Endpoints: map[string]ratelimit.Limit{pattern: ratelimit.PerMinute(1)}})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestCheckRoutesOfAMux is about what a mux has and others have not: subtrees,
// catch-alls beside more special routes, hosts, and routes for every method.
func TestCheckRoutesOfAMux(t *testing.T) {
	mux := http.NewServeMux()
	for _, pattern := range []string{
		"/", "/any", "/tree/", "/tree/{$}", "/tree/{id}", "PURGE /cache", "/files/{path...}", "GET /files/{id}", "GET /files/{id}/{rest...}",
		"/end/{$}", "GET h.example/hosted", "/a/{x}/b/{y...}", "/a/{x}/b/c", "PUT /u/{id}", "DELETE /u/{id}",
	} {
		mux.Handle(pattern, http.NotFoundHandler())
	}
	for pattern, known := range map[string]bool{
		"/": true, "HEAD /": true,
		"/any": true, "REPORT /any": true, "/any/": false,
		"/tree/": true, "/tree/{$}": true, "/tree": false, "/tree/{id}": true, "/tree/{name}": false, "/tree/...": true, "/nowhere/...": true,
		"PURGE /cache": true, "GET /cache": false,
		"/files/{path...}": true, "GET /files/{id}": true, "/files/{id}/{rest...}": true, "/files/{rest...}": false,
		"/end/{$}": true, "/end/": false,
		"/hosted":         false,
		"/a/{x}/b/{y...}": true, "/a/{x}/b/c": true, "/a/{x}/b": false,
		"/u/{id}": true, "DELETE /u/:id": true, "GET /u/{id}": false,
	} {
		err := httplimit.CheckRoutes(naming(t, pattern, new(strings.Builder)), mux)
		if (err == nil) != known {
			t.Errorf("%s: %v", pattern, err)
		}
	}
	if err := httplimit.CheckRoutes(naming(t, "/hosted", new(strings.Builder)), mux, "h.example"); err != nil {
		t.Errorf("a pattern of a host that is named: %v", err)
	}
}

// TestWrappedMuxIsChecked: a mux that the middleware wraps itself is looked at
// with the first request, for its host as well.
func TestWrappedMuxIsChecked(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("GET h.example/hosted", http.NotFoundHandler())
	for pattern, reported := range map[string]bool{"/hosted": false, "/hostd": true} {
		var log strings.Builder
		handler := httplimit.Wrap(naming(t, pattern, &log), mux)
		for range 3 {
			handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "http://h.example/hosted", http.NoBody))
		}
		if n := strings.Count(log.String(), ratelimit.CodeEndpointUnmatched); n > 1 || (n == 1) != reported {
			t.Errorf("%s: logged %d times: %s", pattern, n, log.String())
		}
	}
}
