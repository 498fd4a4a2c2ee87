package echolimit

import (
	"context"
	"net/http"
	"runtime"
	"slices"
	"sync"

	"github.com/labstack/echo/v4"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/adapter"
)

// Config says what a limiter has to be told about requests; see
// [adapter.Config].
type Config = adapter.Config[echo.Context]

// New returns a middleware that limits requests with l, for a server, a group
// or a single route. It panics if l is nil or there is more than one Config.
func New(l *ratelimit.Limiter, cfg ...Config) echo.MiddlewareFunc {
	m := &middleware{engine: adapter.New("echolimit", l, cfg).Mounted()}
	known := new(routes)
	m.passages.New = func() any {
		p := &passage{known: known}
		p.Keep()
		return p
	}
	return m.limit
}

// middleware is a limiter in a server.
type middleware struct {
	engine   *adapter.Engine[echo.Context]
	passages sync.Pool
	known    handlers
}

// limit returns a handler that limits next.
func (m *middleware) limit(next echo.HandlerFunc) echo.HandlerFunc {
	limited, free := m.known.find(next)
	if limited != nil {
		return limited
	}
	return func(c echo.Context) error {
		if free != nil && free.Load() == nil && wanted(c, next) {
			free.CompareAndSwap(nil, &handler{next: next, limited: func(c echo.Context) error { return m.serve(c, next) }})
		}
		return m.serve(c, next)
	}
}

func (m *middleware) serve(c echo.Context, next echo.HandlerFunc) error {
	m.engine.CheckRoutes(c, routesAround)
	p := m.passages.Get().(*passage)
	header := c.Response().Header()
	defer p.end(&m.passages, header)
	p.Call.KnownByHeader(header) // which those hand on that wrap a ResponseWriter
	if !m.engine.Begin(&p.Passage, c, p, header) {
		return p.Refuse(write)
	}
	if p.Marks() {
		c.SetRequest(c.Request().WithContext(&p.Call))
	}
	if !p.Settles() {
		return next(c)
	}
	return p.Run(func() error { return next(c) }, func(err error, finish func(int)) { settle(c.Response(), err, finish) })
}

// JSONField returns a Config.Account that finds the named member of a JSON
// body; see [adapter.JSONField].
func JSONField(name string) func(echo.Context) string {
	field := adapter.JSONField(name)
	return func(c echo.Context) string { return field(c.Request()) }
}

func write(c echo.Context, answer ratelimit.Answer) error {
	return adapter.WriteAnswer(c.Response(), c.Request().Method, answer)
}

// passage is one request on its way, and its own view.
type passage struct {
	adapter.Passage[echo.Context]
	known *routes
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
func (p *passage) Route() (string, bool)       { return p.known.of(p.C) }

// settle tells finish the status that the client gets. What answers an error,
// middleware further out or Echo's error handler, is free to choose one.
func settle(response *echo.Response, err error, finish func(status int)) {
	if err == nil || response.Committed {
		finish(response.Status)
		return
	}
	response.Before(func() { finish(response.Status) })
}

// routes has the methods of all routes: of each router, by pattern.
type routes struct{ sync.Map } // *echo.Router -> map[string][]string

// of tells the route of a request. Echo's path can also be that of a route for
// another method, or of a handler for requests that match no route (every group
// with middleware has two).
func (r *routes) of(c echo.Context) (pattern string, known bool) {
	request, router := c.Request(), c.Echo().Router()
	if own, ok := c.Echo().Routers()[request.Host]; ok {
		router = own
	}
	pattern = c.Path()
	if pattern == "" {
		// Nothing was found, or in Pre, not looked for.
		ahead := c.Echo().NewContext(request, nil)
		router.Find(request.Method, echo.GetPath(request), ahead)
		return "", ahead.Path() == ""
	}
	all, ok := r.Load(router)
	if !ok {
		methods := make(map[string][]string)
		for _, route := range router.Routes() {
			methods[route.Path] = append(methods[route.Path], route.Method)
		}
		all, _ = r.LoadOrStore(router, methods)
	}
	methods := all.(map[string][]string)[pattern]
	if c.Get(echo.ContextKeyHeaderAllow) != nil ||
		slices.Contains(methods, echo.RouteNotFound) && !slices.Contains(methods, request.Method) {
		return "", true
	}
	return pattern, true
}
