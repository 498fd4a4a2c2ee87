// Package secondchance is a map that is bounded in size: an entry that comes
// when its part is full takes the place of one that has not been asked for
// lately. It has no goroutine and allocates nothing ahead.
package secondchance

import (
	"iter"
	"slices"
	"sync"
)

// Map holds entries in parts, each bounded by itself, so that what goes into
// one part never pushes anything out of another. A key is in one part at a
// time. A Map is safe for concurrent use.
//
// Its methods are given the key's hash, which must be one that strangers can't
// aim with (package hash/maphash).
type Map[K comparable, V any] struct {
	shards []shard[K, V]
}

type shard[K comparable, V any] struct {
	mu    sync.Mutex
	at    map[K]place
	parts []ring[K, V]
}

// place is where an entry is.
type place struct {
	part, slot int
}

// ring is one part's share of a shard. It grows to its size, then its hand
// goes round.
type ring[K comparable, V any] struct {
	slots []slot[K, V]
	size  int
	hand  int
}

type slot[K comparable, V any] struct {
	key   K
	value V
	// used is whether the entry was asked for since the hand was there.
	used bool
}

const (
	// maxShards keeps callers on several processors apart.
	maxShards = 64
	// minShard is the least that a part has in each of several shards: in
	// smaller ones chance would fill some much earlier than others.
	minShard = 64
	// maxLooks is how many entries are looked at, at most, to find one that may
	// go.
	maxLooks = 8
)

// New returns an empty Map with a part for each size; in all a part never has
// more entries than its size, which is at least 1.
func New[K comparable, V any](sizes ...int) *Map[K, V] {
	count := 1
	for count < maxShards && slices.Min(sizes)/(2*count) >= minShard {
		count *= 2
	}
	m := &Map[K, V]{shards: make([]shard[K, V], count)}
	for i := range m.shards {
		s := &m.shards[i]
		s.at = make(map[K]place)
		s.parts = make([]ring[K, V], len(sizes))
		for part, size := range sizes {
			s.parts[part].size = size / count
		}
	}
	return m
}

func (m *Map[K, V]) shard(hash uint64) *shard[K, V] {
	return &m.shards[hash&uint64(len(m.shards)-1)]
}

// Get returns the value of key, and gives it another round.
func (m *Map[K, V]) Get(hash uint64, key K) (value V, ok bool) {
	s := m.shard(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.at[key]
	if !ok {
		return value, false
	}
	return s.use(at), true
}

// Lookup is [Map.Get] for a key that is not a string yet.
func Lookup[V any](m *Map[string, V], hash uint64, key []byte) (value V, ok bool) {
	s := m.shard(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.at[string(key)]
	if !ok {
		return value, false
	}
	return s.use(at), true
}

func (s *shard[K, V]) use(at place) V {
	entry := &s.parts[at.part].slots[at.slot]
	entry.used = true
	return entry.value
}

// Put sets the value of key, in this part, and takes it out of the one it was
// in.
func (m *Map[K, V]) Put(hash uint64, key K, value V, part int) {
	s := m.shard(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.at[key]; ok {
		if at.part == part {
			s.parts[part].slots[at.slot].value = value
			return
		}
		s.remove(at)
	}
	r := &s.parts[part]
	place := place{part: part, slot: len(r.slots)}
	if len(r.slots) < r.size {
		r.slots = append(r.slots, slot[K, V]{key: key, value: value})
	} else {
		place.slot = r.free()
		delete(s.at, r.slots[place.slot].key)
		r.slots[place.slot] = slot[K, V]{key: key, value: value}
	}
	s.at[key] = place
}

// free moves the hand on to an entry that may go: one that was not used since
// it was last there, or the last of maxLooks.
func (r *ring[K, V]) free() int {
	for look := 1; ; look++ {
		r.hand++
		if r.hand >= len(r.slots) {
			r.hand = 0
		}
		entry := &r.slots[r.hand]
		if !entry.used || look == maxLooks {
			return r.hand
		}
		entry.used = false
	}
}

// remove closes the gap with the part's last entry.
func (s *shard[K, V]) remove(at place) {
	r := &s.parts[at.part]
	delete(s.at, r.slots[at.slot].key)
	last := len(r.slots) - 1
	if at.slot != last {
		r.slots[at.slot] = r.slots[last]
		s.at[r.slots[at.slot].key] = at
	}
	r.slots[last] = slot[K, V]{}
	r.slots = r.slots[:last]
}

// Len returns how many entries a part has.
func (m *Map[K, V]) Len(part int) int {
	n := 0
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		n += len(s.parts[part].slots)
		s.mu.Unlock()
	}
	return n
}

// Values goes over all values, shard by shard. None is locked while the
// caller has one.
func (m *Map[K, V]) Values() iter.Seq[V] {
	return func(yield func(V) bool) {
		for i := range m.shards {
			for _, value := range m.shards[i].values() {
				if !yield(value) {
					return
				}
			}
		}
	}
}

func (s *shard[K, V]) values() []V {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]V, 0, len(s.at))
	for i := range s.parts {
		for j := range s.parts[i].slots {
			all = append(all, s.parts[i].slots[j].value)
		}
	}
	return all
}
