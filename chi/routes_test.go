package chilimit_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-chi/chi/v5"

	chilimit "github.com/go-floodgate/floodgate/chi"
	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/adaptertest"
)

// TestCheckRoutesOfARouter sees that a pattern is found exactly if requests are
// counted under it, in routers that are mounted in routers.
func TestCheckRoutesOfARouter(t *testing.T) {
	handler := func(http.ResponseWriter, *http.Request) {}
	r := chi.NewRouter()
	var l *ratelimit.Limiter
	r.Use(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { chilimit.New(l)(next).ServeHTTP(w, r) })
	})
	r.Get("/", handler)
	r.Get("/slash/", handler)
	r.HandleFunc("/all", handler)
	r.Get("/files/*", handler)
	r.Get("/n/{id:[0-9]+}", handler)
	r.Route("/admin", func(r chi.Router) {
		r.Get("/", handler)
		r.Route("/users", func(r chi.Router) {
			r.Post("/", handler)
			r.Get("/{id}", handler)
		})
		r.Mount("/deep", func() http.Handler {
			r := chi.NewRouter()
			r.Get("/x", handler)
			r.Get("/*", handler)
			return r
		}())
	})
	for _, c := range []struct{ method, pattern, path string }{
		{"GET", "/", "/"},
		{"GET", "/slash", "/slash/"},
		{"PATCH", "/all", "/all"},
		{"GET", "/files/*", "/files/a/b"},
		{"GET", "/n/{id}", "/n/7"},
		{"GET", "/n/{id}", "/n/x"}, // no route
		{"GET", "/admin", "/admin"},
		{"GET", "/admin/", "/admin/"},
		{"POST", "/admin/users", "/admin/users"},
		{"GET", "/admin/users", "/admin/users"},
		{"GET", "/admin/users/{id}", "/admin/users/7"},
		{"GET", "/admin/deep/x", "/admin/deep/x"},
		{"GET", "/admin/deep/*", "/admin/deep/y/z"},
		{"GET", "/admin/...", "/admin/deep/y/z"},
		{"GET", "/elsewhere", "/elsewhere"},
	} {
		script := adaptertest.NewScript()
		l = ratelimit.Must(ratelimit.New(script, ratelimit.Logger(nil), ratelimit.Policy{
			Name: "p", Endpoints: map[string]ratelimit.Limit{c.method + " " + c.pattern: ratelimit.PerMinute(1)},
		}))
		r.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(c.method, c.path, http.NoBody))
		counted, err := len(script.Charges()) > 0, chilimit.CheckRoutes(l, r)
		if c.path == "/n/x" {
			counted = true // by another path
		}
		if counted != (err == nil) {
			t.Errorf("%s %s: %s is counted under it: %v, CheckRoutes says %v", c.method, c.pattern, c.path, counted, err)
		}
	}
}
