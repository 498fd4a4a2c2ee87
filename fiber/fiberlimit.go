package fiberlimit

import (
	"bytes"
	"context"
	"net"
	"strings"
	"sync"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/adapter"
)

// Config says what a limiter has to be told about requests; see
// [adapter.Config].
type Config = adapter.Config[*fiber.Ctx]

// New returns a middleware that limits requests with l, for an app, a group or
// a single route. It panics if l is nil or there is more than one Config.
func New(l *ratelimit.Limiter, cfg ...Config) fiber.Handler {
	engine, places := adapter.New("fiberlimit", l, adapter.Cloned(cfg)).Mounted(), new(places)
	passages := sync.Pool{New: func() any {
		p := &passage{places: places}
		p.Keep()
		return p
	}}
	return func(c *fiber.Ctx) error {
		engine.CheckRoutes(c, routesAround)
		p := passages.Get().(*passage)
		defer p.end(&passages)
		request := c.Context() // which all handlers share, and the connection's next request has
		p.Call.KnownByTurn(request, request.ID())
		if !engine.Begin(&p.Passage, c, p, p) {
			return p.Refuse(write)
		}
		if p.Marks() {
			c.SetUserContext(&p.Call)
		}
		if !p.Settles() {
			return c.Next()
		}
		return p.Run(c.Next, func(err error, finish func(int)) { settle(c, err, finish) })
	}
}

// JSONField returns a Config.Account that finds the named member of a JSON
// body; see [adapter.JSONField]. With StreamRequestBody it finds it only in a
// body whose length is known before.
func JSONField(name string) func(*fiber.Ctx) string {
	return func(c *fiber.Ctx) string {
		request := c.Request()
		if request.IsBodyStream() {
			length := request.Header.ContentLength()
			if length < 0 || length > adapter.MaxBody {
				return ""
			}
			body := bytes.Clone(request.Body())
			request.SetBodyStream(bytes.NewReader(body), len(body))
			return field(c, body, name)
		}
		return field(c, request.Body(), name)
	}
}

func field(c *fiber.Ctx, body []byte, name string) string {
	query := string(c.Request().URI().QueryString())
	return adapter.FieldOfRequest(func(name string) []string { return linesOf(c, name) }, query, body, name)
}

func write(c *fiber.Ctx, answer ratelimit.Answer) error {
	c.Set(fiber.HeaderContentType, answer.ContentType)
	c.Status(answer.Status).Response().SetBody(answer.Body) // which copies it
	return nil
}

// passage is one request on its way, its own view and its response's header.
type passage struct {
	adapter.Passage[*fiber.Ctx]
	// places are those of the limiter.
	places *places
	// fields is whether the response had some.
	fields fields
	// address is room for the text of the peer's.
	address [64]byte
}

func (p *passage) end(free *sync.Pool) {
	p.fields = unknown
	if p.Done() {
		free.Put(p)
	}
}

func (p *passage) Context() context.Context { return p.C.UserContext() }

// RemoteAddr leaves the port out, which nobody needs. A peer on a Unix socket has
// no address: it may have bound its end to a file with the name of one.
func (p *passage) RemoteAddr() string {
	addr := p.C.Context().RemoteAddr()
	if tcp, ok := addr.(*net.TCPAddr); ok {
		return utils.UnsafeString(tcp.AddrPort().Addr().Unmap().AppendTo(p.address[:0]))
	}
	if _, ok := addr.(*net.UnixAddr); ok {
		return ""
	}
	return addr.String()
}

// Method is the route's, which has it from the program and not from a buffer.
func (p *passage) Method() string { return p.C.Route().Method }

// Route is that of the handler behind the limiter, or the one that Fiber will
// come to next: what is used by an app or a group has a route of its own.
func (p *passage) Route() (pattern string, known bool) {
	route := p.C.Route()
	place := p.places.of(p.C.App(), route)
	if place.handles && len(route.Handlers) > 1 {
		return route.Path, true
	}
	return place.find(p.C.Path()), place.known
}

func (p *passage) Header(name string) []string { return linesOf(p.C, name) }

// linesOf compares names itself: with DisableHeaderNormalizing Fiber finds them
// only in the letter case in which they were sent.
func linesOf(c *fiber.Ctx, name string) (lines []string) {
	c.Request().Header.VisitAll(func(key, value []byte) {
		if strings.EqualFold(string(key), name) {
			lines = append(lines, string(value))
		}
	})
	return lines
}

func (p *passage) Get(name string) string {
	if p.None() {
		return ""
	}
	return string(bytes.Join(p.C.Response().Header.PeekAll(name), []byte(", ")))
}

// Set removes all lines first: Fiber's own replaces only one of several. The
// names it gets are canonical.
func (p *passage) Set(name, value string) { p.SetBytes(name, utils.UnsafeBytes(value)) }

// SetBytes is Set; Fiber copies what it is given.
func (p *passage) SetBytes(name string, value []byte) {
	if !p.None() {
		p.Del(name)
	}
	p.C.Response().Header.SetCanonical(utils.UnsafeBytes(name), value)
}

func (p *passage) Del(name string) { p.C.Response().Header.Del(name) }

// None reports whether the response had no field yet when it was first asked
// for one, but what Fiber sets by itself.
func (p *passage) None() bool {
	if p.fields == unknown {
		p.fields = none
		p.C.Response().Header.VisitAll(func(key, _ []byte) {
			if string(key) != fiber.HeaderContentType {
				p.fields = some
			}
		})
	}
	return p.fields == none
}

// fields is what is known of a response.
type fields uint8

const (
	unknown fields = iota
	none
	some
)
