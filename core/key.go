package ratelimit

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-floodgate/floodgate/core/internal/clientip"
)

// KeyBuilder says whose quota a request uses: it builds the partition key of
// a request. The zero KeyBuilder is [ByIP].
//
// A request that lacks what the key is made of (no user, no such header) is
// counted under its client IP, typed apart from [ByIP]; it is never let
// through uncounted.
type KeyBuilder struct {
	parts []keyPart
	// choose takes the first part that the request has instead of all.
	choose bool
	// address is whether it is that of ByIP alone.
	address bool
	err     error
}

// keyPart is one typed part of a key.
type keyPart struct {
	// own appends the part's value and reports whether the request has it;
	// without it dst is returned as it was.
	own func(dst []byte, r *Request) ([]byte, bool)
	// absent says what a request without the value is counted under.
	absent absence
	// nested, if set, stands in place of own.
	nested *KeyBuilder
	// needs says what the part can't do without.
	needs needs
}

// needs are what a key, or a part of it, has to be told.
type needs uint8

const (
	needsRoute needs = 1 << iota
	needsAccount
	needsUser
)

type absence uint8

const (
	// absentIP counts under the client IP, typed apart.
	absentIP absence = iota
	// absentShared counts all such requests together.
	absentShared
	// absentLeaveOut leaves the policy out.
	absentLeaveOut
)

func keyOf(part keyPart) KeyBuilder { return KeyBuilder{parts: []keyPart{part}} }

// ByIP is the client's address: a single IPv4 address, or an IPv6 /64; see
// [TrustProxies] and [IPPrefixes].
func ByIP() KeyBuilder {
	k := keyOf(keyPart{own: func(dst []byte, r *Request) ([]byte, bool) {
		return r.appendClientIP(dst, kindIP), true
	}})
	k.address = true
	return k
}

// ByUser is the user that the adapter's Config tells; without one it is the
// client's address, typed apart from [ByIP].
func ByUser() KeyBuilder { return byUser(absentIP) }

// ByUserOnly is [ByUser], but the policy is left out for a request without a
// user.
func ByUserOnly() KeyBuilder { return byUser(absentLeaveOut) }

func byUser(absent absence) KeyBuilder {
	return keyOf(keyPart{absent: absent, needs: needsUser, own: func(dst []byte, r *Request) ([]byte, bool) {
		if user := r.User(); user != "" {
			return appendText(dst, kindUser, user), true
		}
		return dst, false
	}})
}

// ByAccount is the account a request is about, such as the name in a login
// form, as the adapter's Config tells it. All requests without a readable one
// share a bucket, so that hiding the name frees nobody.
func ByAccount() KeyBuilder {
	return keyOf(keyPart{absent: absentShared, needs: needsAccount, own: func(dst []byte, r *Request) ([]byte, bool) {
		if account := r.Account(); account != "" {
			return appendText(dst, kindAccount, account), true
		}
		return dst, false
	}})
}

// ByHeader is the value of a request field, such as an API key: its first
// line. Only a hash of it is kept. Anyone can send any value, so that a client
// may take a new quota with each request; combine it with a limit [ByIP], or
// check the value first and use [ByUser].
func ByHeader(name string) KeyBuilder {
	if name == "" {
		return KeyBuilder{err: fmt.Errorf("ratelimit: ByHeader needs the name of a header, such as %q", "X-API-Key")}
	}
	lower := strings.ToLower(name)
	return keyOf(keyPart{own: func(dst []byte, r *Request) ([]byte, bool) {
		if value := r.Header(name); value != "" {
			return appendSecret(dst, kindHeader, lower, value), true
		}
		return dst, false
	}})
}

// ByCookie is the value of a cookie. Only a hash of it is kept. What is said
// of [ByHeader] holds here as well.
func ByCookie(name string) KeyBuilder {
	if name == "" {
		return KeyBuilder{err: fmt.Errorf("ratelimit: ByCookie needs the name of a cookie, such as %q", "session")}
	}
	return keyOf(keyPart{own: func(dst []byte, r *Request) ([]byte, bool) {
		if value := r.Cookie(name); value != "" {
			return appendSecret(dst, kindCookie, name, value), true
		}
		return dst, false
	}})
}

// ByRoute is the pattern of the matched route ("/users/{id}"), never the raw
// path: a different spelling of a path is no fresh quota. Requests that match
// no route are counted together.
func ByRoute() KeyBuilder {
	return keyOf(keyPart{needs: needsRoute, own: func(dst []byte, r *Request) ([]byte, bool) {
		return appendText(dst, kindRoute, r.Route()), true
	}})
}

// ByMethod is the request's method; HEAD is GET.
func ByMethod() KeyBuilder {
	return keyOf(keyPart{own: func(dst []byte, r *Request) ([]byte, bool) {
		return appendText(dst, kindMethod, r.Method()), true
	}})
}

// ByConstant is the same for every request: all clients share one quota.
func ByConstant(name string) KeyBuilder {
	partition := NamedKey(name)
	return keyOf(keyPart{own: func(dst []byte, _ *Request) ([]byte, bool) {
		return append(dst, partition...), true
	}})
}

// ByFunc is what f says of a request, under a kind of your own (lower-case
// letters, digits and '_'), such as "tenant". An empty answer means that the
// request has none. f may use the Request only until it returns.
func ByFunc(kind string, f func(*Request) string) KeyBuilder {
	switch {
	case f == nil:
		return KeyBuilder{err: fmt.Errorf("ratelimit: ByFunc(%q) has no function", kind)}
	case kind == "" || strings.Trim(kind, "abcdefghijklmnopqrstuvwxyz0123456789_") != "":
		return KeyBuilder{err: fmt.Errorf("ratelimit: ByFunc's kind %q is not made of lower-case letters, digits and '_'", kind)}
	}
	kind = kindFunc + kind
	return keyOf(keyPart{own: func(dst []byte, r *Request) ([]byte, bool) {
		if value := f(r); value != "" {
			return appendText(dst, kind, value), true
		}
		return dst, false
	}})
}

// ByPartition is what f says of a request, already encoded, such as [UserKey];
// an empty answer means that the request has none. f may use the Request only
// until it returns.
func ByPartition(f func(*Request) Partition) KeyBuilder {
	if f == nil {
		return KeyBuilder{err: errors.New("ratelimit: ByPartition has no function")}
	}
	return keyOf(keyPart{own: func(dst []byte, r *Request) ([]byte, bool) {
		partition := f(r)
		return append(dst, partition...), partition != ""
	}})
}

// Combine is all of these together: Combine(ByUser(), ByRoute()) gives each
// user a quota per route. If one of them leaves the policy out, so does the
// combination.
func Combine(keys ...KeyBuilder) KeyBuilder { return group("Combine", false, keys) }

// FirstOf is the first of these that the request has: FirstOf(ByHeader("X-API-Key"),
// ByUser(), ByIP()). If it has none of them, the last one says what to do.
func FirstOf(keys ...KeyBuilder) KeyBuilder { return group("FirstOf", true, keys) }

func group(name string, choose bool, keys []KeyBuilder) KeyBuilder {
	if len(keys) == 0 {
		return KeyBuilder{err: fmt.Errorf("ratelimit: %s needs at least one key, such as ratelimit.ByIP()", name)}
	}
	k := KeyBuilder{choose: choose}
	for _, key := range keys {
		if key.err != nil {
			return key
		}
		key = key.orDefault()
		if len(key.parts) == 1 {
			k.parts = append(k.parts, key.parts[0])
		} else {
			k.parts = append(k.parts, keyPart{nested: &key})
		}
	}
	return k
}

func (k KeyBuilder) orDefault() KeyBuilder {
	if len(k.parts) == 0 && k.err == nil {
		return ByIP()
	}
	return k
}

// append appends the request's partition; ok is false if the policy is to be
// left out, dst then holds what it held.
func (k *KeyBuilder) append(dst []byte, r *Request) (_ []byte, ok bool) {
	switch {
	case k.address:
		return r.appendClientIP(dst, kindIP), true
	case k.choose:
		return k.appendFirst(dst, r)
	}
	start := len(dst)
	for i := range k.parts {
		if i > 0 {
			dst = append(dst, joiner...)
		}
		if dst, ok = k.parts[i].append(dst, r); !ok {
			return dst[:start], false
		}
	}
	return dst, true
}

func (k *KeyBuilder) appendFirst(dst []byte, r *Request) ([]byte, bool) {
	for i := range k.parts {
		if found, ok := k.parts[i].appendOwn(dst, r); ok {
			return found, true
		}
	}
	return k.parts[len(k.parts)-1].append(dst, r)
}

// appendOwn appends the part only if the request has all it is made of.
func (p *keyPart) appendOwn(dst []byte, r *Request) ([]byte, bool) {
	if p.nested == nil {
		return p.own(dst, r)
	}
	start := len(dst)
	for i := range p.nested.parts {
		part := &p.nested.parts[i]
		found, ok := part.appendOwn(dst, r)
		if p.nested.choose {
			if ok {
				return found, true
			}
			continue
		}
		if !ok {
			return dst[:start], false
		}
		dst = found
		if i < len(p.nested.parts)-1 {
			dst = append(dst, joiner...)
		}
	}
	return dst, !p.nested.choose
}

// append appends the part, or what stands for it if the request has none.
func (p *keyPart) append(dst []byte, r *Request) ([]byte, bool) {
	if p.nested != nil {
		return p.nested.append(dst, r)
	}
	if dst, ok := p.own(dst, r); ok {
		return dst, true
	}
	switch p.absent {
	case absentShared:
		return append(dst, "none:"...), true
	case absentLeaveOut:
		return dst, false
	default:
		return r.appendClientIP(dst, kindAnonIP), true
	}
}

// needs is what the parts of the key need together.
func (k *KeyBuilder) needs() (all needs) {
	for i := range k.parts {
		part := &k.parts[i]
		all |= part.needs
		if part.nested != nil {
			all |= part.nested.needs()
		}
	}
	return all
}

func (r *Request) appendClientIP(dst []byte, kind string) []byte {
	l := r.limiter
	if r.has&hasIP == 0 {
		looks := l.clientIPs.Looks(r.turn)
		if !looks && l.ipv4Bits == 32 {
			// As most peers are: its text is what appendIP would make of it.
			if host, ok := clientip.IPv4(r.source.RemoteAddr()); ok {
				return append(append(append(dst, kind...), ':'), host...)
			}
		}
		r.ip = l.resolveClientIP(r.source, looks)
		r.has |= hasIP
	}
	return appendIP(dst, kind, r.ip, l.ipv4Bits, l.ipv6Bits)
}
