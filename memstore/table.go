package memstore

import (
	"iter"
	"sync"
	"sync/atomic"
)

// table is all that a store holds: shards, each with a lock of its own, of
// segments, which grow one by one.
type table struct {
	seed   seed
	hasher hasher
	shards []shard
	// most is the cap on keys, keys how many there are.
	most int64
	keys atomic.Int64
	// maxDepth bounds how often a shard's directory doubles. Even hashing
	// never gets there.
	maxDepth uint8
	clock    *clock
}

const (
	// meanCount is how many keys a segment holds on average when the table is
	// full: enough to waste little, few enough that hardly one is above
	// slotsPerSegment and split once more.
	meanCount = 45
	// manyShards is from when on a table grows by larger shards rather than
	// more of them; largeShard is how many segments a shard has at most, so
	// that its directory stays small.
	manyShards, largeShardBits = 64, 10
	// spareDepth is how far a directory may outgrow what a full table needs,
	// mostDepth how far any: to no more entries than there are numbers for
	// their limits.
	spareDepth, mostDepth = 8, 14
)

func newTable(s seed, most int64, clock *clock) *table {
	shards, depth := layout(most)
	t := &table{
		seed: s, hasher: *newHasher(s), shards: make([]shard, shards),
		most: most, maxDepth: uint8(min(depth+spareDepth, mostDepth)), clock: clock,
	}
	for i := range t.shards {
		t.shards[i].steady = clock.steady
	}
	return t
}

// layout is how many shards a table has, and the depth of their directories
// when it is full.
func layout(most int64) (shards uint64, depth int) {
	segments := uint64(most+meanCount-1) / meanCount
	for depth < largeShardBits && segments>>depth >= 2*manyShards {
		depth++
	}
	return (segments + 1<<depth - 1) >> depth, depth
}

// place is where a tag belongs: the upper half of it picks the shard, and what
// that leaves of it, a fraction of the shard, the segment. The lower half is
// for the place within the segment.
func (t *table) place(tag uint64) (sh *shard, fraction uint32) {
	x := tag >> 32 * uint64(len(t.shards))
	return &t.shards[x>>32], uint32(x)
}

func (t *table) shardNumber(tag uint64) uint32 {
	return uint32(tag >> 32 * uint64(len(t.shards)) >> 32)
}

func (t *table) fraction(tag uint64) uint32 {
	return uint32(tag >> 32 * uint64(len(t.shards)))
}

// reserve counts one more key unless that would be too many.
func (t *table) reserve() bool {
	if t.keys.Load() >= t.most {
		return false
	}
	if t.keys.Add(1) > t.most {
		t.keys.Add(-1)
		return false
	}
	return true
}

// shard is a part of the table under one lock: an extendible hash table, whose
// directory has one segment or several entries of it for every 1<<depth
// possible beginnings of a fraction.
type shard struct {
	// What is read without the lock.
	directory atomic.Pointer[directory] // nil until the first key
	steady    bool                      // the clock cannot go back
	limits    limits
	denials   denials

	_       [64]byte // the lock and what is written under it in cache lines of their own
	mu      sync.Mutex
	stamp   uint64 // see entry
	latest  int64  // see at
	spill   *segment
	logs    logs
	sweeper sweeper
	counts  counts
	_       [136]byte
}

// directory leads to the segments of a shard. One that has become too small is
// replaced by another; which segments it leads to changes.
type directory struct {
	depth    uint8
	segments []atomic.Pointer[segment]
}

// at is the time at which a call decides that has locked the shard and closed
// the entry that it may change, if there is one, given the time from before.
// It is never before any time at which something was decided that the call can
// see: by another that had the lock, or by one that needed none, which only a
// new look at the clock is sure to be after. A clock that may go back by itself
// has a meaning of its own.
func (sh *shard) at(t *table, before int64, e *entry) int64 {
	if !sh.steady {
		return before
	}
	if e != nil && atomic.LoadUint64(&e.word)&packedBit != 0 {
		before = t.clock.now()
	}
	sh.latest = max(sh.latest, before)
	return sh.latest
}

// segment returns the segment for a fraction, nil if there is none yet.
func (sh *shard) segment(fraction uint32) *segment {
	d := sh.directory.Load()
	if d == nil {
		return nil
	}
	return d.segments[uint64(fraction)>>((32-d.depth)&63)].Load()
}

func (sh *shard) find(tag uint64, fraction uint32) *entry {
	if g := sh.segment(fraction); g != nil {
		return g.find(tag)
	}
	return nil
}

// begin gives an empty shard its first segment.
func (sh *shard) begin() *segment {
	g := new(segment)
	d := &directory{segments: make([]atomic.Pointer[segment], 1)}
	d.segments[0].Store(g)
	sh.directory.Store(d)
	return g
}

// grow splits a full segment; it reports false if the directory is as large as
// it may become.
func (sh *shard) grow(t *table, g *segment) bool {
	if d := sh.directory.Load(); g.depth == d.depth {
		if d.depth >= t.maxDepth {
			return false
		}
		double := &directory{depth: d.depth + 1, segments: make([]atomic.Pointer[segment], 2*len(d.segments))}
		for i := range d.segments {
			g := d.segments[i].Load()
			double.segments[2*i].Store(g)
			double.segments[2*i+1].Store(g)
		}
		sh.directory.Store(double)
	}
	lower, upper := g.split(t)
	sh.enter(lower)
	sh.enter(upper)
	return true
}

// merge joins a segment with the one that covers the other half, if the two
// fit into one with room to spare. It returns the segment that is left.
func (sh *shard) merge(g *segment) *segment {
	const roomy = slotsPerSegment / 2
	if g.depth == 0 || g.count > roomy {
		return g
	}
	other := sh.segment(g.first ^ 1<<(32-g.depth))
	if other.depth != g.depth || g.count+other.count > roomy {
		return g
	}
	g = g.join(other)
	sh.enter(g)
	return g
}

// enter makes the directory lead to g for all of its range.
func (sh *shard) enter(g *segment) {
	d := sh.directory.Load()
	from := int(g.first >> (32 - d.depth))
	for i := range 1 << (d.depth - g.depth) {
		d.segments[from+i].Store(g)
	}
}

// all yields each segment once.
func (sh *shard) all() iter.Seq[*segment] {
	return func(yield func(*segment) bool) {
		for from, more := uint32(0), true; more; more = from != 0 {
			g := sh.segment(from)
			if g == nil || !yield(g) {
				return
			}
			from = g.end()
		}
	}
}

// slot is the index of an entry of g.
func (g *segment) slot(e *entry) int {
	i := home(e.tag)
	for &g.slots[i] != e {
		i = next(i)
	}
	return i
}
