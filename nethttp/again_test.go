package httplimit_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/memstore"
	httplimit "github.com/go-floodgate/floodgate/nethttp"
)

// remaining is what is left to the client of a test's requests.
func remaining(t *testing.T, l *ratelimit.Limiter) int64 {
	t.Helper()
	d := l.Peek(t.Context(), "ip:192.0.2.1")
	return d.Result.Remaining
}

func ten(t *testing.T) *ratelimit.Limiter {
	return newLimiter(t, memstore.New(), ratelimit.Policy{Name: "p", Limit: ratelimit.FixedWindow(10, 24*time.Hour)})
}

// TestServedAgain counts a request once that a handler serves again, by the
// whole server, as it is or as a copy.
func TestServedAgain(t *testing.T) {
	for name, copied := range map[string]func(*http.Request) *http.Request{
		"as it is": func(r *http.Request) *http.Request { return r },
		"a copy":   func(r *http.Request) *http.Request { return r.Clone(r.Context()) },
	} {
		l, served := ten(t), 0
		var server http.Handler
		mux := http.NewServeMux()
		mux.HandleFunc("/old", func(w http.ResponseWriter, r *http.Request) {
			r = copied(r)
			r.URL.Path = "/new"
			server.ServeHTTP(w, r)
		})
		mux.HandleFunc("/new", func(http.ResponseWriter, *http.Request) { served++ })
		server = httplimit.Wrap(l, mux)
		for range 3 {
			server.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/old", http.NoBody))
		}
		if left := remaining(t, l); served != 3 || left != 7 {
			t.Errorf("%s: 3 requests are served %d times and leave %d of 10", name, served, left)
		}
	}
}

// TestMountedAroundAnotherWriter counts a request once though the limiter is
// mounted twice, as two middlewares or one, and the response changes its header in
// between.
func TestMountedAroundAnotherWriter(t *testing.T) {
	for name, one := range map[string]bool{"two middlewares": false, "one": true} {
		l, served := ten(t), 0
		outer, inner := httplimit.New(l), httplimit.New(l)
		if one {
			inner = outer
		}
		handler := inner(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }))
		server := outer(http.TimeoutHandler(handler, time.Hour, ""))
		for range 3 {
			server.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", http.NoBody))
		}
		if left := remaining(t, l); served != 3 || left != 7 {
			t.Errorf("%s: 3 requests are served %d times and leave %d of 10", name, served, left)
		}
	}
}

// TestOneRequestManyTimes counts each time that a server is handed the same
// Request, one after the other or at once, and with the same writer.
func TestOneRequestManyTimes(t *testing.T) {
	l := ten(t)
	server := httplimit.Wrap(l, bare())
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	w := httptest.NewRecorder()
	for range 3 {
		server.ServeHTTP(w, r)
	}
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() { server.ServeHTTP(httptest.NewRecorder(), r) })
	}
	wait.Wait()
	func() {
		defer func() { _ = recover() }()
		httplimit.Wrap(l, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })).ServeHTTP(w, r)
	}()
	if left, under := remaining(t, l), l.UnderWay(); left != 2 || under != 0 {
		t.Errorf("8 requests leave %d of 10 and %d under way", left, under)
	}
}

// TestOneRequestManyTimesMarked serves the same Request at once where the
// limiter marks contexts: the race detector sees who writes to it.
func TestOneRequestManyTimesMarked(t *testing.T) {
	l := ten(t)
	server := httplimit.Wrap(l, httplimit.Wrap(l, bare()))
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() { server.ServeHTTP(httptest.NewRecorder(), r) })
	}
	wait.Wait()
	if left := remaining(t, l); left != 2 {
		t.Errorf("8 requests leave %d of 10", left)
	}
}

// TestEditedInPlace has middleware edit the fields of an allowed and of a
// refused response in place, which must not show in the responses to others.
func TestEditedInPlace(t *testing.T) {
	for _, policy := range []ratelimit.Policy{generous, spent} {
		server := limited(t, policy)
		serve := func() http.Header {
			w := httptest.NewRecorder()
			server.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
			return w.Header()
		}
		first := serve()
		if len(first) == 0 {
			t.Fatal("the response has no fields")
		}
		for _, lines := range first {
			lines[0] = "edited"
		}
		for name, lines := range serve() {
			if lines[0] == "edited" || len(lines) != cap(lines) {
				t.Errorf("%s is %q, with room for %d lines", name, lines, cap(lines))
			}
		}
	}
}
