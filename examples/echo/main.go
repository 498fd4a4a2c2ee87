// Command echo is the example server on Echo v4.
package main

import (
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	echolimit "github.com/go-floodgate/floodgate/echo"
	"github.com/go-floodgate/floodgate/examples/app"
)

func main() {
	app.Main("echo", server)
}

func server(l *app.Limiters) app.Server {
	return &http.Server{Handler: handler(l), ReadHeaderTimeout: 5 * time.Second}
}

func handler(l *app.Limiters) http.Handler {
	e := echo.New()
	e.Use(middleware.Recover())

	// On the routes: what is mounted on a group of Echo is also asked about
	// paths below it that no route matches.
	e.GET("/healthz", show("healthz"))
	e.GET("/metrics", echo.WrapHandler(l.Metrics))
	api, costly := echolimit.New(l.API), echolimit.New(l.Costly)
	e.GET("/api/users", show("users"), api)
	e.GET("/api/users/:id", func(c echo.Context) error { return send(c, app.User(c.Param("id"))) }, api)
	e.GET("/api/search", show("search"), costly)
	e.POST("/api/reports", reports, costly)
	e.POST("/login", signIn, echolimit.New(l.Login, echolimit.Config{Account: echolimit.JSONField("username")}))
	e.POST("/upload", show("upload"), echolimit.New(l.Upload))
	for name, limiter := range l.Algorithms {
		e.GET("/algorithms/"+name, show(name), echolimit.New(limiter))
	}
	e.GET("/events", events, echolimit.New(l.Events))
	return e
}

func reports(c echo.Context) error { return send(c, app.Report(c.Request().Context())) }

func show(route string) echo.HandlerFunc {
	return func(c echo.Context) error { return send(c, app.OK(route)) }
}

func signIn(c echo.Context) error {
	body, err := io.ReadAll(http.MaxBytesReader(c.Response(), c.Request().Body, 1<<20))
	if err != nil {
		body = nil
	}
	return send(c, app.SignIn(body))
}

func events(c echo.Context) error {
	c.Response().Header().Set("Content-Type", "text/event-stream")
	stream := http.NewResponseController(c.Response())
	for event := range app.Events() {
		if _, err := io.WriteString(c.Response(), event); err != nil {
			return err
		}
		if err := stream.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func send(c echo.Context, reply app.Reply) error {
	return c.Blob(reply.Status, app.ContentType, reply.Body)
}
