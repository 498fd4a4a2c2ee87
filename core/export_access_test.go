package ratelimit

import "net/netip"

// HoldAtMost gives a list another bound than MaxAccessEntries.
func (l *AccessList) HoldAtMost(n int) { l.most = n }

// Stored is how many entries l keeps, those that have ended included.
func (l *AccessList) Stored() int { return int(l.keys.size.Load() + l.networks.size.Load()) }

// Lengths is how many prefix lengths are looked for.
func (l *AccessList) Lengths() (n int) {
	for _, count := range &l.lengths.counts {
		if count > 0 {
			n++
		}
	}
	for i := range l.lengths.shown {
		for word := l.lengths.shown[i].Load(); word != 0; word &= word - 1 {
			n--
		}
	}
	if n != 0 {
		return -1 // what is shown is not what there is
	}
	for _, count := range &l.lengths.counts {
		if count > 0 {
			n++
		}
	}
	return n
}

// HasAddr and HasKey are what a request is looked up by.
func (l *AccessList) HasAddr(addr netip.Addr) bool { return l.hasAddr(addr) }

// HasKey looks for a partition.
func (l *AccessList) HasKey(key []byte) bool { return hasKey(&l.keys, key) }
