package middleware

import (
	"time"

	"github.com/gin-gonic/gin"
	"github.com/gofiber/fiber/v2"
	fibersown "github.com/gofiber/fiber/v2/middleware/limiter"
	"github.com/labstack/echo/v4"
	echosown "github.com/labstack/echo/v4/middleware"
	ululegin "github.com/ulule/limiter/v3/drivers/middleware/gin"
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
	site := func(use ...gin.HandlerFunc) Site {
		gin.SetMode(gin.ReleaseMode)
		r := gin.New()
		r.Use(use...)
		r.GET("/", func(*gin.Context) {})
		return Site{Handler: r}
	}
	framework := Frameworks[2]
	all := []Contender{{
		Framework: framework, Name: Bare, Module: "github.com/gin-gonic/gin", Free: true, New: func(int64) (Site, error) { return site(), nil },
	}, fieldsAlone(framework, func(quota int64) Site { return site(answerGin(quota)) })}
	all = append(all, pair(framework, func(l *ratelimit.Limiter) Site { return site(ginlimit.New(l)) })...)
	return append(all, Contender{
		Framework: framework, Name: Ulule, Module: "github.com/ulule/limiter/v3",
		New: func(quota int64) (Site, error) { return site(ululegin.NewMiddleware(ululeLimiter(quota))), nil },
	})
}

func ofEcho() []Contender {
	site := func(use ...echo.MiddlewareFunc) Site {
		e := echo.New()
		e.Use(use...)
		e.GET("/", func(echo.Context) error { return nil })
		return Site{Handler: e}
	}
	framework := Frameworks[3]
	all := []Contender{{
		Framework: framework, Name: Bare, Module: "github.com/labstack/echo/v4", Free: true, New: func(int64) (Site, error) { return site(), nil },
	}, fieldsAlone(framework, func(quota int64) Site { return site(answerEcho(quota)) })}
	all = append(all, pair(framework, func(l *ratelimit.Limiter) Site { return site(echolimit.New(l)) })...)
	return append(all, Contender{Framework: framework, Name: Own, Module: "github.com/labstack/echo/v4", New: func(quota int64) (Site, error) {
		return site(echosown.RateLimiter(echosown.NewRateLimiterMemoryStoreWithConfig(echosown.RateLimiterMemoryStoreConfig{
			Rate: rate.Limit(perSecond(quota)), Burst: int(quota), ExpiresIn: time.Hour,
		}))), nil
	}})
}

func ofFiber() []Contender {
	site := func(use ...fiber.Handler) Site {
		app := fiber.New(fiber.Config{DisableStartupMessage: true})
		for _, handler := range use {
			app.Use(handler)
		}
		app.Get("/", func(*fiber.Ctx) error { return nil })
		return Site{App: app}
	}
	framework := Frameworks[4]
	all := []Contender{{
		Framework: framework, Name: Bare, Module: "github.com/gofiber/fiber/v2", Free: true, New: func(int64) (Site, error) { return site(), nil },
	}, fieldsAlone(framework, func(quota int64) Site { return site(answerFiber(quota)) })}
	all = append(all, pair(framework, func(l *ratelimit.Limiter) Site { return site(fiberlimit.New(l)) })...)
	own := func(name string, algorithm fibersown.LimiterHandler) Contender {
		return Contender{Framework: framework, Name: name, Module: "github.com/gofiber/fiber/v2", New: func(quota int64) (Site, error) {
			return site(fibersown.New(fibersown.Config{Max: int(quota), Expiration: time.Hour, LimiterMiddleware: algorithm})), nil
		}}
	}
	return append(all, own(Own, fibersown.FixedWindow{}), own(OwnSliding, fibersown.SlidingWindow{}))
}
