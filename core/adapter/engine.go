package adapter

import (
	"context"
	"net/http"
	"sync/atomic"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// View shows one request of a framework. See [ratelimit.Source] for what its
// methods return.
type View interface {
	Context() context.Context
	Method() string
	Route() (pattern string, known bool)
	RemoteAddr() string
	Header(name string) []string
}

// Engine is a limiter in a framework. It is safe for concurrent use.
type Engine[C any] struct {
	limiter *ratelimit.Limiter
	config  Config[C]
	// checked is whether the routes have been looked at, or needn't be.
	checked atomic.Bool
}

// New returns an Engine for the adapter named (its package). It panics if the
// limiter is nil or there is more than one Config: both are mistakes in the
// program that show when it starts.
func New[C any](name string, limiter *ratelimit.Limiter, configs []Config[C]) *Engine[C] {
	if limiter == nil {
		panic(name + ": the limiter is nil: make one with ratelimit.New and check its error") //nolint:forbidigo // shows at start
	}
	if len(configs) > 1 {
		panic(name + ": more than one Config: put everything into one") //nolint:forbidigo // shows at start
	}
	e := &Engine[C]{limiter: limiter}
	if len(configs) == 1 {
		e.config = configs[0]
	}
	if e.config.Account == nil {
		limiter.AccountUnset()
	}
	if e.config.User == nil {
		limiter.UserUnset()
	}
	// A Config.Route may tell of other routes than the framework has.
	e.checked.Store(e.config.Route != nil || len(limiter.RoutePatterns()) == 0)
	return e
}

// Mounted says that the engine decides requests, as that of every adapter does
// that is not made of another one; see [ratelimit.Limiter.Mounted]. It returns e.
func (e *Engine[C]) Mounted() *Engine[C] {
	e.limiter.Mounted()
	return e
}

// CheckRoutes has the limiter compare its policies' patterns with the routes
// that the application has, which list returns as [ratelimit.Limiter.CheckRoutes]
// takes them. An adapter that can list them within a request calls it for each:
// the first one lists them, and the others cost nothing.
func (e *Engine[C]) CheckRoutes(c C, list func(C) []string) {
	if !e.checked.Load() {
		e.checkRoutes(c, list)
	}
}

func (e *Engine[C]) checkRoutes(c C, list func(C) []string) {
	if !e.checked.Swap(true) {
		_ = e.limiter.CheckRoutes(list(c)...) // which logs it
	}
}

// Passage is one request on its way through an [Engine]. An adapter takes a zero
// one or a used one for each request, says by what its Call is known (see
// [ratelimit.Call.KnownBy]), and gives it up with [Passage.Done]. The Call is the
// context that the handler runs under if Marks is true.
type Passage[C any] struct {
	Call ratelimit.Call
	// C is the framework's context, from Begin on.
	C C

	engine *Engine[C]
	view   View
	kept   bool
}

// Keep says that p will be used for one request after another, as often as
// [Passage.Done] says that it may, always with the same engine and view. It
// then keeps what a decision takes; see [ratelimit.Call.Keep].
func (p *Passage[C]) Keep() {
	p.kept = true
	p.Call.Keep()
}

// Begin decides a request and sets the rate-limit fields of its response. It
// reports whether the handler is to run; if not, call [Passage.Refuse].
func (e *Engine[C]) Begin(p *Passage[C], c C, view View, header ratelimit.ResponseHeader) (proceed bool) {
	if p.C = c; !p.kept || p.engine != e {
		p.engine, p.view = e, view
	}
	if e.config.Skip != nil && e.config.Skip(c) || preflight(view) {
		return true
	}
	e.limiter.Begin(&p.Call, source[C]{p}, header)
	return p.Call.Proceed()
}

// preflight reports whether the request is a CORS preflight. Refusing one
// would show in a browser as a CORS error instead of a 429, and it is no use of
// the service.
func preflight(view View) bool {
	return view.Method() == http.MethodOptions && len(view.Header("Access-Control-Request-Method")) > 0
}

// Marks reports whether the handler is to run with p.Call as its context.
func (p *Passage[C]) Marks() bool { return p.Call.Marks() }

// Done is called in the end, deferred, whether the handler has returned, has
// panicked or was not to run: see [ratelimit.Call.Leave]. It reports whether
// nobody refers to p any more, which then may be used again.
func (p *Passage[C]) Done() (free bool) {
	if !p.Call.Leave() {
		return false
	}
	var none C
	p.C = none
	return true
}

// Settles reports whether [Passage.Finish] needs to know how the handler ends.
func (p *Passage[C]) Settles() bool { return p.Call.Settles() }

// Finish says how the handler ended: with this status, or in a panic.
func (p *Passage[C]) Finish(status int, panicked bool) { p.Call.Finish(status, panicked) }

// Run runs the rest of the chain for a framework whose handlers return errors,
// and sees to [Passage.Finish]. When next has returned, ended calls finish with
// the status that the client gets: at once if it is certain, else when the
// error has been answered, on the request's own goroutine. If that never
// happens, what was charged stays. The error is returned and a panic passes
// through as they come.
func (p *Passage[C]) Run(next func() error, ended func(err error, finish func(status int))) error {
	if !p.Settles() {
		return next()
	}
	panicked := true
	defer func() {
		if panicked {
			p.Finish(http.StatusInternalServerError, true)
		}
	}()
	err := next()
	panicked = false
	ended(err, func(status int) { p.Finish(status, false) })
	return err
}

// Refuse answers a request that is not to proceed: by the Config's OnDeny, or
// by write with the standard answer, which must not be kept. It returns what
// either returned.
func (p *Passage[C]) Refuse(write func(C, ratelimit.Answer) error) error {
	defer p.Call.Finish(0, false)
	if onDeny := p.engine.config.OnDeny; onDeny != nil {
		return onDeny(p.C, p.Call.Decision())
	}
	return write(p.C, p.Call.Answer())
}

// source is a request with what the Config knows of it.
type source[C any] struct{ *Passage[C] }

func (s source[C]) Context() context.Context    { return s.view.Context() }
func (s source[C]) Method() string              { return s.view.Method() }
func (s source[C]) RemoteAddr() string          { return s.view.RemoteAddr() }
func (s source[C]) Header(name string) []string { return s.view.Header(name) }

func (s source[C]) Route() (pattern string, known bool) {
	if route := s.engine.config.Route; route != nil {
		return route(s.C), true
	}
	return s.view.Route()
}

func (s source[C]) User() string {
	if user := s.engine.config.User; user != nil {
		return user(s.C)
	}
	return ""
}

func (s source[C]) Account() string {
	if account := s.engine.config.Account; account != nil {
		return account(s.C)
	}
	return ""
}
