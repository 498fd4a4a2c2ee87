package fiberlimit

import (
	"context"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// TestUserContext finds the context that was set for a request, and leaves none
// in one that has none.
func TestUserContext(t *testing.T) {
	key := userContextKey()
	if key == nil {
		t.Fatal("Fiber keeps a request's context elsewhere: each request has one made")
	}
	var request fasthttp.RequestCtx
	app := fiber.New()
	c := app.AcquireCtx(&request)
	defer app.ReleaseCtx(c)
	for _, key := range []any{key, nil} {
		if ctx := userContext(c, key); ctx == nil || ctx.Err() != nil {
			t.Errorf("key %v: a request without a context has %v", key, ctx)
		}
		kept := 0
		request.VisitUserValuesAll(func(any, any) { kept++ })
		if key != nil && kept > 0 {
			t.Errorf("%d user values are left behind", kept)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c.SetUserContext(ctx)
	for _, key := range []any{key, nil} {
		if got := userContext(c, key); got != ctx {
			t.Errorf("key %v: found %v, want the one that was set", key, got)
		}
	}
}
