package ratelimit

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/go-floodgate/floodgate/core/internal/clientip"
)

// Exemption says which requests are not limited. See [Exempt] for the whole
// limiter and Policy.Exempt for one policy.
type Exemption struct {
	covers func(*Request) bool
	err    error
}

// ExemptIPs exempts clients in these networks ("10.0.0.0/8", "192.0.2.7"). The
// client's address is found as [TrustProxies] says; nobody is exempt because
// of a header that no trusted proxy sent.
func ExemptIPs(prefixes ...string) Exemption {
	parsed, err := clientip.ParseClients(prefixes...)
	if err == nil && len(parsed) == 0 {
		err = errors.New("no network given")
	}
	if err != nil {
		return Exemption{err: fmt.Errorf("ratelimit: ExemptIPs: %w", err)}
	}
	return Exemption{covers: func(r *Request) bool { return contains(parsed, r.ClientIP()) }}
}

func contains(prefixes []netip.Prefix, addr netip.Addr) bool {
	for _, prefix := range prefixes {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

// ExemptUsers exempts users with these ids.
func ExemptUsers(ids ...string) Exemption {
	exempt := make(map[string]struct{}, len(ids))
	for _, id := range ids {
		if id == "" {
			return Exemption{err: errors.New("ratelimit: ExemptUsers: an empty id would exempt every request without a user: leave it out")}
		}
		exempt[id] = struct{}{}
	}
	return Exemption{covers: func(r *Request) bool {
		_, ok := exempt[r.User()]
		return ok
	}}
}

// ExemptIf exempts requests for which f returns true.
func ExemptIf(f func(*Request) bool) Exemption {
	if f == nil {
		return Exemption{err: errors.New("ratelimit: ExemptIf has no function")}
	}
	return Exemption{covers: f}
}

func exempt(exemptions []Exemption, r *Request) bool {
	for i := range exemptions {
		if exemptions[i].covers != nil && exemptions[i].covers(r) {
			return true
		}
	}
	return false
}
