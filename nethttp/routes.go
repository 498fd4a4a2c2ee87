package httplimit

import (
	"net/http"
	"net/url"
	"strings"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// RoutesOf returns a Config.Route that finds the patterns of mux when the
// middleware stands before it, where the request doesn't have its pattern yet.
// It is not needed where the middleware wraps the mux itself.
func RoutesOf(mux *http.ServeMux) func(Exchange) string {
	return func(x Exchange) string {
		_, pattern := mux.Handler(x.R)
		return pattern
	}
}

// CheckRoutes returns an error that names the patterns of l's policies that are
// for no route of mux; see [ratelimit.Limiter.CheckRoutes]. A mux doesn't list
// its routes, so it is asked for each pattern: for the patterns of mux that
// begin with a host name the hosts, and don't expect "/admin/..." to be found
// missing. It is not needed where the middleware wraps the mux itself: the
// first request then sees to it.
func CheckRoutes(l *ratelimit.Limiter, mux *http.ServeMux, hosts ...string) error {
	return l.CheckRoutes(asked(l, mux, hosts)...)
}

// asked returns the routes of mux that l's policies may mean.
func asked(l *ratelimit.Limiter, mux *http.ServeMux, hosts []string) (routes []string) {
	for _, pattern := range l.RoutePatterns() {
		method, route, found := strings.Cut(pattern, " ")
		if !found {
			method, route = "", pattern
		}
		if stem, subtree := strings.CutSuffix(route, "/..."); subtree {
			routes = append(routes, stem+"/")
			continue
		}
		for _, path := range pathsOf(route) {
			for _, host := range append([]string{""}, hosts...) {
				for _, method := range methodsOf(method) {
					request := &http.Request{Method: method, Host: host, URL: &url.URL{Path: path}}
					if _, pattern := mux.Handler(request); pattern != "" {
						routes = append(routes, pattern)
					}
				}
			}
		}
	}
	return routes
}

// someSegment is one that no route has by name.
const someSegment = "floodgate-asks"

// pathsOf returns paths that go to a route, if it is there. What a catch-all
// leaves to more special routes is short.
func pathsOf(route string) []string {
	segments := strings.Split(route, "/")
	for i, segment := range segments {
		switch {
		case segment == "{$}":
			segments[i] = ""
		case strings.HasPrefix(segment, "{"):
			segments[i] = someSegment
		}
	}
	path := strings.Join(segments, "/")
	if stem, ok := strings.CutSuffix(path, "/"); ok || strings.HasSuffix(route, "...}") {
		if !ok {
			stem = strings.TrimSuffix(path, "/"+someSegment)
		}
		return []string{stem + "/", stem + "/" + someSegment, stem + strings.Repeat("/"+someSegment, 20)}
	}
	return []string{path}
}

// methodsOf returns the methods to ask for: for a pattern without one the
// common ones and one that only a route without a method takes.
func methodsOf(method string) []string {
	if method != "" {
		return []string{method}
	}
	return []string{
		http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions, http.MethodTrace,
		"FLOODGATE-ASKS",
	}
}
