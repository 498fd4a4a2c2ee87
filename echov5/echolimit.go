package echolimit

import (
	"context"
	"net/http"
	"runtime"
	"sync"

	"github.com/labstack/echo/v5"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/adapter"
)

// Config says what a limiter has to be told about requests; see
// [adapter.Config].
type Config = adapter.Config[*echo.Context]

// New returns a middleware that limits requests with l, for a server, a group
// or a single route. It panics if l is nil or there is more than one Config.
func New(l *ratelimit.Limiter, cfg ...Config) echo.MiddlewareFunc {
	engine := adapter.New("echolimit", l, cfg).Mounted()
	passages := sync.Pool{New: func() any {
		p := new(passage)
		p.Keep()
		return p
	}}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) error {
			engine.CheckRoutes(c, routesAround)
			p := passages.Get().(*passage)
			header := c.Response().Header()
			defer p.end(&passages, header)
			p.Call.KnownByHeader(header) // which those hand on that wrap a ResponseWriter
			if !engine.Begin(&p.Passage, c, p, header) {
				return p.Refuse(write)
			}
			if p.Marks() {
				c.SetRequest(c.Request().WithContext(&p.Call))
			}
			if w := c.Response(); p.Settles() && heldBack(c.Request(), w) {
				c.SetResponse(&noted{ResponseWriter: w})
				defer c.SetResponse(w)
			}
			if !p.Settles() {
				return next(c)
			}
			return p.Run(func() error { return next(c) }, func(err error, finish func(int)) { settle(c.Response(), err, finish) })
		}
	}
}

// JSONField returns a Config.Account that finds the named member of a JSON
// body; see [adapter.JSONField].
func JSONField(name string) func(*echo.Context) string {
	field := adapter.JSONField(name)
	return func(c *echo.Context) string { return field(c.Request()) }
}

func write(c *echo.Context, answer ratelimit.Answer) error {
	return adapter.WriteAnswer(c.Response(), c.Request().Method, answer)
}

// passage is one request on its way, and its own view.
type passage struct {
	adapter.Passage[*echo.Context]
}

func (p *passage) end(free *sync.Pool, known http.Header) {
	if p.Done() {
		free.Put(p)
	}
	runtime.KeepAlive(known)
}

func (p *passage) Context() context.Context    { return p.C.Request().Context() }
func (p *passage) Method() string              { return p.C.Request().Method }
func (p *passage) RemoteAddr() string          { return p.C.Request().RemoteAddr }
func (p *passage) Header(name string) []string { return p.C.Request().Header[name] }

func (p *passage) Route() (pattern string, known bool) {
	// Echo's path of a request can also be that of a route for another
	// method, or of a handler for requests that match no route.
	switch route := p.C.RouteInfo(); {
	case route.Name == echo.NotFoundRouteName, route.Name == echo.MethodNotAllowedRouteName, route.Method == echo.RouteNotFound:
		return "", true
	default:
		return p.C.Path(), p.C.Path() != ""
	}
}

// settle tells finish the status that the client gets. What answers an error,
// middleware further out or Echo's error handler, is free to choose one.
func settle(w http.ResponseWriter, err error, finish func(status int)) {
	if head, ok := w.(*noted); ok && head.status != 0 {
		finish(head.status)
		return
	}
	response, status := echo.ResolveResponseStatus(w, err)
	if err == nil || response == nil || response.Committed {
		finish(status)
		return
	}
	response.Before(func() { finish(response.Status) })
}

// heldBack reports whether w may hold the answer back until the middleware has
// returned, so that Echo's Response doesn't know the status before: Echo's own
// does for HEAD requests that it lets the handler of GET answer
// (AutoHandleHEAD).
func heldBack(r *http.Request, w http.ResponseWriter) bool {
	_, sends := w.(*echo.Response)
	return !sends && r.Method == http.MethodHead
}

// noted notes the status of an answer that is held back.
type noted struct {
	http.ResponseWriter
	status int
}

func (n *noted) Unwrap() http.ResponseWriter { return n.ResponseWriter }

func (n *noted) WriteHeader(status int) {
	if n.status == 0 {
		n.status = status
	}
	n.ResponseWriter.WriteHeader(status)
}
