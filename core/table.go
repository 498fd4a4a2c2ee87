package ratelimit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// table is what patterns stand for: of the entries that are for a request the
// most specific one counts. The path comes first: a route before a subtree, a
// longer subtree before a shorter one, any path before none. On the same path
// an entry with the request's method comes before one for every method.
type table[T any] struct {
	// entries are in the order of their patterns' text.
	entries []entry[T]
	// routes are the entries for one route, subtrees those for a route and
	// what is below it, longest first, and anywhere those without either.
	routes   map[string]*methods[T]
	subtrees []subtree[T]
	anywhere methods[T]
	// needsRoute is whether an entry names a route.
	needsRoute bool
}

type entry[T any] struct {
	pattern pattern
	value   *T
}

type subtree[T any] struct {
	pattern
	methods methods[T]
}

// methods are the entries on one path.
type methods[T any] struct {
	every *T
	own   map[string]*T
}

func (m *methods[T]) of(method string) *T {
	if value := m.own[method]; value != nil {
		return value
	}
	return m.every
}

func (m *methods[T]) add(method string, value *T) {
	if method == "" {
		m.every = value
		return
	}
	if m.own == nil {
		m.own = make(map[string]*T)
	}
	m.own[method] = value
}

// newTable makes a table of a field of a policy, whose values compile reads. It
// returns nil for an empty one.
func newTable[V, T any](field string, values map[string]V, compile func(pattern, V) (*T, error)) (*table[T], error) {
	if len(values) == 0 {
		return nil, nil
	}
	t := &table[T]{routes: make(map[string]*methods[T])}
	texts := make(map[pattern]string, len(values))
	for _, text := range slices.Sorted(maps.Keys(values)) {
		p, err := parsePattern(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", field, err)
		}
		if same, twice := texts[p]; twice {
			return nil, fmt.Errorf("%s has %q and %q, which are the same: leave one out", field, same, text)
		}
		texts[p] = text
		value, err := compile(p, values[text])
		if err != nil {
			return nil, fmt.Errorf("%s[%q]: %w", field, text, trimPrefix(err))
		}
		t.add(p, value)
	}
	slices.SortFunc(t.entries, func(a, b entry[T]) int { return cmp.Compare(a.pattern.String(), b.pattern.String()) })
	slices.SortFunc(t.subtrees, func(a, b subtree[T]) int { return cmp.Compare(len(b.route), len(a.route)) })
	return t, nil
}

func (t *table[T]) add(p pattern, value *T) {
	t.entries = append(t.entries, entry[T]{p, value})
	t.needsRoute = t.needsRoute || p.namesRoute()
	switch {
	case p.subtree:
		at := slices.IndexFunc(t.subtrees, func(s subtree[T]) bool { return s.route == p.route })
		if at < 0 {
			at = len(t.subtrees)
			t.subtrees = append(t.subtrees, subtree[T]{pattern: pattern{route: p.route, subtree: true}})
		}
		t.subtrees[at].methods.add(p.method, value)
	case p.route != "":
		if t.routes[p.route] == nil {
			t.routes[p.route] = new(methods[T])
		}
		t.routes[p.route].add(p.method, value)
	default:
		t.anywhere.add(p.method, value)
	}
}

// find returns what stands for r, nil if nothing does. A route that isn't known
// is none that an entry names.
func (t *table[T]) find(r *Request) *T {
	method := r.Method()
	if t.needsRoute {
		if route, known := r.knownRoute(); known {
			if value := t.ofRoute(route, method); value != nil {
				return value
			}
		}
	}
	return t.anywhere.of(method)
}

func (t *table[T]) ofRoute(route, method string) *T {
	if found := t.routes[route]; found != nil {
		if value := found.of(method); value != nil {
			return value
		}
	}
	for i := range t.subtrees {
		if s := &t.subtrees[i]; s.ofRoute(route) {
			if value := s.methods.of(method); value != nil {
				return value
			}
		}
	}
	return nil
}
