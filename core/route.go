package ratelimit

import (
	"errors"
	"fmt"
	"net/http"
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

// match is a policy's Match, parsed.
type match struct {
	rules []matchRule
	// needsRoute is whether a rule names a route.
	needsRoute bool
}

type matchRule struct{ method, route string }

// parseMatch reads "GET /search", "/search", "POST", or several of them
// separated by commas.
func parseMatch(text string) (match, error) {
	var m match
	if text == "" {
		return m, nil
	}
	for alternative := range strings.SplitSeq(text, ",") {
		rule, err := parseMatchRule(strings.Fields(alternative))
		if err != nil {
			return match{}, fmt.Errorf("%w in %q: use \"GET /search\", \"/search\" or \"POST\", several separated by commas", err, text)
		}
		m.rules = append(m.rules, rule)
		m.needsRoute = m.needsRoute || rule.route != ""
	}
	return m, nil
}

func parseMatchRule(fields []string) (matchRule, error) {
	var rule matchRule
	if len(fields) > 0 && !strings.HasPrefix(fields[0], "/") && fields[0] != UnmatchedRoute {
		rule.method = strings.ToUpper(fields[0])
		if strings.Trim(rule.method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_") != "" {
			return rule, fmt.Errorf("%q is no method", fields[0])
		}
		if rule.method == http.MethodHead {
			rule.method = http.MethodGet
		}
		fields = fields[1:]
	} else if len(fields) == 0 {
		return rule, errors.New("an empty alternative")
	}
	switch {
	case len(fields) > 1:
		return rule, fmt.Errorf("%q after the route", fields[1])
	case len(fields) == 1 && fields[0] != UnmatchedRoute && !strings.HasPrefix(fields[0], "/"):
		return rule, fmt.Errorf("%q is no route", fields[0])
	case len(fields) == 1:
		rule.route = normalRoute(fields[0])
	}
	return rule, nil
}

// matches reports whether the policy is about r. A route that isn't known
// matches no rule that names one.
func (m *match) matches(r *Request) bool {
	if len(m.rules) == 0 {
		return true
	}
	for i := range m.rules {
		rule := &m.rules[i]
		if rule.method != "" && rule.method != r.Method() {
			continue
		}
		if rule.route == "" {
			return true
		}
		if route, known := r.knownRoute(); known && rule.route == route {
			return true
		}
	}
	return false
}
