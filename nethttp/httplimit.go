package httplimit

import (
	"context"
	"io"
	"net/http"

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
		mux, wraps := next.(*http.ServeMux)
		routes := func(x Exchange) []string { return asked(l, mux, []string{x.R.Host}) }
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if wraps {
				engine.CheckRoutes(Exchange{W: w, R: r}, routes)
			}
			p := &passage{Exchange: Exchange{W: w, R: r}, mux: mux}
			if !engine.Begin(&p.Passage, p.Exchange, p, w.Header()) {
				_ = p.Refuse(func(answer ratelimit.Answer) error { return adapter.WriteAnswer(w, r.Method, answer) })
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

// passage is one request on its way, and its own view.
type passage struct {
	adapter.Passage[Exchange]
	Exchange
	// mux is what the middleware wraps, if it is one.
	mux *http.ServeMux
}

func (p *passage) Context() context.Context    { return p.R.Context() }
func (p *passage) Method() string              { return p.R.Method }
func (p *passage) RemoteAddr() string          { return p.R.RemoteAddr }
func (p *passage) Header(name string) []string { return p.R.Header[name] }

// Route is the pattern that the request was routed by, or will be.
func (p *passage) Route() (pattern string, known bool) {
	if p.mux == nil {
		return p.R.Pattern, p.R.Pattern != ""
	}
	_, pattern = p.mux.Handler(p.R)
	return pattern, true
}

func (p *passage) serve(next http.Handler) {
	w, r := p.W, p.R
	if p.Marks() {
		r = r.WithContext(&p.Call)
		// A mux notes the pattern in the request that it gets. What is mounted
		// further out reads it from its own.
		defer func() { p.R.Pattern = r.Pattern }()
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
