package adaptertest

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// brokenView shows requests as an adapter with faults does.
type brokenView struct {
	view
	f faults
}

func (v brokenView) Header(name string) []string {
	lines := v.view.Header(name)
	switch {
	case v.f.has(hidesPreflight) && name == "Access-Control-Request-Method":
		return nil
	case v.f.has(lowerCase):
		return v.r.Header[strings.ToLower(name)]
	case v.f.has(mixesFields) && name == "Forwarded":
		return v.view.Header("X-Forwarded-For")
	case v.f.has(firstLine) && len(lines) > 1:
		return lines[:1]
	case v.f.has(keepsBuffers) && name == "X-Api-Key" && lines != nil:
		first, _ := earlier.LoadOrStore(v.r.RemoteAddr, lines)
		return first.([]string)
	}
	return lines
}

func (v brokenView) Context() context.Context {
	if v.f.has(ownContext) {
		return context.WithoutCancel(v.view.Context())
	}
	return v.view.Context()
}

func (v brokenView) Method() string {
	if v.f.has(headCounts) && v.r.Method == http.MethodHead {
		return "HEAD "
	}
	return v.view.Method()
}

func (v brokenView) Route() (string, bool) {
	if v.f.has(rawPath) {
		return v.r.URL.EscapedPath(), true
	}
	pattern, known := v.view.Route()
	return pattern, known && (pattern != "" || !v.f.has(routesLate))
}

func (v brokenView) RemoteAddr() string {
	addr, err := netip.ParseAddrPort(v.r.RemoteAddr)
	switch forwarded := v.r.Header.Get("X-Forwarded-For"); {
	case v.f.has(believesHeader) && forwarded != "":
		return forwarded
	case v.f.has(cutsAddress):
		before, _, _ := strings.Cut(v.r.RemoteAddr, ":")
		return before
	case v.f.has(portIsClient):
		return fmt.Sprintf("10.0.%d.%d", addr.Port()>>8, addr.Port()&255)
	case v.f.has(invents) && err != nil:
		return "127.0.0.1"
	}
	return v.view.RemoteAddr()
}
