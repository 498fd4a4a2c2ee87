package ratelimit

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-floodgate/floodgate/core/internal/clientip"
)

// AccessList is a set of clients, given to limiters as [DenyList] or
// [AllowList] and changed while they run. One list may belong to any number of
// limiters. The zero AccessList is an empty one; it must not be copied after its
// first use.
//
// It is safe for concurrent use. A request is looked up without a lock, in a time
// that does not depend on how many entries there are. A change copies a 256th
// part of the list for each entry, so make many in one call.
//
// A list holds at most [MaxAccessEntries]. Entries that have ended match nobody,
// and are removed little by little as others are added.
type AccessList struct {
	mu       sync.Mutex // of who changes it
	keys     accessTable[Partition]
	networks accessTable[network]
	lengths  networkLengths
	swept    int // the next shard to look through for entries that have ended
	most     int // what tests have instead of MaxAccessEntries
}

// MaxAccessEntries is how many entries an [AccessList] holds at most.
const MaxAccessEntries = 1 << 20

// AccessEntry is an entry of an [AccessList]: a network or a key, not both.
type AccessEntry struct {
	// Network is a network or an address ("203.0.113.0/24", "192.0.2.7"). The
	// client's address, found as [TrustProxies] says, is in it or not.
	Network string
	// Key is a partition, such as [UserKey] makes. A request has it if it is its
	// user's, or its client address's as [ByIP] counts by it, or the one that
	// it is counted by in a policy that applies to it. Everybody who shares the
	// key shares what the list says of it: never put one on a list that others
	// can be counted by against their will, such as an account's or a route's.
	Key Partition
	// Until is when the entry ends; the zero Time is never.
	Until time.Time
}

// ErrListFull is the error of adding more to an [AccessList] than it holds.
var ErrListFull = errors.New("ratelimit: the access list is full: remove entries, or list networks instead of addresses")

// Add adds entries, all or, on an error, none. One that is there already ends at
// the later of the two times; remove it first to end it sooner. One that has
// ended is left out. Requests that begin after Add has returned are decided by
// it.
func (l *AccessList) Add(entries ...AccessEntry) error {
	return l.change(entries, false)
}

// Replace makes these all the entries there are. One that was there before and
// is among them is there at every moment between. On an error nothing changes.
func (l *AccessList) Replace(entries ...AccessEntry) error {
	return l.change(entries, true)
}

// Remove removes what has the Network or the Key of one of these entries,
// whatever its Until, and returns how many there were.
func (l *AccessList) Remove(entries ...AccessEntry) (removed int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.edit(time.Now().UnixMicro())
	for i := range entries {
		networks, err := entries[i].parse()
		switch {
		case err != nil:
		case entries[i].Key != "":
			removed += e.keys.remove(entries[i].Key)
		default:
			removed += e.networks.remove(networks)
		}
	}
	e.publish()
	return removed
}

// Len returns how many entries there are that have not ended.
func (l *AccessList) Len() int {
	now := time.Now().UnixMicro()
	return l.keys.live(now, nil) + l.networks.live(now, nil)
}

// All returns the entries that have not ended: networks first, each in one
// spelling, sorted.
func (l *AccessList) All() []AccessEntry {
	now := time.Now().UnixMicro()
	var networks, keys []AccessEntry
	l.networks.live(now, func(n network, until int64) {
		networks = append(networks, AccessEntry{Network: n.String(), Until: timeOf(until)})
	})
	l.keys.live(now, func(key Partition, until int64) {
		keys = append(keys, AccessEntry{Key: key, Until: timeOf(until)})
	})
	slices.SortFunc(networks, func(a, b AccessEntry) int { return cmp.Compare(a.Network, b.Network) })
	slices.SortFunc(keys, func(a, b AccessEntry) int { return cmp.Compare(a.Key, b.Key) })
	return append(networks, keys...)
}

// parse checks the entry and reads its network.
func (e *AccessEntry) parse() (network, error) {
	switch {
	case e.Network == "" && e.Key == "":
		return network{}, errors.New("ratelimit: an access entry has neither Network nor Key: set one of them")
	case e.Network != "" && e.Key != "":
		return network{}, fmt.Errorf("ratelimit: an access entry has both Network %.60q and Key: make two of it", e.Network)
	case e.Key != "":
		return network{}, nil
	}
	prefixes, err := clientip.ParseClients(e.Network)
	if err == nil && len(prefixes) != 1 {
		err = fmt.Errorf("%.60q is not one network: make an entry of each", e.Network)
	}
	if err != nil {
		return network{}, fmt.Errorf("ratelimit: AccessEntry.Network: %w", err)
	}
	return networkOf(prefixes[0]), nil
}

func (l *AccessList) change(entries []AccessEntry, anew bool) error {
	networks := make([]network, len(entries))
	for i := range entries {
		var err error
		if networks[i], err = entries[i].parse(); err != nil {
			return err
		}
	}
	now := time.Now().UnixMicro()
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.edit(now)
	if anew {
		e.keys.clear()
		e.networks.clear()
	} else {
		e.sweep(len(entries))
	}
	for i := range entries {
		until := untilOf(entries[i].Until)
		if until <= now {
			continue
		}
		if key := entries[i].Key; key != "" {
			e.keys.add(Partition(strings.Clone(string(key))), until)
		} else {
			e.networks.add(networks[i], until)
		}
	}
	if e.keys.size+e.networks.size > cmp.Or(l.most, MaxAccessEntries) {
		return ErrListFull
	}
	e.publish()
	return nil
}

// accessEdit is a change of a list on its way.
type accessEdit struct {
	list     *AccessList
	keys     tableEdit[Partition]
	networks tableEdit[network]
}

func (l *AccessList) edit(now int64) *accessEdit {
	return &accessEdit{list: l, keys: l.keys.edit(now, shardOfKey), networks: l.networks.edit(now, network.shard)}
}

// sweptShards is how many shards each change looks through for entries that
// have ended, at least.
const sweptShards = 4

// sweep drops what has ended from the next few shards.
func (e *accessEdit) sweep(adding int) {
	for range min(accessShards, max(sweptShards, adding)) {
		e.keys.sweep(e.list.swept)
		e.networks.sweep(e.list.swept)
		e.list.swept = (e.list.swept + 1) % accessShards
	}
}

// publish lets readers see the change. The lengths come first: who is to stay
// is found by them before and after.
func (e *accessEdit) publish() {
	e.list.lengths.count(&e.networks)
	e.list.lengths.show()
	e.networks.publish()
	e.keys.publish()
}
