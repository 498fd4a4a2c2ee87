package ratelimit

import (
	"net/netip"

	"github.com/go-floodgate/floodgate/core/internal/clientip"
)

// resolveClientIP finds the client's address and reports what is odd about it.
// Unless it looks at the request's fields it goes by the peer alone.
func (l *Limiter) resolveClientIP(source Source, looks bool) netip.Addr {
	var fields func(string) []string
	if looks {
		fields = source.Header
	}
	addr, note := l.clientIPs.Resolve(source.RemoteAddr(), fields)
	if note == clientip.UntrustedForwarding {
		l.diagnosis.once(CodeUntrustedForwarding, "a forwarding header was seen, but no proxy is trusted: "+
			"if there is a proxy in front, name its network with ratelimit.TrustProxies")
	}
	if !addr.IsValid() {
		l.diagnosis.once(CodeAddressUnknown, "a peer has no IP address, all such peers share one count: "+
			"let the proxy connect over TCP and name its network with ratelimit.TrustProxies, or use a key without the address")
	}
	return addr
}
