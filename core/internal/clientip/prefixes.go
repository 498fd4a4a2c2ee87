package clientip

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

const prefixExamples = `write a network like "10.0.0.0/8" or "2001:db8::/32", or an address like "192.0.2.7"`

// ParsePrefixes reads networks in CIDR form and bare addresses, each text a
// list of any number of them, separated by commas or white space. Host bits
// are cut off (10.1.2.3/8 is 10.0.0.0/8) and an IPv4-mapped network is the IPv4
// network that it is. No text, or only empty ones, is no network and no error.
func ParsePrefixes(texts ...string) ([]netip.Prefix, error) {
	var prefixes []netip.Prefix
	for _, text := range texts {
		for _, word := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(", \t\r\n", c) }) {
			prefix, err := parsePrefix(word)
			if err == nil {
				prefix, err = normalisePrefix(prefix)
			}
			if err != nil {
				return nil, fmt.Errorf("network %.60q: %w; %s", word, err, prefixExamples)
			}
			prefixes = append(prefixes, prefix)
		}
	}
	return prefixes, nil
}

// ParseClients is [ParsePrefixes] for networks that clients are looked up in. A
// network of translated addresses is refused: a client there is known by the
// IPv4 address within, see [Normalise], so that it would never be found.
func ParseClients(texts ...string) ([]netip.Prefix, error) {
	prefixes, err := ParsePrefixes(texts...)
	for _, prefix := range prefixes {
		if prefix.Bits() >= nat64.Bits() && nat64.Contains(prefix.Addr()) {
			return nil, fmt.Errorf("network %v: its clients are known by the IPv4 addresses within: name their IPv4 network", prefix)
		}
	}
	return prefixes, err
}

func parsePrefix(text string) (netip.Prefix, error) {
	host, length, isNetwork := strings.Cut(text, "/")
	addr, err := netip.ParseAddr(host)
	switch {
	case err != nil:
		return netip.Prefix{}, fmt.Errorf("%.60q is not an IP address; names, ports and brackets are not allowed", host)
	case addr.Zone() != "":
		return netip.Prefix{}, fmt.Errorf("it has a zone: leave out %.30q", "%"+addr.Zone())
	case !isNetwork:
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	bits, err := strconv.ParseUint(length, 10, 16)
	switch {
	case err != nil:
		return netip.Prefix{}, fmt.Errorf("%.30q is not a prefix length: use the number of leading bits", length)
	case bits > uint64(addr.BitLen()):
		return netip.Prefix{}, fmt.Errorf("the prefix length %d is too long: use at most %d", bits, addr.BitLen())
	}
	return netip.PrefixFrom(addr, int(bits)), nil
}

func normalisePrefix(prefix netip.Prefix) (netip.Prefix, error) {
	switch addr := prefix.Addr(); {
	case !prefix.IsValid():
		return netip.Prefix{}, errors.New("it is not valid: make it with netip.ParsePrefix")
	case !addr.Is4In6():
		return prefix.Masked(), nil
	case prefix.Bits() < 96:
		return netip.Prefix{}, fmt.Errorf("an IPv4-mapped network has a length of at least 96: write it as an IPv4 network, such as %v/%d",
			addr.Unmap(), min(prefix.Bits(), 32))
	default:
		return netip.PrefixFrom(addr.Unmap(), prefix.Bits()-96).Masked(), nil
	}
}

// narrowest says, for parts of the address space, how long a prefix has to be
// at least not to take in strangers. The first part that holds a prefix
// decides.
var narrowest = [...]struct {
	part netip.Prefix
	bits int
}{
	{netip.MustParsePrefix("0.0.0.0/0"), 8},
	// Addresses of a network's own, which nobody has outside it.
	{netip.MustParsePrefix("fc00::/7"), 7},
	{netip.MustParsePrefix("fe80::/10"), 10},
	// All of IPv4 again, behind a translator and in 6to4.
	{nat64, 96 + 8},
	{netip.MustParsePrefix("2002::/16"), 16 + 8},
	{netip.MustParsePrefix("::/0"), 16},
}

// TooWide reports whether a trusted network is so wide that it must take in
// strangers, who could then make up client addresses: an IPv4 network shorter
// than /8 or an IPv6 network shorter than /16, such as 0.0.0.0/0 and ::/0.
// Networks of private IPv6 addresses (fc00::/7, fe80::/10) are not too wide,
// those that stand for a wide IPv4 network (64:ff9b::/96, 2002::/16) are.
// A prefix that is not valid is not too wide: [New] refuses it.
func TooWide(prefix netip.Prefix) bool {
	prefix, err := normalisePrefix(prefix)
	if err != nil {
		return false
	}
	for _, n := range narrowest {
		if n.part.Overlaps(prefix) {
			return prefix.Bits() < n.bits
		}
	}
	return false
}

// set is a set of networks, sorted and apart from each other.
type set struct{ prefixes []netip.Prefix }

func newSet(prefixes []netip.Prefix) (set, error) {
	sorted := make([]netip.Prefix, len(prefixes))
	for i, prefix := range prefixes {
		normal, err := normalisePrefix(prefix)
		if err != nil {
			return set{}, fmt.Errorf("network %d, %v: %w", i+1, prefix, err)
		}
		sorted[i] = normal
	}
	// The shorter of two networks with one address comes first, and a network
	// within another right after it.
	slices.SortFunc(sorted, netip.Prefix.Compare)
	apart := sorted[:0]
	for _, prefix := range sorted {
		if len(apart) == 0 || !apart[len(apart)-1].Overlaps(prefix) {
			apart = append(apart, prefix)
		}
	}
	return set{apart}, nil
}

func (s set) empty() bool { return len(s.prefixes) == 0 }

// contains reports whether a canonical address is in one of the networks.
func (s set) contains(addr netip.Addr) bool {
	i, found := slices.BinarySearchFunc(s.prefixes, addr, func(prefix netip.Prefix, addr netip.Addr) int {
		return prefix.Addr().Compare(addr)
	})
	return found || i > 0 && s.prefixes[i-1].Contains(addr)
}
