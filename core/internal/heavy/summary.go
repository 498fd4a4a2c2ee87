// Package heavy finds the heavy hitters of a stream in bounded memory.
package heavy

// Summary is a Space-Saving summary (Metwally, Agrawal, El Abbadi: Efficient
// Computation of Frequent and Top-k Elements in Data Streams, 2005). With m
// counters, after n additions:
//
//   - a key's Count is at least how often it was added, and at most its Error
//     more; Error is at most n/m;
//   - every key that was added more than n/m times has a counter.
//
// Counting one addition takes constant time, several at once no more than as
// many. It allocates only to keep a key that is longer than those before it in
// the same counter. A Summary is not safe for concurrent use.
type Summary struct {
	counters []counter
	groups   []group
	index    map[uint64]int32 // of the counter of a hash
	used     int32            // counters in use
	least    int32            // the group of the smallest count
	free     int32            // the first group that isn't in use
	added    int64
}

// counter is one key's. Counters of equal count are a group: a list, in no
// order.
type counter struct {
	Item
	group      int32
	prev, next int32
}

// group is one count. Groups are a list, by count.
type group struct {
	count      int64
	first      int32
	prev, next int32
}

// Item is what is known of a key.
type Item struct {
	// Hash identifies the key; Key is its text.
	Hash uint64
	Key  []byte
	// Count is how often it was added, and Error by how much that may be too
	// much.
	Count, Error int64
	// Told is the caller's own mark. It goes when the key does.
	Told bool
}

// none is no counter and no group.
const none = -1

// New returns a Summary of m counters, at least one.
func New(m int) *Summary {
	m = max(m, 1)
	s := &Summary{
		counters: make([]counter, m),
		// Moving a counter makes its new group before it leaves the old one.
		groups: make([]group, m+1),
		index:  make(map[uint64]int32, m),
	}
	s.Reset()
	return s
}

// Reset forgets everything but the memory it lies in.
func (s *Summary) Reset() {
	clear(s.index)
	s.used, s.least, s.free, s.added = 0, none, 0, 0
	for i := range s.groups {
		s.groups[i].next = int32(i) + 1
	}
	s.groups[len(s.groups)-1].next = none
}

// Added is how many additions there were.
func (s *Summary) Added() int64 { return s.added }

// Add counts n additions of a key and returns what is then known of it, and, if another key
// had to give way, that key's hash and mark. hash must be the same for the same
// key and different for different ones. The Item is valid, and its Told may be
// changed, until the next call.
func (s *Summary) Add(hash uint64, key string, n int64) (item *Item, gone Item) {
	if i, known := s.index[hash]; known {
		s.raise(i, n)
		return &s.counters[i].Item, Item{}
	}
	s.added += n
	var i int32
	var floor int64
	if int(s.used) < len(s.counters) {
		i = s.used
		s.used++
		s.counters[i].group = none
	} else {
		i = s.groups[s.least].first
		gone = Item{Hash: s.counters[i].Hash, Told: s.counters[i].Told}
		floor = s.counters[i].Count
		delete(s.index, gone.Hash)
	}
	s.index[hash] = i
	item = &s.counters[i].Item
	item.Hash, item.Key, item.Error, item.Told = hash, append(item.Key[:0], key...), floor, false
	s.move(i, floor+n)
	return item, gone
}

// Raise counts n additions of a key, if it has a counter.
func (s *Summary) Raise(hash uint64, n int64) (known bool) {
	i, known := s.index[hash]
	if known {
		s.raise(i, n)
	}
	return known
}

func (s *Summary) raise(i int32, n int64) {
	s.added += n
	s.move(i, s.counters[i].Count+n)
}

// move puts a counter into the group of count, which is higher than its own.
func (s *Summary) move(i int32, count int64) {
	c := &s.counters[i]
	old := c.group
	after, next := old, s.least // a counter without a group is before all
	if old != none {
		next = s.groups[old].next
	} else {
		after = none
	}
	for next != none && s.groups[next].count < count {
		after, next = next, s.groups[next].next
	}
	target := next
	if next == none || s.groups[next].count != count {
		target = s.insert(after, next, count)
	}
	if old != none {
		s.detach(i)
	}
	c.Count, c.group, c.prev, c.next = count, target, none, s.groups[target].first
	if c.next != none {
		s.counters[c.next].prev = i
	}
	s.groups[target].first = i
}

// insert makes a group between two.
func (s *Summary) insert(prev, next int32, count int64) int32 {
	g := s.free
	s.free = s.groups[g].next
	s.groups[g] = group{count: count, first: none, prev: prev, next: next}
	if prev == none {
		s.least = g
	} else {
		s.groups[prev].next = g
	}
	if next != none {
		s.groups[next].prev = g
	}
	return g
}

// detach takes a counter out of its group, and the group away if it was the
// last.
func (s *Summary) detach(i int32) {
	c := &s.counters[i]
	g := &s.groups[c.group]
	if c.next != none {
		s.counters[c.next].prev = c.prev
	}
	if c.prev != none {
		s.counters[c.prev].next = c.next
		return
	}
	if g.first = c.next; g.first != none {
		return
	}
	if g.prev == none {
		s.least = g.next
	} else {
		s.groups[g.prev].next = g.next
	}
	if g.next != none {
		s.groups[g.next].prev = g.prev
	}
	g.next = s.free
	s.free = c.group
}

// Top calls f for the keys, those of the highest count first, until it returns
// false. An Item is valid until f returns.
func (s *Summary) Top(f func(*Item) bool) {
	last := s.least
	for g := s.least; g != none; g = s.groups[g].next {
		last = g
	}
	for g := last; g != none; g = s.groups[g].prev {
		for i := s.groups[g].first; i != none; i = s.counters[i].next {
			if !f(&s.counters[i].Item) {
				return
			}
		}
	}
}
