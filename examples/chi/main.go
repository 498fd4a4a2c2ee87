// Command chi is the example server on chi.
package main

import (
	"io"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	chilimit "github.com/go-floodgate/floodgate/chi"
	"github.com/go-floodgate/floodgate/examples/app"
)

func main() {
	app.Main("chi", server)
}

func server(l *app.Limiters) app.Server {
	return &http.Server{Handler: handler(l), ReadHeaderTimeout: 5 * time.Second}
}

func handler(l *app.Limiters) http.Handler {
	r := chi.NewRouter()

	r.Get("/healthz", show("healthz"))
	r.Get("/metrics", l.Metrics.ServeHTTP)
	r.Group(func(r chi.Router) {
		r.Use(chilimit.New(l.API))
		r.Get("/api/users", show("users"))
		r.Get("/api/users/{id}", func(w http.ResponseWriter, r *http.Request) { send(w, app.User(chi.URLParam(r, "id"))) })
	})
	r.Group(func(r chi.Router) {
		r.Use(chilimit.New(l.Costly))
		r.Get("/api/search", show("search"))
		r.Post("/api/reports", reports)
	})
	r.With(chilimit.New(l.Login, chilimit.Config{Account: chilimit.JSONField("username")})).Post("/login", signIn)
	r.With(chilimit.New(l.Upload)).Post("/upload", show("upload"))
	for name, limiter := range l.Algorithms {
		r.With(chilimit.New(limiter)).Get("/algorithms/"+name, show(name))
	}
	r.With(chilimit.New(l.Events)).Get("/events", events)
	return r
}

func reports(w http.ResponseWriter, r *http.Request) { send(w, app.Report(r.Context())) }

func show(route string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { send(w, app.OK(route)) }
}

func signIn(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		body = nil
	}
	send(w, app.SignIn(body))
}

func events(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	stream := http.NewResponseController(w)
	for event := range app.Events() {
		if _, err := io.WriteString(w, event); err != nil {
			return
		}
		if err := stream.Flush(); err != nil {
			return
		}
	}
}

func send(w http.ResponseWriter, reply app.Reply) {
	w.Header().Set("Content-Type", app.ContentType)
	w.WriteHeader(reply.Status)
	_, _ = w.Write(reply.Body)
}
