// Command fiberv3 is the example server on Fiber v3.
package main

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"time"

	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/adaptor"
	"github.com/gofiber/fiber/v3/middleware/recover"

	"github.com/go-floodgate/floodgate/examples/app"
	fiberlimit "github.com/go-floodgate/floodgate/fiberv3"
)

func main() {
	app.Main("fiberv3", server)
}

func server(l *app.Limiters) app.Server {
	return fiberServer{handler(l)}
}

func handler(l *app.Limiters) *fiber.App {
	r := fiber.New(fiber.Config{ReadTimeout: 5 * time.Second, BodyLimit: 1 << 20})
	r.Use(recover.New())

	// On the routes, where Fiber knows them: the costs of a policy ask for the
	// route. A group's middleware is asked about all that is below its prefix.
	r.Get("/healthz", show("healthz"))
	r.Get("/metrics", adaptor.HTTPHandler(l.Metrics))
	api, costly := fiberlimit.New(l.API), fiberlimit.New(l.Costly)
	r.Get("/api/users", api, show("users"))
	r.Get("/api/users/:id", api, func(c fiber.Ctx) error { return send(c, app.User(c.Params("id"))) })
	r.Get("/api/search", costly, show("search"))
	r.Post("/api/reports", costly, reports)
	r.Post("/login", fiberlimit.New(l.Login, fiberlimit.Config{Account: fiberlimit.JSONField("username")}), signIn)
	r.Post("/upload", fiberlimit.New(l.Upload), show("upload"))
	for name, limiter := range l.Algorithms {
		r.Get("/algorithms/"+name, fiberlimit.New(limiter), show(name))
	}
	r.Get("/events", fiberlimit.New(l.Events), events)
	return r
}

func reports(c fiber.Ctx) error { return send(c, app.Report(c.Context())) }

func show(route string) fiber.Handler {
	return func(c fiber.Ctx) error { return send(c, app.OK(route)) }
}

func signIn(c fiber.Ctx) error {
	return send(c, app.SignIn(c.Body()))
}

func events(c fiber.Ctx) error {
	c.Set("Content-Type", "text/event-stream")
	return c.SendStreamWriter(write)
}

// write is called when the handler has returned.
func write(w *bufio.Writer) {
	for event := range app.Events() {
		if _, err := w.WriteString(event); err != nil {
			return
		}
		if err := w.Flush(); err != nil {
			return
		}
	}
}

func send(c fiber.Ctx, reply app.Reply) error {
	c.Set("Content-Type", app.ContentType)
	return c.Status(reply.Status).Send(reply.Body)
}

// fiberServer is an app as the servers of net/http are.
type fiberServer struct{ *fiber.App }

func (s fiberServer) Serve(l net.Listener) error {
	if err := s.Listener(l, fiber.ListenConfig{DisableStartupMessage: true}); err != nil {
		return err
	}
	return http.ErrServerClosed
}

func (s fiberServer) Shutdown(ctx context.Context) error { return s.ShutdownWithContext(ctx) }
