package clientip

import (
	"net/netip"
	"strings"
)

var (
	// nat64 is the well-known prefix of RFC 6052, section 2.1.
	nat64 = netip.MustParsePrefix("64:ff9b::/96")
	// sharedSpace is RFC 6598's, for carriers' own NATs.
	sharedSpace = netip.MustParsePrefix("100.64.0.0/10")
)

// Normalise returns the one form of an address that clients are counted by, so
// that no spelling of it is a fresh quota: an IPv4-mapped IPv6 address is its
// IPv4 address, decided by its bits and not by how it was written, and a zone
// is dropped.
//
// An address within 64:ff9b::/96 is the IPv4 address in its last 32 bits: a
// translator put it there for a client that speaks IPv4, and in one /64 all
// IPv4 clients would share one quota. Only global addresses are taken out, as
// a translator must not carry others (RFC 6052, section 3.1): nobody becomes
// 10.0.0.1 that way. The other prefixes that hold IPv4 addresses stay IPv6.
// Translators with a prefix of their own can't be told from other networks. In
// 6to4 (2002::/16) each site has networks of its own, so that a /64 merges
// nobody. In Teredo (2001::/32) the clients of one server share a /64, but
// nothing vouches for the address in the rest, which would then be a choice of
// the client's.
//
// The zero Addr stays what it is.
func Normalise(addr netip.Addr) netip.Addr {
	addr = canonical(addr)
	if nat64.Contains(addr) {
		bytes := addr.As16()
		embedded := netip.AddrFrom4([4]byte(bytes[12:]))
		if embedded.IsGlobalUnicast() && !embedded.IsPrivate() && !sharedSpace.Contains(embedded) {
			return embedded
		}
	}
	return addr
}

// canonical is the form that trust is decided on. It keeps what a translator
// made apart from the IPv4 network that it stands for: who trusts an IPv4
// network has not thought of it.
func canonical(addr netip.Addr) netip.Addr { return addr.Unmap().WithZone("") }

// parseAddr reads an address with or without a port: "192.0.2.1",
// "192.0.2.1:80", "2001:db8::1", "[2001:db8::1]", "[2001:db8::1%eth0]:80". An
// IPv6 address without brackets has no port. The address is canonical.
func parseAddr(text string) (netip.Addr, bool) {
	if addr, ok := parseIPv4(text); ok {
		return addr, true
	}
	host := text
	switch colon := strings.IndexByte(text, ':'); {
	case text == "":
		return netip.Addr{}, false
	case text[0] == '[':
		end := strings.IndexByte(text, ']')
		if colon < 0 || end < colon {
			return netip.Addr{}, false
		}
		host = text[1:end]
		if port := text[end+1:]; port != "" && !isPort(port) {
			return netip.Addr{}, false
		}
	case colon >= 0 && strings.IndexByte(text[colon+1:], ':') < 0:
		host = text[:colon]
		if !isPort(text[colon:]) {
			return netip.Addr{}, false
		}
	}
	// The zone is cut off before parsing, which would keep a copy of it.
	if percent := strings.IndexByte(host, '%'); percent >= 0 {
		if percent == len(host)-1 || strings.IndexByte(host[:percent], ':') < 0 {
			return netip.Addr{}, false
		}
		host = host[:percent]
	}
	if len(host) > len("0000:0000:0000:0000:0000:ffff:255.255.255.255") {
		return netip.Addr{}, false
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}, false
	}
	return canonical(addr), true
}

// parseIPv4 is parseAddr for what most peers are, in one pass: four decimal
// numbers (RFC 6943, section 3.1.1: no leading zeros), and perhaps a port in
// digits. Of all else it knows nothing.
func parseIPv4(text string) (netip.Addr, bool) {
	addr, _, ok := cutIPv4(text)
	if !ok {
		return netip.Addr{}, false
	}
	return netip.AddrFrom4([4]byte{byte(addr >> 24), byte(addr >> 16), byte(addr >> 8), byte(addr)}), true
}

// cutIPv4 is parseIPv4, and says where the address ends and the port begins. It
// takes the three digits of a number one by one, since every request pays for it
// (BenchmarkIPv4).
func cutIPv4(text string) (addr uint32, end int, ok bool) {
	for n := 0; ; n++ {
		if end >= len(text) {
			return 0, 0, false
		}
		digit := uint32(text[end]) - '0'
		if digit > 9 {
			return 0, 0, false
		}
		value := digit
		end++
		if end < len(text) {
			if digit = uint32(text[end]) - '0'; digit <= 9 {
				if value == 0 {
					return 0, 0, false // a leading zero
				}
				value = value*10 + digit
				end++
				if end < len(text) {
					if digit = uint32(text[end]) - '0'; digit <= 9 {
						if value = value*10 + digit; value > 255 {
							return 0, 0, false
						}
						end++
					}
				}
			}
		}
		addr = addr<<8 | value
		if n == 3 {
			return addr, end, end == len(text) || isPort(text[end:])
		}
		if end >= len(text) || text[end] != '.' {
			return 0, 0, false
		}
		end++
	}
}

// isPort reports whether s is ":" and a port of RFC 7239, section 6.2: up to
// five digits, or "_" and a made-up name.
func isPort(s string) bool {
	if len(s) < 2 || s[0] != ':' {
		return false
	}
	s = s[1:]
	if s[0] == '_' {
		return len(s) > 1 && isToken(s)
	}
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return len(s) <= 5
}
