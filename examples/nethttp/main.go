// Command nethttp is the example server on net/http.
package main

import (
	"io"
	"net/http"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/examples/app"
	httplimit "github.com/go-floodgate/floodgate/nethttp"
)

func main() {
	app.Main("nethttp", server)
}

func server(l *app.Limiters) app.Server {
	return &http.Server{Handler: handler(l), ReadHeaderTimeout: 5 * time.Second}
}

func handler(l *app.Limiters) http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, limiter *ratelimit.Limiter, answer http.HandlerFunc) {
		mux.Handle(pattern, httplimit.Wrap(limiter, answer))
	}

	mux.HandleFunc("GET /healthz", show("healthz"))
	mux.Handle("GET /metrics", l.Metrics)
	handle("GET /api/users", l.API, show("users"))
	handle("GET /api/users/{id}", l.API, func(w http.ResponseWriter, r *http.Request) { send(w, app.User(r.PathValue("id"))) })
	handle("GET /api/search", l.Costly, show("search"))
	handle("POST /api/reports", l.Costly, reports)
	mux.Handle("POST /login", httplimit.Wrap(l.Login, http.HandlerFunc(signIn), httplimit.Config{Account: httplimit.JSONField("username")}))
	handle("POST /upload", l.Upload, show("upload"))
	for name, limiter := range l.Algorithms {
		handle("GET /algorithms/"+name, limiter, show(name))
	}
	handle("GET /events", l.Events, events)
	return mux
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
