package memstore

import (
	"sync"
	"sync/atomic"
)

// table is all that a store holds: shards, each with a lock of its own, of
// segments, which grow one by one.
type table struct {
	seed   seed
	hasher *hasher
	shards []shard
	// most is the cap on keys, keys how many there are.
	most int64
	keys atomic.Int64
	// maxDepth bounds how often a shard's directory doubles. Even hashing
	// never gets there.
	maxDepth uint8
	// steady says that the clock cannot go back.
	steady bool
}

const (
	// meanCount is how many keys a segment holds on average when the table is
	// full: enough to waste little, few enough that hardly one is above
	// slotsPerSegment and split once more.
	meanCount = 49
	// manyShards is from when on a table grows by larger shards rather than
	// more of them; largeShard is how many segments a shard has at most, so
	// that its directory stays small.
	manyShards, largeShardBits = 64, 10
	// spareDepth is how far a directory may outgrow what a full table needs.
	spareDepth = 8
)

func newTable(s seed, most int64, steady bool) *table {
	shards, depth := layout(most)
	t := &table{
		seed: s, hasher: newHasher(s), shards: make([]shard, shards),
		most: most, maxDepth: uint8(depth + spareDepth), steady: steady,
	}
	for i := range t.shards {
		t.shards[i].logs.steady = steady
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
	denials denials // read without the lock

	mu        sync.Mutex
	latest    int64      // see at
	directory []*segment // empty until the first key
	depth     uint8
	sweeper   sweeper
	limits    limits
	spill     *segment // see spill.go
	logs      logs
	counts    counts

	_ [64]byte // the next shard's lock is another cache line's matter
}

// at is the time at which a call that has locked the shard decides. The clock
// was read before the lock, and a call that comes later may have had it first:
// what that one saw leave must not be missed now, so that time never goes back
// in a shard. A clock that may go back by itself has a meaning of its own.
func (sh *shard) at(t *table, now int64) int64 {
	if !t.steady {
		return now
	}
	sh.latest = max(sh.latest, now)
	return sh.latest
}

// segment returns the segment for a fraction, nil if there is none yet.
func (sh *shard) segment(fraction uint32) *segment {
	if len(sh.directory) == 0 {
		return nil
	}
	return sh.directory[fraction>>(32-sh.depth)]
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
	sh.directory = []*segment{g}
	return g
}

// grow splits a full segment; it reports false if the directory is as large as
// it may become.
func (sh *shard) grow(t *table, g *segment) bool {
	if g.depth == sh.depth {
		if sh.depth >= t.maxDepth {
			return false
		}
		double := make([]*segment, 2*len(sh.directory))
		for i, g := range sh.directory {
			double[2*i], double[2*i+1] = g, g
		}
		sh.directory, sh.depth = double, sh.depth+1
	}
	sh.enter(g.split(t))
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
	g.absorb(other)
	sh.enter(g)
	return g
}

// enter makes the directory lead to g for all of its range.
func (sh *shard) enter(g *segment) {
	from := int(g.first >> (32 - sh.depth))
	for i := range 1 << (sh.depth - g.depth) {
		sh.directory[from+i] = g
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
