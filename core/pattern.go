package ratelimit

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// pattern says which requests something is for: those with a method, those of
// a route or of all routes below a path, or both. Matches, endpoint tables and
// cost tables are written with it.
type pattern struct {
	// method is empty for every method; HEAD is GET.
	method string
	// route is in one spelling for all frameworks; empty without subtree is
	// every route and none.
	route string
	// subtree is whether the pattern is "route/...": the route and all below
	// it.
	subtree bool
}

// below is how a pattern that is for a whole subtree ends: as Go's own tools
// have it, and as no framework spells a route of its own. "/*" is a catch-all
// route in most of them.
const below = "/..."

// howPatternsLook is the mend in errors about patterns.
const howPatternsLook = `use "GET /search", "/search", "POST" or "/admin/..."`

func parsePattern(text string) (pattern, error) {
	p, err := parsePatternFields(strings.Fields(text))
	if err != nil {
		return pattern{}, fmt.Errorf("%w in %q: %s", err, text, howPatternsLook)
	}
	return p, nil
}

func parsePatternFields(fields []string) (p pattern, err error) {
	if len(fields) == 0 {
		return p, errors.New("an empty pattern")
	}
	if !isRoute(fields[0]) {
		p.method = strings.ToUpper(fields[0])
		if strings.Trim(p.method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_") != "" {
			return p, fmt.Errorf("%q is no method", fields[0])
		}
		if p.method == http.MethodHead {
			p.method = http.MethodGet
		}
		fields = fields[1:]
	}
	switch {
	case len(fields) == 0:
		return p, nil
	case len(fields) > 1:
		return p, fmt.Errorf("%q after the route", fields[1])
	case !isRoute(fields[0]):
		return p, fmt.Errorf("%q is no route", fields[0])
	}
	p.route, p.subtree = strings.CutSuffix(fields[0], below)
	if strings.Contains(p.route+"/", below+"/") {
		return p, fmt.Errorf("%q before the end", below)
	}
	p.route = normalRoute(p.route)
	return p, nil
}

// isRoute reports whether a word of a pattern is a route and not a method.
func isRoute(word string) bool { return word == UnmatchedRoute || strings.HasPrefix(word, "/") }

// String is the pattern in the one spelling that all of its spellings have in
// common.
func (p pattern) String() string {
	text := p.route
	if p.subtree {
		text += below
	}
	switch {
	case p.method == "":
		return text
	case text == "":
		return p.method
	}
	return p.method + " " + text
}

// namesRoute reports whether the pattern can't do without the route.
func (p pattern) namesRoute() bool { return p.route != "" || p.subtree }

// ofRoute reports whether the pattern is for a route, whatever its method.
func (p pattern) ofRoute(route string) bool {
	if !p.subtree {
		return p.route == "" || p.route == route
	}
	rest, ok := strings.CutPrefix(route, p.route)
	return ok && (rest == "" && p.route != "" || strings.HasPrefix(rest, "/"))
}

// matches reports whether the pattern is for r. A route that isn't known is
// none that a pattern names.
func (p *pattern) matches(r *Request) bool {
	if p.method != "" && p.method != r.Method() {
		return false
	}
	if !p.namesRoute() {
		return true
	}
	route, known := r.knownRoute()
	return known && p.ofRoute(route)
}

// match is a policy's Match, parsed.
type match struct {
	patterns []pattern
	// needsRoute is whether one of them names a route.
	needsRoute bool
}

// parseMatch reads one pattern or several separated by commas.
func parseMatch(text string) (match, error) {
	var m match
	if text == "" {
		return m, nil
	}
	for alternative := range strings.SplitSeq(text, ",") {
		p, err := parsePattern(alternative)
		if err != nil {
			return match{}, fmt.Errorf("%w, several separated by commas", err)
		}
		m.patterns = append(m.patterns, p)
		m.needsRoute = m.needsRoute || p.namesRoute()
	}
	return m, nil
}

// matches reports whether the policy is about r.
func (m *match) matches(r *Request) bool {
	if len(m.patterns) == 0 {
		return true
	}
	for i := range m.patterns {
		if m.patterns[i].matches(r) {
			return true
		}
	}
	return false
}
