package ratelimit

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
	"sync/atomic"
)

// network is a network in a form that a map finds fast: 128 bits, of which the
// first length count. An IPv4 network is the IPv4-mapped one, which no IPv6
// network in a list is.
type network struct {
	hi, lo uint64
	length uint8
}

// mappedBits is how many bits come before an IPv4 address in an IPv4-mapped
// one.
const mappedBits = 96

// networkOf is a network of prefixes in their normal form.
func networkOf(prefix netip.Prefix) network {
	length := prefix.Bits()
	if prefix.Addr().Is4() {
		length += mappedBits
	}
	addr := prefix.Addr().As16()
	return network{hi: binary.BigEndian.Uint64(addr[:8]), lo: binary.BigEndian.Uint64(addr[8:])}.within(length)
}

// within is the network of this length that n is in.
func (n network) within(length int) network {
	n.length = uint8(length)
	if length <= 64 {
		n.lo = 0
		n.hi &= ^uint64(0) << (64 - length)
	} else {
		n.lo &= ^uint64(0) << (128 - length)
	}
	return n
}

func (n network) String() string {
	var addr [16]byte
	binary.BigEndian.PutUint64(addr[:8], n.hi)
	binary.BigEndian.PutUint64(addr[8:], n.lo)
	ip, length := netip.AddrFrom16(addr), int(n.length)
	if ip.Is4In6() && length >= mappedBits {
		ip, length = ip.Unmap(), length-mappedBits
	}
	if length == ip.BitLen() {
		return ip.String()
	}
	return netip.PrefixFrom(ip, length).String()
}

// shard needs no seed: who is on a list is no stranger's choice.
func (n network) shard() int {
	const odd = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio
	hi, lo := bits.Mul64(n.hi^odd, n.lo^uint64(n.length)*odd)
	return int((hi ^ lo) % accessShards)
}

// networkLengths knows which prefix lengths are in a table, so that nobody
// looks for others.
type networkLengths struct {
	counts [129]int // of who changes the list
	shown  [3]atomic.Uint64
}

// count takes account of a change before it is published.
func (l *networkLengths) count(e *tableEdit[network]) {
	for i, shard := range &e.fresh {
		if shard == nil {
			continue
		}
		if old := e.table.shards[i].Load(); old != nil {
			for n := range *old {
				l.counts[n.length]--
			}
		}
		for n := range shard {
			l.counts[n.length]++
		}
	}
}

// show shows the lengths that there are now.
func (l *networkLengths) show() {
	var all [3]uint64
	for length, n := range &l.counts {
		if n > 0 {
			all[length/64] |= 1 << (length % 64)
		}
	}
	for i := range all {
		l.shown[i].Store(all[i])
	}
}

// hasNetwork reports whether a network that n is in, or n itself, is in the
// table; the shortest that can be meant is given.
func (l *AccessList) hasNetwork(n network, shortest int) bool {
	for word := int(n.length) / 64; word >= shortest/64; word-- {
		for shown := l.lengths.shown[word].Load(); shown != 0; {
			length := word*64 + 63 - bits.LeadingZeros64(shown)
			shown &^= 1 << (length % 64)
			if length > int(n.length) || length < shortest {
				continue
			}
			in := n.within(length)
			if shard := l.networks.shards[in.shard()].Load(); shard != nil {
				if until, listed := (*shard)[in]; listed && !ended(until) {
					return true
				}
			}
		}
	}
	return false
}

// hasAddr reports whether an address, in the form that clients are counted by,
// lies in a listed network.
func (l *AccessList) hasAddr(addr netip.Addr) bool {
	return addr.IsValid() && l.hasPrefix(netip.PrefixFrom(addr, addr.BitLen()))
}

// hasPrefix reports whether a prefix in its normal form lies in a listed
// network.
func (l *AccessList) hasPrefix(prefix netip.Prefix) bool {
	if l.networks.empty() || !prefix.IsValid() {
		return false
	}
	shortest := 0
	if prefix.Addr().Is4() {
		shortest = mappedBits
	}
	return l.hasNetwork(networkOf(prefix), shortest)
}
