package adaptertest

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// suite is one case on its way.
type suite struct {
	tester
	*settings
	h     Harness
	said  codes
	wires []*wire
	// limiters are all that the case has made.
	limiters []*ratelimit.Limiter
}

// secret is part of every key, account and store error of the suite: nothing
// that a server sends may hold it.
const secret = "s3cr3t-m4rk3r"

// instant is the clock of all stores, in microseconds.
const instant int64 = 1_700_000_000_400_000

func newSuite(t tester, h Harness, set *settings) *suite {
	t.Helper()
	s := &suite{tester: t, settings: set, h: h}
	before := goroutines()
	t.Cleanup(func() {
		s.noGoroutineSince(before)
		s.nothingUnderWay()
		for _, w := range s.wires {
			if bytes.Contains(w.sent(), []byte(secret)) {
				s.Errorf("a key, an account or a store's error (%q) was sent to a client", secret)
			}
		}
	})
	return s
}

// limiter makes a limiter whose diagnostics are noted in s.said.
func (s *suite) limiter(store ratelimit.Store, options ...ratelimit.Option) *ratelimit.Limiter {
	s.Helper()
	options = append([]ratelimit.Option{ratelimit.Logger(slog.New(&s.said))}, options...)
	l, err := ratelimit.New(store, options...)
	if err != nil {
		s.Fatalf("the suite's own limiter: %v", err)
	}
	s.limiters = append(s.limiters, l)
	return l
}

// nothingUnderWay checks that no limiter takes a request for one whose handler
// runs, when all have ended.
func (s *suite) nothingUnderWay() {
	s.Helper()
	for _, l := range s.limiters {
		if n := l.UnderWay(); n != 0 {
			s.Errorf("%d requests have ended without Call.Leave: the next ones with their headers would not be counted", n)
		}
	}
}

// serve serves a site for the rest of the case.
func (s *suite) serve(site Site) *server {
	s.Helper()
	w := listen(s)
	s.wires = append(s.wires, w)
	s.h.Serve(s, w, site)
	v := &server{s: s, wire: w, clients: make(map[string]*client)}
	s.Cleanup(v.close)
	return v
}

// wait waits for done, for no longer than is reasonable.
func (s *suite) wait(done <-chan struct{}, what string) {
	s.Helper()
	select {
	case <-done:
	case <-time.After(s.patience):
		s.Fatalf("waited %v in vain for %s", s.patience, what)
	}
}

// until waits for a script to have been asked what cond wants.
func (s *suite) until(script *Script, what string, cond func() bool) {
	s.Helper()
	for {
		again := script.again()
		if cond() {
			return
		}
		s.wait(again, what)
	}
}

// equal compares what a case got.
func equal[T comparable](s *suite, what string, got, want T) {
	s.Helper()
	if got != want {
		s.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// answering is a handler that counts its calls and answers with a status.
type answering struct {
	calls  atomic.Int64
	status int
}

// ok is a handler that answers 200.
func ok() *answering { return &answering{status: 200} }

func (a *answering) handle(x Exchange) error {
	a.calls.Add(1)
	x.SetHeader("Content-Type", "text/plain; charset=utf-8")
	return x.Respond(a.status, "served\n")
}

// ran checks how often a handler ran.
func (a *answering) ran(s *suite, want int64) {
	s.Helper()
	equal(s, "calls of the handler", a.calls.Load(), want)
}

// limits is one middleware with this limiter.
func limits(l *ratelimit.Limiter) []Middleware { return []Middleware{{Limiter: l}} }

// routes are "/u/{id}" with the methods that the suite uses.
func routes(handler Handler, use ...Middleware) []Route {
	var all []Route
	for _, method := range []string{"GET", "HEAD", "POST", "OPTIONS"} {
		all = append(all, Route{Method: method, Pattern: "/u/{id}", Use: use, Handler: handler})
	}
	return all
}

// onRoutes is a site with the limiter on each of [routes].
func onRoutes(l *ratelimit.Limiter, handler Handler) Site {
	return Site{Routes: routes(handler, limits(l)...)}
}

// watcher sees how requests leave what is mounted within it. It is mounted
// outermost, so that a limiter has done all it has to when the watcher knows.
type watcher struct {
	left chan leaving
}

// leaving is how a request left.
type leaving struct {
	err      error
	panicked any
}

func newWatcher() *watcher { return &watcher{left: make(chan leaving, 1000)} }

func (w *watcher) middleware() Middleware {
	return Middleware{Around: func(x Exchange, next func(context.Context) error) error {
		ended := false
		defer func() {
			if !ended {
				panicked := recover()
				w.left <- leaving{panicked: panicked}
				panic(panicked) //nolint:forbidigo // it is the framework's to handle
			}
		}()
		err := next(x.Context())
		ended = true
		w.left <- leaving{err: err}
		return err
	}}
}

// next waits for one request to have left.
func (w *watcher) next(s *suite) leaving {
	s.Helper()
	select {
	case left := <-w.left:
		return left
	case <-time.After(s.patience):
		s.Fatalf("waited %v in vain for a request to leave the middleware", s.patience)
		return leaving{}
	}
}

// codes is a log that notes the codes of diagnostics.
type codes struct {
	mu  sync.Mutex
	all []string
}

// Enabled is true.
func (c *codes) Enabled(context.Context, slog.Level) bool { return true }

// Handle notes the record's code.
func (c *codes) Handle(_ context.Context, record slog.Record) error {
	record.Attrs(func(attr slog.Attr) bool {
		if attr.Key == "code" {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.all = append(c.all, attr.Value.String())
		}
		return true
	})
	return nil
}

// WithAttrs and WithGroup are not used by limiters.
func (c *codes) WithAttrs([]slog.Attr) slog.Handler { return c }

// WithGroup returns c.
func (c *codes) WithGroup(string) slog.Handler { return c }

// times is how often a code was logged.
func (c *codes) times(code string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, said := range slices.Clone(c.all) {
		if said == code {
			n++
		}
	}
	return n
}
