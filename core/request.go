package ratelimit

import (
	"context"
	"net/http"
	"net/netip"
	"net/textproto"
)

// UnmatchedRoute is the route of a request that no route of the framework
// matches. All such requests are counted together.
const UnmatchedRoute = "unmatched"

// Source is what an adapter shows of one request. Its methods are called while
// the decision is made, at most once each unless said otherwise, and never
// after.
type Source interface {
	// Context is the request's own context.
	Context() context.Context
	// Method is the request's method as sent.
	Method() string
	// Route is the pattern of the route that will handle the request, in the
	// framework's spelling and without its method; empty if no route does. It is
	// a text of the program's, which may be kept. known is false if the framework
	// can't tell yet.
	Route() (pattern string, known bool)
	// RemoteAddr is the peer's address, with or without a port. It may be called
	// several times.
	RemoteAddr() string
	// Header returns all lines of the request field with this canonical name,
	// in order. It may be called several times.
	Header(name string) []string
	// User is the authenticated user, empty if there is none.
	User() string
	// Account is the account that the request is about (the name in a login
	// form), empty if there is none or it can't be read.
	Account() string
}

// Request is what keys, matches, tiers, costs and exemptions may know of a
// request. Everything is looked up when it is first asked for and remembered.
// It is valid until the function it was given to returns.
type Request struct {
	source  Source
	limiter *Limiter

	has uint8
	// turn counts the requests of a source.
	turn          uint8
	routeKnown    bool
	ip            netip.Addr
	method        string
	route         string
	user, account string
	// spelling is that of the last pattern that was asked for.
	spelling *spelling
}

const (
	hasIP uint8 = 1 << iota
	hasMethod
	hasRoute
	hasUser
	hasAccount
	hasOddMethod
)

// reset makes r the next request of the same source.
func (r *Request) reset() {
	if r.has&hasIP != 0 {
		r.ip = netip.Addr{}
	}
	if r.has&(hasUser|hasAccount|hasOddMethod) != 0 {
		r.user, r.account, r.method = "", "", ""
	}
	r.has = 0 // the rest is the program's
	r.turn++
}

// Context returns the request's context.
func (r *Request) Context() context.Context { return r.source.Context() }

// Method returns the request's method; HEAD is GET, since the same handler
// answers both.
func (r *Request) Method() string {
	if r.has&hasMethod == 0 {
		sent := r.source.Method()
		method := commonMethod(sent)
		if method == "" {
			method = sent
			r.has |= hasOddMethod
		}
		if r.method != method { // see work.reset
			r.method = method
		}
		r.has |= hasMethod
	}
	return r.method
}

// Route returns the pattern of the matched route in one spelling for all
// frameworks ("/users/{id}", "/files/{path...}"), or [UnmatchedRoute].
func (r *Request) Route() string {
	route, _ := r.knownRoute()
	return route
}

func (r *Request) knownRoute() (route string, known bool) {
	if r.has&hasRoute == 0 {
		pattern, known := r.source.Route()
		r.routeKnown = known
		if route := r.spell(pattern); r.route != route { // see work.reset
			r.route = route
		}
		r.has |= hasRoute
	}
	return r.route, r.routeKnown
}

// spell gives a pattern its one spelling.
func (r *Request) spell(pattern string) string {
	switch {
	case pattern == "":
		return UnmatchedRoute
	case isSpelt(pattern):
		return pattern
	case r.spelling != nil && r.spelling.pattern == pattern:
		return r.spelling.route
	}
	s := spellingOf(pattern)
	if s.kept {
		r.spelling = s
	}
	return s.route
}

// commonMethod is the method as the program has it, "" for one that is none of
// the common ones. HEAD is GET, and so is none.
func commonMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, "":
		return http.MethodGet
	case http.MethodPost:
		return http.MethodPost
	case http.MethodPut:
		return http.MethodPut
	case http.MethodPatch:
		return http.MethodPatch
	case http.MethodDelete:
		return http.MethodDelete
	case http.MethodOptions:
		return http.MethodOptions
	}
	return ""
}

// ClientIP returns the client's address as [TrustProxies] and [ClientIPHeader]
// say, in its canonical form; the zero Addr if the peer has none (a Unix
// socket).
func (r *Request) ClientIP() netip.Addr {
	if r.has&hasIP == 0 {
		l := r.limiter
		r.ip = l.resolveClientIP(r.source, l.clientIPs.Looks(r.turn))
		r.has |= hasIP
	}
	return r.ip
}

// User returns the authenticated user as the adapter's Config tells it, or "".
func (r *Request) User() string {
	if r.has&hasUser == 0 {
		r.user = r.source.User()
		r.has |= hasUser
	}
	return r.user
}

// Account returns the account the request is about as the adapter's Config
// tells it, trimmed and lower-cased, or "".
func (r *Request) Account() string {
	if r.has&hasAccount == 0 {
		r.account = normaliseAccount(r.source.Account())
		r.has |= hasAccount
	}
	return r.account
}

// Header returns the first line of the named request field, or "". The name's
// letter case does not matter.
func (r *Request) Header(name string) string {
	if lines := r.HeaderValues(name); len(lines) > 0 {
		return lines[0]
	}
	return ""
}

// HeaderValues returns all lines of the named request field in order.
func (r *Request) HeaderValues(name string) []string {
	return r.source.Header(textproto.CanonicalMIMEHeaderKey(name))
}

// Cookie returns the value of the first cookie with this name, or "". Cookies
// that can't be read are skipped, one by one as net/http does: others set them
// too, and whoever adds one must not lose the cookie that he is counted by.
func (r *Request) Cookie(name string) string {
	request := http.Request{Header: http.Header{"Cookie": r.HeaderValues("Cookie")}}
	cookie, err := request.Cookie(name)
	if err != nil {
		return ""
	}
	return cookie.Value
}
