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
	if isSpelt(pattern) {
		return pattern
	}
	return spellingOf(pattern).route
}

// isSpelt reports whether a pattern is in the one spelling for being nothing but
// a path.
func isSpelt(pattern string) bool {
	return strings.HasPrefix(pattern, "/") && !strings.ContainsAny(pattern, ":*+{? ")
}

func spellingOf(pattern string) *spelling {
	if s, ok := spellings.Load(pattern); ok {
		return s.(*spelling)
	}
	s := &spelling{route: strings.Clone(spellRoute(pattern))}
	// Patterns come from the program, not from clients, so that there are few;
	// the bound is for an adapter that hands out something else.
	if spellingsKept.Add(1) <= maxSpellings {
		s.pattern, s.kept = strings.Clone(pattern), true
		spellings.Store(s.pattern, s)
	}
	return s
}

// spelling is a pattern and the route that it is.
type spelling struct {
	pattern, route string
	// kept is whether both are, and lie in no memory that is used again.
	kept bool
}

const maxSpellings = 10_000

var (
	spellings     sync.Map // by pattern
	spellingsKept atomic.Int64
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
