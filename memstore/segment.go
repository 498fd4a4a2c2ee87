package memstore

import (
	"math/bits"
	"sync/atomic"
)

// slotsPerSegment makes a segment, head included, exactly 2 KiB.
const slotsPerSegment = 63

// segment is a small hash table of fixed size: linear probing, no tombstones.
// It covers the fractions (see shard) that begin with the same depth bits as
// first does. A full one is split in two, which is all the work that growing
// ever causes at once. Its slots are searched without the shard's lock too; who
// does finds nothing or an entry that is closed if it is changed meanwhile.
type segment struct {
	count uint8 // slots in use
	depth uint8
	first uint32
	_     [24]byte
	slots [slotsPerSegment]entry
}

// home is where the search for a tag begins.
func home(tag uint64) int {
	hi, _ := bits.Mul64(tag<<32, slotsPerSegment)
	return int(hi)
}

func next(i int) int {
	if i++; i < slotsPerSegment {
		return i
	}
	return 0
}

// find returns the entry of a tag or nil.
func (g *segment) find(tag uint64) *entry {
	i := home(tag)
	for range slotsPerSegment {
		e := &g.slots[i]
		switch atomic.LoadUint64(&e.tag) {
		case tag:
			return e
		case 0:
			return nil
		}
		i = next(i)
	}
	return nil
}

// add returns an empty entry, closed, for a tag that is not in the segment,
// which must not be full.
func (g *segment) add(tag uint64) *entry {
	e := g.vacancy(tag)
	g.count++
	atomic.StoreUint64(&e.tag, tag)
	return e
}

// vacancy is the free slot that a tag would get.
func (g *segment) vacancy(tag uint64) *entry {
	i := home(tag)
	for g.slots[i].tag != 0 {
		i = next(i)
	}
	return &g.slots[i]
}

// remove empties the slot of an entry that is closed and moves up those behind
// it that would no longer be found.
func (g *segment) remove(i int, stamp uint64) {
	hole := i
	for j := next(i); j != i && g.slots[j].tag != 0; j = next(j) {
		h := home(g.slots[j].tag)
		// The entry may move if its home is not between the hole and it.
		if (hole < j && (h <= hole || h > j)) || (hole > j && h <= hole && h > j) {
			g.slots[hole].settle(g.slots[j].leave(), stamp)
			hole = j
		}
	}
	g.slots[hole].empty()
	g.count--
}

// end is the first fraction behind the segment's, 0 behind the last.
func (g *segment) end() uint32 { return uint32(uint64(g.first) + 1<<(32-g.depth)) }

// split shares g's entries out among two new segments, one for each half of its
// range. Nothing is left in g that anybody could change.
func (g *segment) split(t *table) (lower, upper *segment) {
	depth := g.depth + 1
	bit := uint32(1) << (32 - depth)
	lower, upper = &segment{depth: depth, first: g.first}, &segment{depth: depth, first: g.first | bit}
	for i := range g.slots {
		if tag := g.slots[i].tag; t.fraction(tag)&bit == 0 {
			lower.receive(&g.slots[i])
		} else {
			upper.receive(&g.slots[i])
		}
	}
	return lower, upper
}

// join puts all entries of g and of the segment that covers the other half of
// what the two cover together into a new one.
func (g *segment) join(other *segment) *segment {
	both := &segment{depth: g.depth - 1, first: g.first & other.first}
	for i := range g.slots {
		both.receive(&g.slots[i])
		both.receive(&other.slots[i])
	}
	return both
}

// receive takes an entry over, if it is one, into a segment that nobody else
// knows of yet.
func (g *segment) receive(e *entry) {
	if e.tag != 0 {
		*g.vacancy(e.tag) = e.leave()
		g.count++
	}
}
