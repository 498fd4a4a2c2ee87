package chilimit

import (
	"cmp"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-chi/chi/v5"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/adapter"
	httplimit "github.com/go-floodgate/floodgate/nethttp"
)

// Exchange is a request and its response, the context of a [Config]'s
// functions; see [httplimit.Exchange].
type Exchange = httplimit.Exchange

// Config says what a limiter has to be told about requests; see
// [adapter.Config]. Its Route is needed only where the limiter is mounted
// around a router instead of in it.
type Config = adapter.Config[Exchange]

// New returns a middleware that limits requests with l, for a router, a group
// or a single route. It panics if l is nil or there is more than one Config.
func New(l *ratelimit.Limiter, cfg ...Config) func(http.Handler) http.Handler {
	engine := adapter.New("chilimit", l, cfg)
	var inside Config
	if len(cfg) == 1 {
		inside = cfg[0]
	}
	if inside.Route == nil {
		inside.Route = new(finder).route
	}
	// Most are mounted within a router: for them there is no second place.
	within, around := httplimit.New(l, inside), sync.OnceValue(func() func(http.Handler) http.Handler { return httplimit.New(l, cfg...) })
	return func(next http.Handler) http.Handler {
		within, around := within(next), sync.OnceValue(func() http.Handler { return around()(next) })
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if rctx := chi.RouteContext(r.Context()); rctx != nil && rctx.Routes != nil {
				engine.CheckRoutes(Exchange{W: w, R: r}, routesAround)
				within.ServeHTTP(w, r)
			} else {
				around().ServeHTTP(w, r)
			}
		})
	}
}

// JSONField returns a Config.Account that finds the named member of a JSON
// body; see [adapter.JSONField].
func JSONField(name string) func(Exchange) string { return httplimit.JSONField(name) }

// finder finds the pattern of the route that chi will find, or has found.
type finder struct{ known atomic.Pointer[tree] }

// tree is what has to be known of a router to look ahead into those that are
// mounted in it. The routes of a router don't change while it serves.
type tree struct {
	// routers are the router and those in it, by the patterns that lead there
	// as chi notes them on the way.
	routers map[string]chi.Routes
	// mounts are the patterns where they are mounted, served the methods and
	// patterns of the routes. At a mount's own pattern, "/users", chi always
	// has a handler, whether the router that is mounted there serves it or
	// not.
	mounts map[string]bool
	served map[[2]string]bool
}

func (f *finder) route(x Exchange) string {
	rctx := chi.RouteContext(x.R.Context())
	known := f.known.Load()
	if known == nil || known.routers[""] != rctx.Routes {
		known = &tree{make(map[string]chi.Routes), make(map[string]bool), make(map[[2]string]bool)}
		known.add("", rctx.Routes)
		f.known.Store(known)
	}
	method := cmp.Or(rctx.RouteMethod, x.R.Method)
	path := cmp.Or(rctx.RoutePath, x.R.URL.RawPath, x.R.URL.Path, "/")
	pattern := known.find(rctx, method, path)
	if pattern == "" && method == http.MethodHead {
		// chi's GetHead may be mounted further in.
		pattern = known.find(rctx, http.MethodGet, path)
	}
	return pattern
}

func (t *tree) add(prefix string, router chi.Routes) {
	t.routers[prefix] = router
	t.mounts[strings.TrimSuffix(spelled(prefix), "/*")] = true
	for _, route := range router.Routes() {
		for method := range route.Handlers {
			t.served[[2]string{method, spelled(prefix + route.Pattern)}] = true
		}
		if route.SubRoutes != nil {
			t.add(prefix+route.Pattern, route.SubRoutes)
		}
	}
}

// find goes on from where the request is: at a route, or in a router that has
// yet to look for one.
func (t *tree) find(rctx *chi.Context, method, path string) string {
	patterns := strings.Join(rctx.RoutePatterns, "")
	if router := t.routers[patterns]; router != nil {
		if n := len(rctx.URLParams.Values); n > 0 && rctx.URLParams.Values[n-1] != "" {
			// What the wildcard stands for is not the router's path yet.
			path = "/" + rctx.URLParams.Values[n-1]
		}
		next := router.Find(chi.NewRouteContext(), method, path)
		if next == "" {
			return ""
		}
		patterns += next
	}
	pattern := spelled(patterns)
	switch rest := pattern + "/*"; {
	case !t.mounts[pattern], t.served[[2]string{method, pattern}]:
		return pattern
	case t.served[[2]string{method, rest}]:
		return rest
	}
	return ""
}

// spelled is how chi spells the pattern of a route below others.
func spelled(patterns string) string {
	return (&chi.Context{RoutePatterns: []string{patterns}}).RoutePattern()
}
