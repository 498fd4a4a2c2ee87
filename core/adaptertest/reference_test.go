package adaptertest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/adapter"
)

// The reference is a framework of a few lines, over HTTP/1 alone, and an
// adapter for it. Its handlers return errors, which only the framework answers,
// and it knows the route before the first middleware.
type (
	visit struct {
		w http.ResponseWriter
		r *http.Request
		// answered are called with the status of an error's answer.
		answered *[]func(status int)
	}
	action func(visit) error
)

// ServeHTTP answers the error of an action.
func (a action) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answered, noted := new([]func(int)), &noting{ResponseWriter: w, status: http.StatusOK}
	if err := a(visit{w, r, answered}); err != nil {
		http.Error(noted, "failed", statusOf(err))
	}
	for _, told := range *answered {
		told(noted.status)
	}
}

type httpError int

func (e httpError) Error() string { return fmt.Sprintf("status %d", int(e)) }

func statusOf(err error) int {
	if status, ok := errors.AsType[httpError](err); ok {
		return int(status)
	}
	return http.StatusInternalServerError
}

// harness serves sites with the reference, broken by f.
func harness(f faults) Harness {
	return Harness{Serve: func(t testing.TB, l net.Listener, site Site) { ServeHTTP(t, l, build(f, site)) }}
}

// framework is what a site is built in. It lists its routes.
type framework struct {
	faults
	routes []string
}

func build(f faults, site Site) http.Handler {
	site = f.site(site)
	mux, all := http.NewServeMux(), &framework{faults: f}
	add := func(prefix string, use []Middleware, routes []Route) {
		for _, r := range routes {
			serve := all.mount(use, all.mount(r.Use, func(v visit) error { return r.Handler(exchangeOf(v)) }))
			pattern := r.Method + " " + prefix + r.Pattern
			all.routes = append(all.routes, pattern)
			mux.Handle(pattern, action(func(v visit) error {
				v.r.Pattern = pattern
				return serve(v)
			}))
		}
	}
	add("", nil, site.Routes)
	for _, group := range site.Groups {
		add(group.Prefix, group.Use, group.Routes)
	}
	if site.Built != nil {
		site.Built(func(l *ratelimit.Limiter) error { return f.checkRoutes(l, all.listed(visit{})) })
	}
	serve := all.mount(site.Use, func(v visit) error {
		matched, _ := mux.Handler(v.r)
		if route, ok := matched.(action); ok {
			return route(v)
		}
		matched.ServeHTTP(v.w, v.r)
		return nil
	})
	return action(func(v visit) (err error) {
		if site.Recover {
			defer func() {
				if recover() != nil {
					err = httpError(http.StatusInternalServerError)
				}
			}()
		}
		if !f.has(routesLate) {
			_, v.r.Pattern = mux.Handler(v.r)
		}
		if err = serve(v); err == nil || site.OnError == nil {
			return err
		}
		noted := &noting{ResponseWriter: v.w, status: http.StatusOK}
		err = site.OnError(exchangeOf(visit{w: noted, r: v.r}), err)
		for _, told := range *v.answered {
			told(noted.status)
		}
		*v.answered = nil
		return err
	})
}

func exchangeOf(v visit) Exchange {
	return HTTP{W: v.w, R: v.r, Failure: func(status int) error { return httpError(status) }}
}

func (of *framework) listed(visit) []string { return of.lists(of.routes) }

func (of *framework) mount(all []Middleware, next action) action {
	for i := len(all) - 1; i >= 0; i-- {
		if around, rest := all[i].Around, next; around != nil {
			next = func(v visit) error {
				return around(exchangeOf(v), func(ctx context.Context) error { return rest(visit{v.w, v.r.WithContext(ctx), v.answered}) })
			}
			continue
		}
		cfg := of.config(ConfigOf(all[i].Config, exchangeOf, of.jsonField))
		next = of.limited(adapter.New("reference", all[i].Limiter, []adapter.Config[visit]{cfg}), next)
	}
	return next
}

// limited is the adapter.
func (of *framework) limited(engine *adapter.Engine[visit], next action) action {
	f, kept := of.faults, new(adapter.Passage[visit])
	return func(v visit) error {
		if !f.has(neverLooks) {
			engine.CheckRoutes(v, of.listed)
		}
		f.before(engine, v, next)
		p := f.passage(kept)
		header, late := f.header(v.w)
		if f.has(neverLeaves) {
			p.Call.KnownBy(v.w.Header())
		}
		if !engine.Begin(p, v, brokenView{view{v.r}, f}, header) && !f.has(runsOnDenial) {
			return p.Refuse(func(v visit, answer ratelimit.Answer) error {
				if f.refuse(v, answer) {
					return nil
				}
				return adapter.WriteAnswer(v.w, v.r.Method, answer)
			})
		}
		defer late()
		if p.Marks() {
			v.r = v.r.WithContext(f.context(v.r.Context(), &p.Call))
		}
		if !p.Settles() {
			return f.run(next, v)
		}
		return settled(f, p, next, v)
	}
}

// settled runs the handler and tells p how it ended.
func settled(f faults, p *adapter.Passage[visit], next action, v visit) (err error) {
	if f.has(finishesFirst) {
		p.Finish(http.StatusOK, false)
	}
	noted, panicked := &noting{ResponseWriter: v.w, status: http.StatusOK}, true
	defer func() {
		switch {
		case err == nil || noted.final:
			f.finish(p, noted.status, panicked)
		case f.has(guessesStatus | errorIsOK):
			f.finish(p, f.statusOf(err), false)
		default: // what answers the error knows
			*v.answered = append(*v.answered, func(status int) { f.finish(p, status, false) })
		}
	}()
	v.w = f.wrap(noted)
	err = f.run(next, v)
	panicked = false
	return err
}

// view shows a request.
type view struct{ r *http.Request }

func (v view) Context() context.Context    { return v.r.Context() }
func (v view) Method() string              { return v.r.Method }
func (v view) Route() (string, bool)       { return v.r.Pattern, true }
func (v view) RemoteAddr() string          { return v.r.RemoteAddr }
func (v view) Header(name string) []string { return v.r.Header[name] }

// noting is a ResponseWriter of net/http's HTTP/1 that notes the status.
type noting struct {
	http.ResponseWriter
	status int
	final  bool
}

func (n *noting) WriteHeader(status int) {
	if !n.final {
		n.status, n.final = status, true
	}
	n.ResponseWriter.WriteHeader(status)
}

func (n *noting) Write(p []byte) (int, error) { n.final = true; return n.ResponseWriter.Write(p) }

func (n *noting) WriteString(s string) (int, error) {
	n.final = true
	return io.WriteString(n.ResponseWriter, s)
}

func (n *noting) ReadFrom(r io.Reader) (int64, error) {
	n.final = true
	return n.ResponseWriter.(io.ReaderFrom).ReadFrom(r)
}

func (n *noting) Flush()                      { _ = n.FlushError() }
func (n *noting) FlushError() error           { return http.NewResponseController(n.ResponseWriter).Flush() }
func (n *noting) Unwrap() http.ResponseWriter { return n.ResponseWriter }

func (n *noting) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(n.ResponseWriter).Hijack()
}
