package middleware

import (
	"net"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/gofiber/fiber/v2"
	fibersown "github.com/gofiber/fiber/v2/middleware/limiter"
	"github.com/labstack/echo/v4"
	echosown "github.com/labstack/echo/v4/middleware"
	ululegin "github.com/ulule/limiter/v3/drivers/middleware/gin"
	"github.com/valyala/fasthttp"
	"golang.org/x/time/rate"

	ratelimit "github.com/go-floodgate/floodgate/core"
	echolimit "github.com/go-floodgate/floodgate/echo"
	fiberlimit "github.com/go-floodgate/floodgate/fiber"
	ginlimit "github.com/go-floodgate/floodgate/gin"
)

// The limiters that frameworks bring along.
const (
	Own        = "its own"
	OwnSliding = "its own, sliding window"
)

func ofGin() []Contender {
	serve := func(use ...gin.HandlerFunc) (Serve, error) {
		gin.SetMode(gin.ReleaseMode)
		r := gin.New()
		r.Use(use...)
		r.GET("/", func(*gin.Context) {})
		return serving(r)
	}
	framework := Frameworks[2]
	all := []Contender{{
		Framework: framework, Name: Bare, Module: "github.com/gin-gonic/gin", Free: true, New: func(int64) (Serve, error) { return serve() },
	}}
	all = append(all, pair(framework, func(l *ratelimit.Limiter) (Serve, error) { return serve(ginlimit.New(l)) })...)
	return append(all, Contender{
		Framework: framework, Name: Ulule, Module: "github.com/ulule/limiter/v3",
		New: func(quota int64) (Serve, error) { return serve(ululegin.NewMiddleware(ululeLimiter(quota))) },
	})
}

func ofEcho() []Contender {
	serve := func(use ...echo.MiddlewareFunc) (Serve, error) {
		e := echo.New()
		e.Use(use...)
		e.GET("/", func(echo.Context) error { return nil })
		return serving(e)
	}
	framework := Frameworks[3]
	all := []Contender{{
		Framework: framework, Name: Bare, Module: "github.com/labstack/echo/v4", Free: true, New: func(int64) (Serve, error) { return serve() },
	}}
	all = append(all, pair(framework, func(l *ratelimit.Limiter) (Serve, error) { return serve(echolimit.New(l)) })...)
	return append(all, Contender{Framework: framework, Name: Own, Module: "github.com/labstack/echo/v4", New: func(quota int64) (Serve, error) {
		return serve(echosown.RateLimiter(echosown.NewRateLimiterMemoryStoreWithConfig(echosown.RateLimiterMemoryStoreConfig{
			Rate: rate.Limit(perSecond(quota)), Burst: int(quota), ExpiresIn: time.Hour,
		})))
	}})
}

func ofFiber() []Contender {
	serve := func(use ...fiber.Handler) (Serve, error) {
		app := fiber.New()
		for _, handler := range use {
			app.Use(handler)
		}
		app.Get("/", func(*fiber.Ctx) error { return nil })
		return asking(app), nil
	}
	framework := Frameworks[4]
	all := []Contender{{
		Framework: framework, Name: Bare, Module: "github.com/gofiber/fiber/v2", Free: true, New: func(int64) (Serve, error) { return serve() },
	}}
	all = append(all, pair(framework, func(l *ratelimit.Limiter) (Serve, error) { return serve(fiberlimit.New(l)) })...)
	own := func(name string, algorithm fibersown.LimiterHandler) Contender {
		return Contender{Framework: framework, Name: name, Module: "github.com/gofiber/fiber/v2", New: func(quota int64) (Serve, error) {
			return serve(fibersown.New(fibersown.Config{Max: int(quota), Expiration: time.Hour, LimiterMiddleware: algorithm}))
		}}
	}
	return append(all, own(Own, fibersown.FixedWindow{}), own(OwnSliding, fibersown.SlidingWindow{}))
}

// asking asks app for the same again and again.
func asking(app *fiber.App) Serve {
	handler := app.Handler()
	var ctx fasthttp.RequestCtx
	ctx.Init(new(fasthttp.Request), &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 4711}, nil)
	return func() int {
		ctx.Response.Reset()
		ctx.ResetUserValues()
		handler(&ctx)
		if status := ctx.Response.StatusCode(); status != 0 {
			return status
		}
		return http.StatusOK
	}
}
