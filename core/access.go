package ratelimit

import (
	"errors"
	"net/netip"
	"strings"
)

// DenyList refuses whom any of these lists names: with 403, before anything is
// charged, and without a word of why or until when. It comes before everything
// that lets a request pass: allow lists and exemptions. In a limiter that is in
// shadow as a whole ([Shadow]) the request passes, uncharged, and observers see
// the reason. CORS preflights and what the adapter's Config skips are not looked
// up.
//
// Without HTTP a key is refused that is on a list, and that of an address
// ([IPKey]) in a listed network.
func DenyList(lists ...*AccessList) Option {
	return accessOption("DenyList", lists, func(a *access) *[]*AccessList { return &a.deny })
}

// AllowList exempts whom any of these lists names, as [Exempt] does: they are
// neither charged nor do they get rate-limit headers.
func AllowList(lists ...*AccessList) Option {
	return accessOption("AllowList", lists, func(a *access) *[]*AccessList { return &a.allow })
}

func accessOption(name string, lists []*AccessList, which func(*access) *[]*AccessList) Option {
	return optionFunc(func(c *config) error {
		if len(lists) == 0 {
			return errors.New(name + ": no list is given: make one with new(ratelimit.AccessList)")
		}
		for _, list := range lists {
			if list == nil {
				return errors.New(name + ": a list is nil: make one with new(ratelimit.AccessList)")
			}
		}
		if c.limiter.access == nil {
			c.limiter.access = new(access)
		}
		all := which(c.limiter.access)
		*all = append(*all, lists...)
		return nil
	})
}

// access is the lists of a limiter, nil if it has none.
type access struct {
	deny, allow []*AccessList
	// shadow is whether nobody is refused.
	shadow bool
}

// verdict is what lists say of a request; the higher one counts.
type verdict uint8

const (
	unlisted verdict = iota
	allowed
	denied
)

// ofClient looks for the client of a request, by network, by the partition of
// its address and by its user.
func (a *access) ofClient(r *Request) verdict {
	switch {
	case a == nil:
		return unlisted
	case namesClient(a.deny, r):
		return denied
	case namesClient(a.allow, r):
		return allowed
	}
	return unlisted
}

// partitionRoom is enough for the usual partition.
const partitionRoom = 96

func namesClient(lists []*AccessList, r *Request) bool {
	for _, list := range lists {
		if !list.networks.empty() && list.hasAddr(r.ClientIP()) {
			return true
		}
		if list.keys.empty() {
			continue
		}
		var room [partitionRoom]byte
		if hasKey(&list.keys, r.appendClientIP(room[:0], kindIP)) {
			return true
		}
		if user := r.User(); user != "" && hasKey(&list.keys, appendText(room[:0], kindUser, user)) {
			return true
		}
	}
	return false
}

// ofKey looks for a partition, which a policy's endpoint may have lengthened by
// part.
func (a *access) ofKey(key []byte, part string) verdict {
	switch {
	case a == nil:
		return unlisted
	case namesKey(a.deny, key, part):
		return denied
	case namesKey(a.allow, key, part):
		return allowed
	}
	return unlisted
}

func namesKey(lists []*AccessList, key []byte, part string) bool {
	for _, list := range lists {
		if list.keys.empty() {
			continue
		}
		if hasKey(&list.keys, key) {
			return true
		}
		if part == "" {
			continue
		}
		var room [2 * partitionRoom]byte
		if hasKey(&list.keys, append(append(room[:0], key...), part...)) {
			return true
		}
	}
	return false
}

// ofPartition looks for a key without HTTP.
func (a *access) ofPartition(key Partition) verdict {
	if a == nil {
		return unlisted
	}
	prefix := prefixOf(key)
	for _, list := range a.deny {
		if list.hasPrefix(prefix) {
			return denied
		}
	}
	var room [2 * partitionRoom]byte
	v := a.ofKey(append(room[:0], key...), "")
	for _, list := range a.allow {
		if list.hasPrefix(prefix) {
			v = max(v, allowed)
		}
	}
	return v
}

// prefixOf is the network that a partition of [IPKey] stands for; the zero
// Prefix if it is another's.
func prefixOf(key Partition) netip.Prefix {
	text, ok := strings.CutPrefix(string(key), kindIP+":")
	if !ok {
		return netip.Prefix{}
	}
	if prefix, err := netip.ParsePrefix(text); err == nil {
		return prefix
	}
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(addr, addr.BitLen())
}

// apply makes the decision on what is listed. It reports whether there is
// anything to decide.
func (a *access) apply(v verdict, d *Decision) bool {
	switch v {
	case denied:
		d.Reason, d.Allowed = ReasonDenyListed, a.shadow
		if !d.Allowed {
			d.RetryAfter = Never
		}
	case allowed:
		d.Reason, d.Allowed = ReasonExempt, true
	default:
		return false
	}
	return true
}
