package fiberlimit

import (
	"context"
	"sync"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// userContext returns what [fiber.Ctx.UserContext] does, given where Fiber keeps
// it. That one also makes a context for a request that has none and keeps it,
// for nothing, which takes longer than the rest that a decision needs of Fiber.
func userContext(c *fiber.Ctx, key any) context.Context {
	if key == nil {
		return c.UserContext()
	}
	if ctx, ok := c.Context().UserValue(key).(context.Context); ok {
		return ctx
	}
	return context.Background()
}

// userContextKey is under what Fiber keeps a request's context, nil if it keeps
// it elsewhere: seen from what it does, since it does not tell.
var userContextKey = sync.OnceValue(func() (key any) {
	var request fasthttp.RequestCtx
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	c := app.AcquireCtx(&request)
	defer app.ReleaseCtx(c)
	ctx, cancel := context.WithCancel(context.Background()) // like no other
	defer cancel()
	c.SetUserContext(ctx)
	request.VisitUserValuesAll(func(k, v any) {
		if v == ctx {
			key = k
		}
	})
	return key
})
