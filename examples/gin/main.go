// Command gin is the example server on Gin.
package main

import (
	"io"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/go-floodgate/floodgate/examples/app"
	ginlimit "github.com/go-floodgate/floodgate/gin"
)

func main() {
	app.Main("gin", server)
}

func server(l *app.Limiters) app.Server {
	gin.SetMode(gin.ReleaseMode)
	return &http.Server{Handler: handler(l), ReadHeaderTimeout: 5 * time.Second}
}

func handler(l *app.Limiters) http.Handler {
	r := gin.New()
	r.Use(gin.Recovery())

	r.GET("/healthz", show("healthz"))
	r.GET("/metrics", gin.WrapH(l.Metrics))
	users := r.Group("/api/users", ginlimit.New(l.API))
	users.GET("", show("users"))
	users.GET("/:id", func(c *gin.Context) { send(c, app.User(c.Param("id"))) })
	costly := r.Group("/api", ginlimit.New(l.Costly))
	costly.GET("/search", show("search"))
	costly.POST("/reports", reports)
	r.POST("/login", ginlimit.New(l.Login, ginlimit.Config{Account: ginlimit.JSONField("username")}), signIn)
	r.POST("/upload", ginlimit.New(l.Upload), show("upload"))
	for name, limiter := range l.Algorithms {
		r.GET("/algorithms/"+name, ginlimit.New(limiter), show(name))
	}
	r.GET("/events", ginlimit.New(l.Events), events)
	return r
}

func reports(c *gin.Context) { send(c, app.Report(c.Request.Context())) }

func show(route string) gin.HandlerFunc {
	return func(c *gin.Context) { send(c, app.OK(route)) }
}

func signIn(c *gin.Context) {
	body, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, 1<<20))
	if err != nil {
		body = nil
	}
	send(c, app.SignIn(body))
}

func events(c *gin.Context) {
	c.Header("Content-Type", "text/event-stream")
	for event := range app.Events() {
		if _, err := io.WriteString(c.Writer, event); err != nil {
			return
		}
		c.Writer.Flush()
	}
}

func send(c *gin.Context, reply app.Reply) {
	c.Data(reply.Status, app.ContentType, reply.Body)
}
