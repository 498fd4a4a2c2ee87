package adaptertest

import (
	"context"
	"strings"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/adapter"
)

// Site is what a harness builds in its framework: nothing but what is mounted
// where. What happens in it is told by functions over [Exchange], so that a new
// case needs no new harness.
type Site struct {
	// Recover mounts the framework's own recovery from panics, outside
	// everything else; a framework without one answers 500.
	Recover bool
	// Use is mounted for the whole application, the first one outermost, so
	// that it also sees requests that match no route.
	Use []Middleware
	// Routes are the application's own, Groups those that are mounted together
	// under a prefix, as a sub-router where the framework has them.
	Routes []Route
	Groups []Group
	// OnError, if set, answers the errors that handlers return, in place of the
	// framework and outside of all middleware.
	OnError func(x Exchange, err error) error
	// Built, if set, is called when all routes are there and before the first
	// request, with the adapter's CheckRoutes for them.
	Built func(check func(*ratelimit.Limiter) error)
}

// Group is several routes under one prefix ("/g"), whose Use is mounted on the
// group.
type Group struct {
	Prefix string
	Use    []Middleware
	Routes []Route
}

// Route is one route. Its Method is never empty; HEAD is a route of its own.
// Its Pattern is spelled as net/http does ("/u/{id}", "/files/{path...}"); see
// [Spell]. Its Use is mounted on this route alone.
type Route struct {
	Method, Pattern string
	Use             []Middleware
	Handler         Handler
}

// Handler is what a route does. What it returns is returned to the framework,
// where handlers return errors; elsewhere an error is answered with 500.
type Handler func(Exchange) error

// Middleware is the adapter's middleware if Limiter is set: Config says with
// what (see [ConfigOf]). Else it is a plain middleware of the framework that
// calls Around.
type Middleware struct {
	Limiter *ratelimit.Limiter
	Config  Config

	// Around calls next, always, and returns what it returned. next runs the
	// rest of the chain with this context as the request's, and returns its
	// error where the framework has one.
	Around func(x Exchange, next func(context.Context) error) error
}

// Config is the Config of an adapter, told over an [Exchange].
type Config struct {
	adapter.Config[Exchange]
	// JSONField makes the Account the adapter's own JSONField of this name.
	JSONField string
}

// ConfigOf translates c into the Config of an adapter whose context is C.
// exchange makes an [Exchange] of it; jsonField is the adapter's JSONField.
func ConfigOf[C any](c Config, exchange func(C) Exchange, jsonField func(name string) func(C) string) adapter.Config[C] {
	var translated adapter.Config[C]
	if f := c.User; f != nil {
		translated.User = func(c C) string { return f(exchange(c)) }
	}
	if f := c.Account; f != nil {
		translated.Account = func(c C) string { return f(exchange(c)) }
	}
	if c.JSONField != "" {
		translated.Account = jsonField(c.JSONField)
	}
	if f := c.Skip; f != nil {
		translated.Skip = func(c C) bool { return f(exchange(c)) }
	}
	if f := c.Route; f != nil {
		translated.Route = func(c C) string { return f(exchange(c)) }
	}
	if f := c.OnDeny; f != nil {
		translated.OnDeny = func(c C, d ratelimit.Decision) error { return f(exchange(c), d) }
	}
	return translated
}

// Spell respells a Pattern for a framework: param is how "{name}" is written
// there and rest how "{name...}" is, such as ":name" and "*name".
func Spell(pattern, param, rest string) string {
	segments := strings.Split(pattern, "/")
	for i, segment := range segments {
		if !strings.HasPrefix(segment, "{") {
			continue
		}
		name, spelled := strings.Trim(segment, "{}"), param
		if cut, ok := strings.CutSuffix(name, "..."); ok {
			name, spelled = cut, rest
		}
		segments[i] = strings.Replace(spelled, "name", name, 1)
	}
	return strings.Join(segments, "/")
}

// bare is the site without any limiter.
func (site Site) bare() Site {
	site.Use = withoutLimiters(site.Use)
	site.Routes = bareRoutes(site.Routes)
	groups := make([]Group, len(site.Groups))
	for i, group := range site.Groups {
		group.Use, group.Routes = withoutLimiters(group.Use), bareRoutes(group.Routes)
		groups[i] = group
	}
	site.Groups = groups
	return site
}

func bareRoutes(routes []Route) []Route {
	bare := make([]Route, len(routes))
	for i, route := range routes {
		route.Use = withoutLimiters(route.Use)
		bare[i] = route
	}
	return bare
}

func withoutLimiters(all []Middleware) []Middleware {
	var rest []Middleware
	for _, m := range all {
		if m.Limiter == nil {
			rest = append(rest, m)
		}
	}
	return rest
}
