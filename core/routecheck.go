package ratelimit

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
)

// CheckRoutes compares the patterns in the policies' Match, Endpoints and Costs
// with the routes of an application, as its framework lists them ("GET
// /users/:id"; without a method it is every method). It returns an error that
// names the patterns that are for none of them, and so do nothing, and logs
// [CodeEndpointUnmatched]. Patterns without a route are for any.
//
// Each adapter has a CheckRoutes that lists the routes. Most adapters also look
// for themselves at the first request.
func (l *Limiter) CheckRoutes(routes ...string) error {
	var known []pattern
	for _, text := range routes {
		known = append(known, listedRoute(text))
	}
	var idle []string
	for _, p := range l.policies {
		for use := range p.patterns {
			if p.reaches(use.pattern, known) {
				continue
			}
			idle = append(idle, fmt.Sprintf("policy %q: %s %q%s", p.Name, use.field, use.pattern, hint(use.pattern, known)))
		}
	}
	if len(idle) == 0 {
		return nil
	}
	l.diagnosis.once(CodeEndpointUnmatched, "patterns of policies match no route of the application, so that they limit nothing: "+
		"write them as the routes are written, or take them out", slog.Any("patterns", idle))
	return fmt.Errorf("ratelimit: patterns match no route of the application: %s", strings.Join(idle, "; "))
}

// RoutePatterns returns the patterns in the policies' Match, Endpoints and
// Costs that name a route, in one spelling ("POST /users/{id}", "/admin/..."),
// each once. It is for the authors of adapters.
func (l *Limiter) RoutePatterns() []string {
	var all []string
	for _, p := range l.policies {
		for use := range p.patterns {
			if use.pattern.namesRoute() {
				all = append(all, use.pattern.String())
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// use is where a pattern stands in a Policy.
type use struct {
	field   string
	pattern pattern
}

// patterns yields every pattern of the policy.
func (p *policy) patterns(yield func(use) bool) {
	for _, of := range p.match.patterns {
		if !yield(use{"Match", of}) {
			return
		}
	}
	if p.endpoints != nil {
		for _, entry := range p.endpoints.entries {
			if !yield(use{"Endpoints", entry.pattern}) {
				return
			}
		}
	}
	if p.costs != nil {
		for _, entry := range p.costs.entries {
			if !yield(use{"Costs", entry.pattern}) {
				return
			}
		}
	}
}

// reaches reports whether a pattern is for any of the routes within what the
// policy is about.
func (p *policy) reaches(of pattern, routes []pattern) bool {
	if !of.namesRoute() || of.route == UnmatchedRoute {
		return true
	}
	return slices.ContainsFunc(routes, func(route pattern) bool {
		return of.meets(route) && (len(p.match.patterns) == 0 ||
			slices.ContainsFunc(p.match.patterns, func(match pattern) bool { return match.meets(route) && match.sameMethod(of) }))
	})
}

// meets reports whether requests of a route can fall under the pattern.
func (p pattern) meets(route pattern) bool { return p.sameMethod(route) && p.ofRoute(route.route) }

func (p pattern) sameMethod(other pattern) bool {
	return p.method == "" || other.method == "" || p.method == other.method
}

// listedRoute reads a route as a framework lists it.
func listedRoute(text string) pattern {
	method, _, found := strings.Cut(text, " ")
	if !found {
		method = ""
	}
	if method = strings.ToUpper(method); method == http.MethodHead {
		method = http.MethodGet
	}
	return pattern{method: method, route: normalRoute(text)}
}

// hint guesses what was meant by a pattern that matches no route.
func hint(of pattern, routes []pattern) string {
	if slices.ContainsFunc(routes, of.meets) {
		return " (the policy's Match leaves it out)"
	}
	var methods []string
	for _, route := range routes {
		switch {
		case of.ofRoute(route.route):
			methods = append(methods, route.method)
		case !of.subtree && foldedRoute(of.route) == foldedRoute(route.route):
			return fmt.Sprintf(" (is %q meant?)", route)
		}
	}
	if len(methods) > 0 && !slices.Contains(methods, "") {
		slices.Sort(methods)
		return " (it is there for " + strings.Join(slices.Compact(methods), ", ") + ")"
	}
	if stem, ok := strings.CutSuffix(of.route, "/{...}"); ok {
		all := pattern{of.method, stem, true}
		if slices.ContainsFunc(routes, all.meets) {
			return fmt.Sprintf(" (%q is for all routes below it)", all)
		}
	}
	return ""
}

// foldedRoute takes off a route what is easily mistaken: letter case, a slash
// at the end, and the names of parameters.
func foldedRoute(route string) string {
	segments := strings.Split(strings.ToLower(strings.TrimRight(route, "/")), "/")
	for i, segment := range segments {
		if !strings.HasPrefix(segment, "{") {
			continue
		}
		segments[i] = "{}"
		if strings.HasSuffix(segment, "...}") {
			segments[i] = "{...}"
		}
	}
	return strings.Join(segments, "/")
}
