package ginlimit

import (
	"context"
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
	return func(c *gin.Context) {
		p := passages.Get().(*passage)
		defer end(p)
		header := c.Writer.Header()
		p.Call.KnownBy(header) // which all of Gin's writers share
		if !engine.Begin(p, c, (*view)(c), header) {
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
			settle(c, p)
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

// passage is one request on its way.
type passage = adapter.Passage[*gin.Context]

var passages = sync.Pool{New: func() any { return new(passage) }}

func end(p *passage) {
	if p.Done() {
		passages.Put(p)
	}
}

// view shows a gin.Context to the engine.
type view gin.Context

func (v *view) Context() context.Context    { return v.Request.Context() }
func (v *view) Method() string              { return v.Request.Method }
func (v *view) Route() (string, bool)       { return (*gin.Context)(v).FullPath(), true }
func (v *view) RemoteAddr() string          { return v.Request.RemoteAddr }
func (v *view) Header(name string) []string { return v.Request.Header[name] }
