package fiberlimit

import (
	"slices"
	"strings"
	"sync"

	"github.com/gofiber/fiber/v2"
)

// places are where a limiter is mounted: in Fiber a route of its own for each
// method, be it that of a handler or of what is used by an app or a group. The
// routes of an app don't change while it serves.
type places struct{ sync.Map } // *fiber.Route -> *place

// place is one of them.
type place struct {
	// handles is whether it is a route with a handler.
	handles bool
	// known is whether the app lists the place, and ahead what comes after it
	// there: the routes that Fiber tries, in this order, when the limiter lets
	// a request go on.
	known bool
	ahead []ahead
	// config is how Fiber compares.
	config fiber.Config
}

// ahead is a route that may come next.
type ahead struct {
	pattern string
	// start is what a path begins with that the route can match, all of it if
	// the route is fixed.
	start string
	fixed bool
}

// of returns the place that a route is.
func (all *places) of(app *fiber.App, route *fiber.Route) *place {
	if known, ok := all.Load(route); ok {
		return known.(*place)
	}
	made, _ := all.LoadOrStore(route, placeOf(app, route))
	return made.(*place)
}

func placeOf(app *fiber.App, route *fiber.Route) *place {
	p := &place{config: fiber.Config{CaseSensitive: app.Config().CaseSensitive, StrictRouting: app.Config().StrictRouting}}
	// What is used has no sign of its own, but GetRoutes leaves it out. Copies
	// of a route share their handlers.
	handling := make(map[*fiber.Handler]bool)
	for _, route := range app.GetRoutes(true) {
		if len(route.Handlers) > 0 {
			handling[&route.Handlers[0]] = true
		}
	}
	handles := func(route *fiber.Route) bool { return len(route.Handlers) > 0 && handling[&route.Handlers[0]] }
	p.handles = handles(route)
	for _, routes := range app.Stack() {
		at := slices.Index(routes, route)
		if at < 0 {
			continue
		}
		p.known = true
		for _, next := range routes[at+1:] {
			if handles(next) {
				p.ahead = append(p.ahead, p.aheadOf(next.Path))
			}
		}
	}
	return p
}

func (p *place) aheadOf(pattern string) ahead {
	a := ahead{pattern: pattern, start: p.compared(pattern)}
	// A parameter that is optional may leave out the slash before it.
	if at := strings.IndexAny(a.start, `:*+\`); at >= 0 {
		a.start = strings.TrimRight(a.start[:at], "/")
		return a
	}
	a.fixed = true
	return a
}

// compared is a path, or a route without parameters, as Fiber compares it.
func (p *place) compared(path string) string {
	if !p.config.CaseSensitive {
		path = lower(path)
	}
	if !p.config.StrictRouting && len(path) > 1 {
		path = strings.TrimRight(path, "/")
	}
	return path
}

// lower lowers the letters that Fiber does, those of ASCII.
func lower(text string) string {
	var lowered []byte
	for i := range len(text) {
		if c := text[i]; c >= 'A' && c <= 'Z' {
			if lowered == nil {
				lowered = []byte(text)
			}
			lowered[i] = c + 'a' - 'A'
		}
	}
	if lowered == nil {
		return text
	}
	return string(lowered)
}

// find returns the pattern of the route that Fiber will find for a path, empty
// if there is none.
func (p *place) find(path string) string {
	path = p.compared(path)
	for i := range p.ahead {
		a := &p.ahead[i]
		if a.fixed && a.start == path || !a.fixed && strings.HasPrefix(path, a.start) && fiber.RoutePatternMatch(path, a.pattern, p.config) {
			return a.pattern
		}
	}
	return ""
}
