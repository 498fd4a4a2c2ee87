package ratelimit

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/netip"
	"strings"
	"sync"
)

// Pseudonyms stand for partitions where the keys themselves must not be seen,
// in logs and on debug pages. A pseudonym is made of what is no secret, the
// kinds of a key's parts, routes, methods and endpoints, and the network of an
// address (IPv4 /24, IPv6 /48), and of a keyed hash (HMAC-SHA-256 of 72 bits) of
// the whole key, by which one key can be told from another:
//
//	ip:192.0.2.0/24~Vx0Zk3p5uQbS
//	user|route:/search~9dQ4c1xqTz_A
//
// The zero Pseudonyms has a random secret of its own, so that they are the same
// as long as the process runs. It must not be copied after its first use, and is
// safe for concurrent use.
type Pseudonyms struct {
	// Secret makes pseudonyms the same in several processes. It has at least 16
	// bytes; nobody who sees the pseudonyms may know it.
	Secret []byte

	once   sync.Once
	secret []byte
}

// The networks that are shown of addresses.
const (
	shownIPv4Bits = 24
	shownIPv6Bits = 48
)

const minSecret = 16

func (p *Pseudonyms) validate() error {
	if p != nil && len(p.Secret) > 0 && len(p.Secret) < minSecret {
		return fmt.Errorf("Pseudonyms.Secret has %d bytes: use at least %d random ones, or none", len(p.Secret), minSecret)
	}
	return nil
}

// Of returns the pseudonym of a partition.
func (p *Pseudonyms) Of(key Partition) string {
	p.once.Do(func() {
		if p.secret = p.Secret; len(p.secret) == 0 {
			p.secret = make([]byte, sha256.Size)
			_, _ = rand.Read(p.secret) // it never fails
		}
	})
	hash := hmac.New(sha256.New, p.secret)
	_, _ = hash.Write([]byte(key)) // nor does this
	var shown []byte
	for part := range strings.SplitSeq(string(key), joiner) {
		if len(shown) > 0 {
			shown = append(shown, joiner...)
		}
		shown = appendShown(shown, part)
	}
	shown = append(shown, '~')
	return string(base64.RawURLEncoding.AppendEncode(shown, hash.Sum(nil)[:9]))
}

// appendShown appends what may be seen of a part.
func appendShown(dst []byte, part string) []byte {
	end := strings.IndexAny(part, ":#")
	if end < 0 {
		return dst // not made by this package
	}
	switch kind, value := part[:end], part[end+1:]; kind {
	case kindIP, kindAnonIP:
		return appendNetwork(append(dst, kind...), value)
	case kindRoute, kindMethod, kindEndpoint:
		return append(dst, part...)
	case kindUser, kindAccount, kindNamed:
		return append(dst, kind...)
	default: // one with a name, or what may be anything
		name, _, named := strings.Cut(kind, "(")
		if strings.HasPrefix(kind, kindFunc) || named && (name == kindHeader || name == kindCookie) {
			return append(dst, kind...)
		}
		return dst
	}
}

// appendNetwork appends the network that may be seen of an address or network.
func appendNetwork(dst []byte, text string) []byte {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return dst
		}
		prefix = netip.PrefixFrom(addr, addr.BitLen())
	}
	bits := shownIPv6Bits
	if prefix.Addr().Is4() {
		bits = shownIPv4Bits
	}
	if prefix, err = prefix.Addr().Prefix(min(bits, prefix.Bits())); err != nil {
		return dst
	}
	return prefix.AppendTo(append(dst, ':'))
}
