package ratelimit

import (
	"crypto/sha256"
	"encoding/base64"
	"net/netip"
	"strconv"
	"strings"

	"github.com/go-floodgate/floodgate/core/internal/clientip"
)

// Partition is an encoded partition key: whose quota is used within a policy.
// It is typed by kind ("ip:192.0.2.1", "user:alice"), so that a user who calls
// himself 192.0.2.1 has nothing to do with that address; its parts are escaped,
// so that they cannot run together; it is printable and bounded in length.
//
// Make one with [UserKey], [IPKey], [NamedKey] and their like, which encode
// whatever they are given. A plain string converted to Partition is taken as
// already encoded: do so with constants, never with what a client sent.
type Partition string

// The default lengths of the networks that addresses are counted by: a single
// IPv4 address, and the /64 that is the least an IPv6 client is given.
const (
	defaultIPv4Bits = 32
	defaultIPv6Bits = 64
)

// maxPartitionPart is the longest part kept as it is; a longer one is hashed.
const maxPartitionPart = 128

// UserKey is the partition of [ByUser] for a user with this id.
func UserKey(id string) Partition { return textPartition(kindUser, id) }

// AccountKey is the partition of [ByAccount] for an account name; it is
// trimmed and lower-cased as [ByAccount] does.
func AccountKey(name string) Partition { return textPartition(kindAccount, normaliseAccount(name)) }

// IPKey is the partition of [ByIP] for an address, under the default prefix
// lengths (IPv4 /32, IPv6 /64). An IPv4-mapped IPv6 address is its IPv4
// address and zones are dropped.
func IPKey(addr netip.Addr) Partition {
	return Partition(appendIP(nil, kindIP, addr, defaultIPv4Bits, defaultIPv6Bits))
}

// HeaderKey is the partition of [ByHeader] for a value of the named header.
// Only a hash of the value is kept: it may be a secret.
func HeaderKey(header, value string) Partition {
	return Partition(appendSecret(nil, kindHeader, strings.ToLower(header), value))
}

// NamedKey is a partition of your own, for what is no user and no address: a
// job, a tenant, a queue.
func NamedKey(name string) Partition { return textPartition(kindNamed, name) }

// JoinKeys is the partition of [Combine] for these parts.
func JoinKeys(parts ...Partition) Partition {
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i] = string(part)
	}
	return Partition(strings.Join(texts, joiner))
}

// The kinds of partition. Each is followed by ':' and an escaped value, or by
// '#' and a hash.
const (
	kindIP      = "ip"
	kindUser    = "user"
	kindAnonIP  = "anon-ip"
	kindAccount = "account"
	kindHeader  = "header"
	kindCookie  = "cookie"
	kindRoute   = "route"
	kindMethod  = "method"
	kindNamed   = "key"
	kindFunc    = "func-" // and the kind's own name
	// kindEndpoint is which entry of a policy's Endpoints, behind whose quota.
	kindEndpoint = "endpoint"
	// joiner separates the parts of a combined key; [appendEscaped] never
	// leaves one in a value.
	joiner = "|"
)

func textPartition(kind, value string) Partition {
	return Partition(appendText(nil, kind, value))
}

// appendText appends kind and value: in clear if the value is short, as a
// hash otherwise.
func appendText(dst []byte, kind, value string) []byte {
	dst = append(dst, kind...)
	if len(value) > maxPartitionPart {
		return appendHash(append(dst, '#'), value)
	}
	return appendEscaped(append(dst, ':'), value)
}

// appendSecret appends kind, name and a hash of the value, never the value.
func appendSecret(dst []byte, kind, name, value string) []byte {
	dst = append(dst, kind...)
	dst = append(dst, '(')
	dst = appendEscaped(dst, name)
	return appendHash(append(dst, ")#"...), value)
}

// appendHash appends 128 bits of SHA-256, enough that nobody finds two values
// with one hash.
func appendHash(dst []byte, value string) []byte {
	sum := sha256.Sum256([]byte(value))
	return base64.RawURLEncoding.AppendEncode(dst, sum[:16])
}

// appendEscaped appends value with every byte percent-encoded that is not
// printable ASCII or has a meaning in a partition or a Redis Cluster key.
func appendEscaped(dst []byte, value string) []byte {
	const hex = "0123456789ABCDEF"
	for i := range len(value) {
		c := value[i]
		if plainByte[c] {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', hex[c>>4], hex[c&15])
		}
	}
	return dst
}

var plainByte = func() (plain [256]bool) {
	for c := '!'; c <= '~'; c++ {
		plain[c] = !strings.ContainsRune("%|(){}#", c)
	}
	return plain
}()

// appendIP appends the address's network: its canonical form with the host part
// cut off.
func appendIP(dst []byte, kind string, addr netip.Addr, bits4, bits6 int) []byte {
	dst = append(append(dst, kind...), ':')
	if !addr.IsValid() {
		return append(dst, "unknown"...)
	}
	addr = clientip.Normalise(addr)
	if addr.Is4() && bits4 == 32 {
		return addr.AppendTo(dst)
	}
	bits := bits6
	if addr.Is4() {
		bits = bits4
	}
	if bits != addr.BitLen() {
		if prefix, err := addr.Prefix(bits); err == nil {
			addr = prefix.Addr()
		}
	}
	dst = addr.AppendTo(dst)
	if bits != addr.BitLen() {
		dst = strconv.AppendInt(append(dst, '/'), int64(bits), 10)
	}
	return dst
}

// normaliseAccount folds the spellings of one account name that applications
// commonly take for the same: surrounding space and letter case.
func normaliseAccount(name string) string {
	return strings.ToLower(strings.TrimSpace(name))
}
