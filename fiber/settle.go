package fiberlimit

import (
	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// settle tells finish the status that the client gets. What answers an error,
// middleware further out or Fiber's error handler, is free to choose one, and
// only fasthttp has a hook for what comes after it: it closes what a request
// holds when the answer has been sent.
func settle(c *fiber.Ctx, err error, finish func(status int)) {
	if err == nil {
		finish(c.Response().StatusCode())
		return
	}
	request := c.Context()
	end := atEnd(func() {
		if response := &request.Response; !blank(response) {
			finish(response.StatusCode())
		}
	})
	request.SetUserValue(&end, &end)
}

// blank reports whether a response is as good as new. Whoever runs Fiber without
// fasthttp's server, as Fiber's adaptor for net/http does, may have reset it
// before: its status is then none that anybody was told. What was charged stays.
func blank(response *fasthttp.Response) bool {
	return response.StatusCode() == fiber.StatusOK && !response.IsBodyStream() && len(response.Body()) == 0
}

// atEnd is called when a request is over.
type atEnd func()

// Close calls f. Nobody is left to hear a panic of a policy's function, which
// would end the process; what was charged then stays.
func (f *atEnd) Close() error {
	defer func() { _ = recover() }()
	(*f)()
	return nil
}
