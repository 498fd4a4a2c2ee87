package memstore

import "math/bits"

// slotsPerSegment makes a segment, head included, exactly 2 KiB.
const slotsPerSegment = 63

// segment is a small hash table of fixed size: linear probing, no tombstones.
// It covers the fractions (see shard) that begin with the same depth bits as
// first does. A full one is split in two, which is all the work that growing
// ever causes at once.
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
		if e.tag == tag {
			return e
		}
		if e.tag == 0 {
			return nil
		}
		i = next(i)
	}
	return nil
}

// add returns an empty entry for a tag that is not in the segment, which must
// not be full.
func (g *segment) add(tag uint64) *entry {
	i := home(tag)
	for g.slots[i].tag != 0 {
		i = next(i)
	}
	g.count++
	g.slots[i] = entry{tag: tag}
	return &g.slots[i]
}

// remove empties a slot and moves up those entries behind it that would no
// longer be found.
func (g *segment) remove(i int) {
	hole := i
	for j := next(i); j != i && g.slots[j].tag != 0; j = next(j) {
		h := home(g.slots[j].tag)
		// The entry may move if its home is not between the hole and it.
		if (hole < j && (h <= hole || h > j)) || (hole > j && h <= hole && h > j) {
			g.slots[hole] = g.slots[j]
			hole = j
		}
	}
	g.slots[hole] = entry{}
	g.count--
}

// end is the first fraction behind the segment's, 0 behind the last.
func (g *segment) end() uint32 { return uint32(uint64(g.first) + 1<<(32-g.depth)) }

// split moves the entries of the upper half of g's range into a new segment.
func (g *segment) split(t *table) *segment {
	g.depth++
	bit := uint32(1) << (32 - g.depth)
	upper := &segment{depth: g.depth, first: g.first | bit}
	all := g.slots
	g.slots, g.count = [slotsPerSegment]entry{}, 0
	for i := range all {
		e := &all[i]
		switch {
		case e.tag == 0:
		case t.fraction(e.tag)&bit != 0:
			*upper.add(e.tag) = *e
		default:
			*g.add(e.tag) = *e
		}
	}
	return upper
}

// absorb takes in all entries of the segment that covers the other half of
// what the two cover together.
func (g *segment) absorb(other *segment) {
	g.depth--
	g.first &= other.first
	for i := range other.slots {
		if e := &other.slots[i]; e.tag != 0 {
			*g.add(e.tag) = *e
		}
	}
}
