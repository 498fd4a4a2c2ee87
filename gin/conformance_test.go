package ginlimit_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"testing"

	"github.com/gin-gonic/gin"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/adaptertest"
	ginlimit "github.com/go-floodgate/floodgate/gin"
)

func TestMain(m *testing.M) {
	gin.SetMode(gin.ReleaseMode)
	os.Exit(m.Run())
}

func TestConformance(t *testing.T) {
	adaptertest.Run(t, adaptertest.Harness{Serve: serve, Lacks: adaptertest.RouteListInUse})
}

func serve(t testing.TB, l net.Listener, site adaptertest.Site) {
	t.Helper()
	r := gin.New()
	if site.Recover {
		r.Use(gin.RecoveryWithWriter(io.Discard))
	}
	r.Use(answering(site.OnError))
	r.Use(middleware(site.Use)...)
	add(&r.RouterGroup, site.Routes)
	for _, group := range site.Groups {
		add(r.Group(group.Prefix, middleware(group.Use)...), group.Routes)
	}
	if site.Built != nil {
		site.Built(func(l *ratelimit.Limiter) error { return ginlimit.CheckRoutes(l, r) })
	}
	adaptertest.ServeHTTP(t, l, r)
}

// answering answers the errors that handlers leave in the context, as
// applications of Gin do.
func answering(onError func(adaptertest.Exchange, error) error) gin.HandlerFunc {
	return func(c *gin.Context) {
		c.Next()
		failure := c.Errors.Last()
		switch {
		case failure == nil || c.Writer.Written():
		case onError != nil:
			_ = onError(exchange(c), failure.Err)
		default:
			c.AbortWithStatus(http.StatusInternalServerError)
		}
	}
}

func add(group *gin.RouterGroup, routes []adaptertest.Route) {
	for _, r := range routes {
		handler := func(c *gin.Context) {
			if err := r.Handler(exchange(c)); err != nil {
				_ = c.Error(err)
			}
		}
		group.Handle(r.Method, adaptertest.Spell(r.Pattern, ":name", "*name"), append(middleware(r.Use), handler)...)
	}
}

func middleware(all []adaptertest.Middleware) []gin.HandlerFunc {
	var handlers []gin.HandlerFunc
	for _, m := range all {
		if m.Limiter != nil {
			handlers = append(handlers, ginlimit.New(m.Limiter, adaptertest.ConfigOf(m.Config, exchange, ginlimit.JSONField)))
			continue
		}
		handlers = append(handlers, func(c *gin.Context) {
			_ = m.Around(exchange(c), func(ctx context.Context) error {
				c.Request = c.Request.WithContext(ctx)
				c.Next()
				return nil
			})
		})
	}
	return handlers
}

func exchange(c *gin.Context) adaptertest.Exchange {
	return adaptertest.HTTP{W: c.Writer, R: c.Request}
}
