package httplimit

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"sync"

	"github.com/felixge/httpsnoop"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/adapter"
)

// Exchange is a request and its response, the context of a [Config]'s
// functions. Only OnDeny may write to W.
type Exchange struct {
	W http.ResponseWriter
	R *http.Request
}

// Config says what a limiter has to be told about requests; see
// [adapter.Config].
type Config = adapter.Config[Exchange]

// New returns a middleware that limits requests with l. It panics if l is nil
// or there is more than one Config.
func New(l *ratelimit.Limiter, cfg ...Config) func(http.Handler) http.Handler {
	engine := adapter.New("httplimit", l, cfg)
	return func(next http.Handler) http.Handler {
		engine.Mounted()
		mux, wraps := next.(*http.ServeMux)
		routes := func(x Exchange) []string { return asked(l, mux, []string{x.R.Host}) }
		passages := sync.Pool{New: func() any {
			p := &passage{mux: mux}
			p.Keep()
			return p
		}}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if wraps {
				engine.CheckRoutes(Exchange{W: w, R: r}, routes)
			}
			p := passages.Get().(*passage)
			header := w.Header()
			defer p.end(&passages, header)
			p.Call.KnownByHeader(header) // which those hand on that wrap a ResponseWriter
			if !engine.Begin(&p.Passage, Exchange{W: w, R: r}, p, header) {
				_ = p.Refuse(write)
				return
			}
			p.serve(next)
		})
	}
}

// Wrap limits one handler with l: New(l, cfg...)(handler).
func Wrap(l *ratelimit.Limiter, handler http.Handler, cfg ...Config) http.Handler {
	return New(l, cfg...)(handler)
}

// JSONField returns a Config.Account that finds the named member of a JSON
// body; see [adapter.JSONField].
func JSONField(name string) func(Exchange) string {
	field := adapter.JSONField(name)
	return func(x Exchange) string { return field(x.R) }
}

func write(x Exchange, answer ratelimit.Answer) error {
	return adapter.WriteAnswer(x.W, x.R.Method, answer)
}

// passage is one request on its way, and its own view.
type passage struct {
	adapter.Passage[Exchange]
	// mux is what the middleware wraps, if it is one.
	mux *http.ServeMux
	// marked is the copy of the request that the handler got, if it got one.
	marked *http.Request
}

func (p *passage) end(free *sync.Pool, known http.Header) {
	if p.marked != nil {
		if p.marked.Pattern != p.C.R.Pattern {
			// A mux notes the pattern in the request that it gets. What is mounted
			// further out reads it from its own, which may be served elsewhere at the
			// same time where no mux writes to it.
			p.C.R.Pattern = p.marked.Pattern
		}
		p.marked = nil
	}
	if p.Done() {
		free.Put(p)
	}
	runtime.KeepAlive(known)
}

func (p *passage) Context() context.Context    { return p.C.R.Context() }
func (p *passage) Method() string              { return p.C.R.Method }
func (p *passage) RemoteAddr() string          { return p.C.R.RemoteAddr }
func (p *passage) Header(name string) []string { return p.C.R.Header[name] }

// Route is the pattern that the request was routed by, or will be.
func (p *passage) Route() (pattern string, known bool) {
	if p.mux == nil {
		return p.C.R.Pattern, p.C.R.Pattern != ""
	}
	_, pattern = p.mux.Handler(p.C.R)
	return pattern, true
}

func (p *passage) serve(next http.Handler) {
	w, r := p.C.W, p.C.R
	if p.Marks() {
		r = r.WithContext(&p.Call)
		p.marked = r
	}
	if !p.Settles() {
		next.ServeHTTP(w, r)
		return
	}
	status, panicked := http.StatusOK, true
	defer func() { p.Finish(status, panicked) }()
	next.ServeHTTP(observed(w, &status), r)
	panicked = false
}

// observed is w, with every optional interface it has, and notes the status
// that is sent: the first one, 200 if something else is sent first.
func observed(w http.ResponseWriter, status *int) http.ResponseWriter {
	sent := false
	return httpsnoop.Wrap(w, httpsnoop.Hooks{
		WriteHeader: func(next httpsnoop.WriteHeaderFunc) httpsnoop.WriteHeaderFunc {
			return func(code int) {
				// An informational status other than 101 is followed by the
				// real one.
				if !sent && (code >= http.StatusOK || code == http.StatusSwitchingProtocols) {
					*status, sent = code, true
				}
				next(code)
			}
		},
		Write: func(next httpsnoop.WriteFunc) httpsnoop.WriteFunc {
			return func(body []byte) (int, error) {
				sent = true
				return next(body)
			}
		},
		ReadFrom: func(next httpsnoop.ReadFromFunc) httpsnoop.ReadFromFunc {
			return func(body io.Reader) (int64, error) {
				n, err := next(body)
				// Copying nothing sends nothing: the status may be yet to come.
				sent = sent || n > 0
				return n, err
			}
		},
		Flush: func(next httpsnoop.FlushFunc) httpsnoop.FlushFunc {
			return func() {
				sent = true
				next()
			}
		},
	})
}
