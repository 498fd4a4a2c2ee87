// Package clientip finds the address a request really comes from: the peer's,
// unless the peer is a trusted proxy; then what the trusted proxies say in one
// chosen header. All adapters use it, and nothing else.
//
// Its errors carry no prefix: they are meant to be wrapped with the name of
// the option they came in by.
package clientip

import (
	"fmt"
	"net/netip"
	"net/textproto"
	"strings"
	"sync/atomic"
)

// The two headers that hold a list of hops. Every other holds one address.
const (
	xForwardedFor = "X-Forwarded-For"
	forwarded     = "Forwarded"
)

// What a walk reads at most, from the right. No real chain of trusted proxies
// comes near; a longer one ends at the last good hop.
const (
	maxHops  = 100
	maxBytes = 64 << 10
)

// Config says whom to trust, and with which header. The zero value trusts
// nobody.
type Config struct {
	// Trusted are the networks of the proxies. An IPv4-mapped network is taken
	// as the IPv4 network that it is, and host bits are cut off. IPv4 and IPv6
	// are apart: ::/0 is no IPv4 address.
	Trusted []netip.Prefix
	// Header is the request field that the proxies tell the client in, in any
	// letter case: "X-Forwarded-For" (if empty), "Forwarded" (RFC 7239), or one
	// that holds a single address, such as "CF-Connecting-IP".
	Header string
}

// Resolver finds client addresses. It is safe for concurrent use. Make one with [New].
type Resolver struct {
	trusted set
	header  string
	// boundary finds the comma before a list's last element; nil if the header
	// holds one address.
	boundary func(line string) int
	read     func(element string) (netip.Addr, bool)
	// signs are headers that tell of a proxy.
	signs []string
	// looked is how many requests have been looked at for them, at the beginning.
	looked atomic.Uint32
}

// Note tells the caller of something that is worth a line in the log, once.
type Note uint8

const (
	// Nothing is the usual case.
	Nothing Note = iota
	// UntrustedForwarding: the request has a forwarding header, but no proxy is
	// trusted. Either a client made it up or the configuration is incomplete.
	UntrustedForwarding
)

// New returns a Resolver, or an error that names what is wrong with c.
func New(c Config) (*Resolver, error) {
	trusted, err := newSet(c.Trusted)
	if err != nil {
		return nil, err
	}
	r := &Resolver{trusted: trusted, header: xForwardedFor, read: parseAddr}
	if c.Header != "" {
		if !isToken(c.Header) {
			return nil, fmt.Errorf("header name %.60q is not a field name: use one such as %q", c.Header, xForwardedFor)
		}
		r.header = textproto.CanonicalMIMEHeaderKey(c.Header)
	}
	switch r.header {
	case xForwardedFor:
		r.boundary = lastComma
	case forwarded:
		r.boundary, r.read = lastUnquotedComma, parseForwarded
	}
	r.signs = []string{r.header}
	for _, name := range []string{xForwardedFor, forwarded, "X-Real-Ip"} {
		if name != r.header {
			r.signs = append(r.signs, name)
		}
	}
	return r, nil
}

// Resolve returns the client's address as [Normalise] does. It is the zero
// Addr if peer has none (a Unix socket): such a peer can't be trusted either,
// and the caller has to count all of them together.
//
// peer is the other end of the connection with or without a port, as
// http.Request.RemoteAddr has it. header returns all lines of a request field
// in order; the name it gets is in the canonical form of textproto, so that an
// http.Header can be indexed with it. A nil header is a request without
// fields.
//
// What an untrusted peer sends changes nothing, nor does what a client sends
// on through trusted proxies: their own addition, right of it, is read first.
func (r *Resolver) Resolve(peer string, header func(name string) []string) (netip.Addr, Note) {
	addr, ok := parseAddr(peer)
	switch {
	case r.trusted.empty():
		return Normalise(addr), r.note(header)
	case !ok || header == nil || !r.trusted.contains(addr):
		return Normalise(addr), Nothing
	}
	lines := header(r.header)
	if r.boundary != nil {
		return Normalise(r.walk(addr, lines)), Nothing
	}
	if len(lines) == 1 {
		if client, ok := r.read(trim(lines[0])); ok {
			return Normalise(client), Nothing
		}
	}
	return Normalise(addr), Nothing
}

// Where no proxy is trusted, the first requests are all looked at for a Note,
// later one in so many: looking up three fields costs more than all else here.
const (
	manyLooks = 1000
	oneIn     = 64
)

// Looks reports whether a request is to be resolved with its fields. If it is
// not, its client is the peer. turn counts requests, and may begin anew.
func (r *Resolver) Looks(turn uint8) bool {
	if turn%oneIn == 0 || !r.trusted.empty() {
		return true
	}
	if r.looked.Load() < manyLooks {
		r.looked.Add(1)
		return true
	}
	return false
}

// IPv4 returns the address in the text of a peer, with or without a port, if it
// is an IPv4 address as [netip.Addr.String] would write it: then it is what
// Resolve would return without fields.
func IPv4(peer string) (host string, ok bool) {
	if _, end, ok := cutIPv4(peer); ok {
		return peer[:end], true
	}
	return "", false
}

func (r *Resolver) note(header func(name string) []string) Note {
	if header == nil {
		return Nothing
	}
	for _, name := range r.signs {
		if len(header(name)) > 0 {
			return UntrustedForwarding
		}
	}
	return Nothing
}

// walk goes through the hops from the nearest to the farthest and returns the
// first that is not trusted; else the last that can be read, at the latest
// peer. It never looks left of where it ends: that may be anybody's.
func (r *Resolver) walk(peer netip.Addr, lines []string) netip.Addr {
	hop, hops, budget := peer, 0, maxBytes
	for i := len(lines) - 1; i >= 0; i-- {
		for rest, more := lines[i], true; more; {
			if budget <= 0 {
				return hop
			}
			view := rest[max(0, len(rest)-budget):]
			comma := r.boundary(view)
			if comma < 0 && len(view) < len(rest) {
				return hop
			}
			element := view[comma+1:]
			budget -= len(element) + 1
			if more = comma >= 0; more {
				rest = rest[:len(rest)-len(element)-1]
			}
			if element = trim(element); element == "" {
				continue
			}
			addr, ok := r.read(element)
			if hops++; !ok || hops > maxHops {
				return hop
			}
			hop = addr
			if !r.trusted.contains(addr) {
				return hop
			}
		}
	}
	return hop
}

func lastComma(line string) int { return strings.LastIndexByte(line, ',') }

// trim takes off the optional white space of RFC 9110, section 5.6.3.
func trim(s string) string {
	for s != "" && isSpace(s[0]) {
		s = s[1:]
	}
	for s != "" && isSpace(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' }

// isToken reports whether s is a token of RFC 9110, section 5.6.2.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && !isDigit(c) && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
