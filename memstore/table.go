package memstore

import (
	"iter"
	"math"
	"sync"
	"sync/atomic"
)

// table is all that a store holds: shards, each with a lock of its own, of
// segments, which grow one by one.
type table struct {
	seed   seed
	hasher hasher
	shards []shard
	// most is the cap on keys.
	most int64
	// maxDepth bounds how often a shard's directory doubles. Even hashing
	// never gets there.
	maxDepth uint8
	// atOnce says that all segments were made in the beginning, leastDepth is
	// then their depth: they are never joined to fewer.
	atOnce     bool
	leastDepth uint8
	clock      *clock

	_    [64]byte // what changes with each new key in a cache line of its own
	keys atomic.Int64
	_    [56]byte
}

const (
	// meanCount is how many keys a segment holds on average when the table is
	// full: enough to waste little, few enough that hardly one is above
	// slotsPerSegment and split once more.
	meanCount = 46
	// manyShards is from when on a table grows by larger shards rather than
	// more of them; largeShard is how many segments a shard has at most, so
	// that its directory stays small.
	manyShards, largeShardBits = 64, 10
	// spareDepth is how far a directory may outgrow what a full table needs,
	// mostDepth how far any: to no more entries than there are numbers for
	// their limits.
	spareDepth, mostDepth = 8, 13
)

func newTable(s seed, most int64, clock *clock, atOnce bool) *table {
	shards, depth := layout(most)
	t := &table{
		seed: s, hasher: *newHasher(s), shards: make([]shard, shards),
		most: most, maxDepth: uint8(min(depth+spareDepth, mostDepth)), clock: clock,
	}
	for i := range t.shards {
		t.shards[i].steady = clock.steady
	}
	if atOnce {
		t.allocate(uint8(depth))
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
	spill   segment
	logs    logs
	sweeper sweeper
	counts  counts
	_       [112]byte
}

// directory leads to the segments of a shard. One that has become too small is
// replaced by another; which segments it leads to changes.
type directory struct {
	depth  uint8
	paths  []path
	depths []uint8 // how many bits the fractions of each one's segment have in common
}

func newDirectory(depth uint8) *directory {
	return &directory{depth: depth, paths: make([]path, 1<<depth), depths: make([]uint8, 1<<depth)}
}

// path leads to a segment. Its marks are written first and read last: so who
// has read one of them before and one after a change has slots that were full
// then, or belong to nobody any more, and finds in them what belongs there.
type path struct {
	slots atomic.Pointer[[slotsPerSegment]entry]
	marks atomic.Pointer[marks]
}

func (p *path) load() segment {
	slots := p.slots.Load()
	return segment{marks: p.marks.Load(), slots: slots}
}

func (p *path) store(g segment) {
	p.marks.Store(g.marks)
	p.slots.Store(g.slots)
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

// segment returns the segment for a fraction, none if there is none yet.
func (sh *shard) segment(fraction uint32) segment {
	d := sh.directory.Load()
	if d == nil {
		return segment{}
	}
	return d.paths[uint64(fraction)>>((32-d.depth)&63)].load()
}

// depth is how many first bits the fractions of a segment have in common, first
// the first of these fractions, and end the first behind them, 0 after the last.
func (sh *shard) depth(fraction uint32) uint8 {
	d := sh.directory.Load()
	return d.depths[uint64(fraction)>>(32-d.depth)]
}

func (sh *shard) first(fraction uint32) uint32 {
	return fraction &^ uint32(1<<(32-uint64(sh.depth(fraction)))-1)
}

func (sh *shard) end(fraction uint32) uint32 {
	return sh.first(fraction) + uint32(1<<(32-uint64(sh.depth(fraction))))
}

func (sh *shard) find(tag uint64, fraction uint32) *entry {
	if g := sh.segment(fraction); !g.none() {
		return g.find(tag)
	}
	return nil
}

// begin gives an empty shard its first segment.
func (sh *shard) begin() segment {
	d, g := newDirectory(0), newSegment()
	d.paths[0].store(g) // before anybody can have read it while it led nowhere
	sh.start(d)
	return g
}

// start gives it its first directory.
func (sh *shard) start(d *directory) {
	sh.directory.Store(d)
	sh.sweeper = sweeper{idle: math.MaxInt64, expiry: math.MaxInt64}
}

// grow splits a full segment, the one of a fraction; it reports false if the
// directory is as large as it may become.
func (sh *shard) grow(t *table, fraction uint32) bool {
	depth := sh.depth(fraction)
	if d := sh.directory.Load(); depth == d.depth {
		if d.depth >= t.maxDepth {
			return false
		}
		double := newDirectory(d.depth + 1)
		for i := range double.paths {
			double.paths[i].store(d.paths[i/2].load())
			double.depths[i] = d.depths[i/2]
		}
		sh.directory.Store(double)
	}
	g := sh.segment(fraction)
	if sh.sweeper.slot > 0 && sh.segment(sh.sweeper.fraction) == g {
		sh.sweeper.slot = 0 // what moves may move to where it has been
	}
	bit := uint32(1) << (31 - depth)
	sh.enter(g.split(t, bit, sh.nextStamp()), fraction|bit, depth+1)
	sh.enter(g, fraction&^bit, depth+1)
	return true
}

// merge joins a segment, the one of a fraction, with the one that covers the
// other half of what is covered by both, if the two fit into one with room to
// spare. It reports whether they did. The lower one remains, as it did when they
// were split.
func (sh *shard) merge(t *table, fraction uint32) bool {
	const roomy = slotsPerSegment / 2
	depth := sh.depth(fraction)
	if depth <= t.leastDepth {
		return false
	}
	half := uint32(1) << (32 - depth)
	lower, upper := sh.segment(fraction&^half), sh.segment(fraction|half)
	if sh.depth(fraction^half) != depth || lower.count()+upper.count() > roomy {
		return false
	}
	lower.absorb(upper, sh.nextStamp())
	sh.enter(lower, fraction, depth-1)
	return true
}

// enter makes the directory lead to g for all fractions that have the same depth
// first bits as this one.
func (sh *shard) enter(g segment, fraction uint32, depth uint8) {
	d := sh.directory.Load()
	from := int(uint64(fraction) >> (32 - depth) << (d.depth - depth))
	for i := range 1 << (d.depth - depth) {
		d.paths[from+i].store(g)
		d.depths[from+i] = depth
	}
}

// all yields each segment once.
func (sh *shard) all() iter.Seq[segment] {
	return func(yield func(segment) bool) {
		for from, more := uint32(0), true; more; more = from != 0 {
			g := sh.segment(from)
			if g.none() || !yield(g) {
				return
			}
			from = sh.end(from)
		}
	}
}
