package memory

import (
	"net"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/limiter"
	"github.com/gofiber/fiber/v2/utils"
	"github.com/valyala/fasthttp"
)

// newFiber is Fiber's limiter in the one form it has, a handler: the request and
// its answer are in the numbers.
func newFiber(l Limit, _ int) (Store, error) {
	const field = "X-Client"
	handler := func() fasthttp.RequestHandler {
		app := fiber.New()
		app.Use(limiter.New(limiter.Config{
			Max: int(l.Quota), Expiration: l.Window,
			KeyGenerator: func(c *fiber.Ctx) string { return utils.CopyString(c.Get(field)) },
		}))
		app.Get("/", func(*fiber.Ctx) error { return nil })
		return app.Handler()
	}()
	return Store{Decide: func() Decide {
		request := new(fasthttp.RequestCtx)
		request.Init(new(fasthttp.Request), &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 4711}, nil)
		return func(key string) bool {
			request.Response.Reset()
			request.ResetUserValues()
			request.Request.Header.Set(field, key)
			handler(request)
			return request.Response.StatusCode() == fiber.StatusOK
		}
	}}, nil
}
