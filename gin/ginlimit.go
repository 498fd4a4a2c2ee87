package ginlimit

import (
	"context"
	"net/http"
	"runtime"
	"sync"

	"github.com/gin-gonic/gin"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/adapter"
)

// Config says what a limiter has to be told about requests; see
// [adapter.Config].
type Config = adapter.Config[*gin.Context]

// New returns a middleware that limits requests with l, for an engine, a group
// or a single route. It panics if l is nil or there is more than one Config.
func New(l *ratelimit.Limiter, cfg ...Config) gin.HandlerFunc {
	engine := adapter.New("ginlimit", l, cfg).Mounted()
	passages := sync.Pool{New: func() any {
		p := new(passage)
		p.Keep()
		return p
	}}
	return func(c *gin.Context) {
		p := passages.Get().(*passage)
		header := c.Writer.Header()
		defer p.end(&passages, header)
		p.Call.KnownByHeader(header) // which all of Gin's writers share
		if !engine.Begin(&p.Passage, c, p, header) {
			c.Abort()
			if err := p.Refuse(write); err != nil {
				_ = c.Error(err)
			}
			return
		}
		if p.Marks() {
			c.Request = c.Request.WithContext(&p.Call)
		}
		if p.Settles() {
			settle(c, &p.Passage)
		} else {
			c.Next()
		}
	}
}

// JSONField returns a Config.Account that finds the named member of a JSON
// body; see [adapter.JSONField].
func JSONField(name string) func(*gin.Context) string {
	field := adapter.JSONField(name)
	return func(c *gin.Context) string { return field(c.Request) }
}

func write(c *gin.Context, answer ratelimit.Answer) error {
	err := adapter.WriteAnswer(c.Writer, c.Request.Method, answer)
	// Gin holds the status back until a body is written; an answer to HEAD
	// has none.
	c.Writer.WriteHeaderNow()
	return err
}

// passage is one request on its way, and its own view.
type passage struct {
	adapter.Passage[*gin.Context]
}

func (p *passage) end(free *sync.Pool, known http.Header) {
	if p.Done() {
		free.Put(p)
	}
	runtime.KeepAlive(known)
}

func (p *passage) Context() context.Context    { return p.C.Request.Context() }
func (p *passage) Method() string              { return p.C.Request.Method }
func (p *passage) Route() (string, bool)       { return p.C.FullPath(), true }
func (p *passage) RemoteAddr() string          { return p.C.Request.RemoteAddr }
func (p *passage) Header(name string) []string { return p.C.Request.Header[name] }
