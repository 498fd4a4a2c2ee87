package ratelimit

import (
	"strings"
	"sync"
	"sync/atomic"
)

// normalRoute gives a route pattern one spelling for all frameworks, so that a
// policy, a key and a metric label mean the same in each: ":id" and "{id}" are
// "{id}"; "*path", "*", "+", "{path...}" and a trailing "/" of net/http's
// subtree patterns stay apart from single segments. A method or host in front
// of the path (net/http's patterns may have both) is dropped.
func normalRoute(pattern string) string {
	if !strings.ContainsAny(pattern, ":*+{? ") && strings.HasPrefix(pattern, "/") {
		return pattern
	}
	if route, ok := routes.Load(pattern); ok {
		return route.(string)
	}
	route := spellRoute(pattern)
	// Patterns come from the program, not from clients, so that there are few;
	// the bound is for an adapter that hands out something else.
	if routesKept.Add(1) <= maxRoutesKept {
		routes.Store(pattern, route)
	}
	return route
}

const maxRoutesKept = 10_000

var (
	routes     sync.Map
	routesKept atomic.Int64
)

func spellRoute(pattern string) string {
	if _, path, ok := strings.Cut(pattern, " "); ok {
		pattern = strings.TrimLeft(path, " ")
	}
	if i := strings.IndexByte(pattern, '/'); i > 0 {
		pattern = pattern[i:]
	}
	segments := strings.Split(pattern, "/")
	for i, segment := range segments {
		segments[i] = spellSegment(segment)
	}
	return strings.Join(segments, "/")
}

func spellSegment(segment string) string {
	switch {
	case segment == "":
		return ""
	case segment == "{$}":
		return segment
	case segment[0] == ':':
		name := segment[1:]
		if i := strings.IndexAny(name, "<?"); i >= 0 {
			name = name[:i]
		}
		return "{" + name + "}"
	case segment[0] == '*' || segment[0] == '+':
		return "{" + strings.TrimRight(segment[1:], "0123456789") + "...}"
	case segment[0] == '{' && strings.HasSuffix(segment, "}"):
		// chi: {name:regexp}
		if name, _, ok := strings.Cut(segment, ":"); ok {
			return name + "}"
		}
	}
	return segment
}
