package memstore

import (
	"math/bits"
	"sync/atomic"
)

// slotsPerSegment makes the slots of a segment exactly 2 KiB, and their marks a
// cache line.
const slotsPerSegment = 64

// segment is a small hash table of fixed size: slots, and a mark of each. The
// slots of many keys are in no cache, but the marks of all of them mostly are,
// and say in which slot a tag is, if it is in one, so that a search takes one
// look at the slots if there is something to be found and mostly none if there
// is not. Half of the entries of a full segment move to a new one, which is all
// the work that growing ever causes at once. The others stay where they are.
//
// Segments are searched without the shard's lock too; who does finds nothing or
// an entry that is closed if it is changed meanwhile. He looks at no slot whose
// mark he has not seen. The zero segment is none.
type segment struct {
	marks *marks
	slots *[slotsPerSegment]entry
}

// marks are a byte for each slot: that of the tag in it, or one of two that say
// that it is free. They are read and written as tags are, see entry.
//
// A slot that was never used is one that nobody else has ever looked at. In a
// word that has one, a slot was always free, so no tag that would have been put
// there is in another word.
type marks [marksWords]uint64

const (
	marksWords = slotsPerSegment / 8
	eachByte   = 0x0101010101010101

	neverUsed = 0
	freeAgain = 1
)

func newSegment() segment {
	return segment{marks: new(marks), slots: new([slotsPerSegment]entry)}
}

func (g segment) none() bool { return g.marks == nil }

// at is the entry in a slot. That there are slots is asked here, or else the
// compiler would ask the first of them, which is in no cache.
func (g segment) at(slot int) *entry {
	if g.slots == nil {
		return nil
	}
	return &g.slots[slot&(slotsPerSegment-1)]
}

// home is the slot that a tag would have if it were alone.
func home(tag uint64) int { return int(tag >> 26 & (slotsPerSegment - 1)) }

func next(i int) int { return (i + 1) % slotsPerSegment }

// mark is that of a tag, of bits that say nothing of its home.
func mark(tag uint64) uint64 { return max(tag&0xff, freeAgain+1) }

// zeros has the lowest bit set of each byte that is 0.
func zeros(w uint64) uint64 {
	const low = 0x7f * eachByte
	return ^((w&low + low) | w | low) >> 7
}

// free has the lowest bit set of each byte of a word of marks whose slot is free.
func free(w uint64) uint64 { return zeros(w &^ (freeAgain * eachByte)) }

// count is how many slots are in use.
func (g segment) count() int {
	n := slotsPerSegment
	for _, w := range g.marks {
		n -= bits.OnesCount64(free(w))
	}
	return n
}

func (m *marks) of(slot int) uint64 { return m[slot>>3] >> (slot & 7 * 8) & 0xff }

func (m *marks) set(slot int, mark uint64) {
	word, shift := slot>>3, slot&7*8
	atomic.StoreUint64(&m[word], m[word]&^(0xff<<shift)|mark<<shift)
}

// find returns the entry of a tag or nil.
func (g segment) find(tag uint64) *entry {
	h := home(tag)
	word := atomic.LoadUint64(&g.marks[h>>3])
	// Most are at home, and there the processor looks before it has the mark.
	if word>>(h&7*8)&0xff == mark(tag) {
		if e := g.at(h); atomic.LoadUint64(&e.tag) == tag {
			return e
		}
	}
	return g.findAway(tag, word)
}

// findAway looks everywhere, given the word of marks of the tag's home.
func (g segment) findAway(tag, w uint64) *entry {
	pattern, word := mark(tag)*eachByte, home(tag)>>3
	for range marksWords {
		for same := zeros(w ^ pattern); same != 0; same &= same - 1 {
			if e := g.at(word<<3 | bits.TrailingZeros64(same)>>3); atomic.LoadUint64(&e.tag) == tag {
				return e
			}
		}
		if zeros(w) != 0 {
			return nil
		}
		word = (word + 1) % marksWords
		w = atomic.LoadUint64(&g.marks[word])
	}
	return nil
}

// vacancy is the free slot that a tag would get, noSlot if there is none.
func (g segment) vacancy(tag uint64) int {
	h := home(tag)
	for _, i := range [...]int{h, h ^ 1} { // both in one cache line
		if g.marks.of(i) <= freeAgain {
			return i
		}
	}
	word := h >> 3
	for range marksWords {
		if free := free(g.marks[word]); free != 0 {
			return word<<3 | bits.TrailingZeros64(free)>>3
		}
		word = (word + 1) % marksWords
	}
	return noSlot
}

// add returns an entry, closed, for a tag that is not in the segment, which must
// not be full. Its state is to be written.
func (g segment) add(tag uint64) *entry {
	i := g.vacancy(tag)
	e := g.at(i)
	atomic.StoreUint64(&e.tag, tag)
	g.marks.set(i, mark(tag))
	return e
}

// put makes an entry, open, for a tag that is not in the segment, in the slot
// that is its vacancy. The tag comes last: until then nobody looks at the rest.
func (g segment) put(slot int, tag, word, base, rest uint64) {
	e := g.at(slot)
	if g.marks.of(slot) == neverUsed {
		// Nobody can see it before its mark. The plain write need not wait
		// until the slot is in a cache.
		*e = entry{tag: tag, word: word, base: base, rest: rest}
	} else {
		e.write(word, base, rest)
		atomic.StoreUint64(&e.tag, tag)
	}
	g.marks.set(slot, mark(tag))
}

// remove empties the slot of an entry that is closed.
func (g segment) remove(i int) {
	g.slots[i].empty()
	g.marks.set(i, freeAgain)
}

// slot is the index of an entry of g.
func (g segment) slot(e *entry) int {
	i := home(e.tag)
	for &g.slots[i] != e {
		i = next(i)
	}
	return i
}

// split makes a segment of those entries whose fractions have a bit set. The
// others stay where they are, but for those that can be in the line of their homes.
func (g segment) split(t *table, bit uint32, stamp uint64) (upper segment) {
	upper = newSegment()
	// All slots are asked for before the first is waited for.
	var moving, away uint64
	for i := range g.slots {
		if tag := g.slots[i].tag; tag != 0 {
			if t.fraction(tag)&bit != 0 {
				moving |= 1 << i
			} else if home(tag)>>1 != i>>1 {
				away |= 1 << i
			}
		}
	}
	for ; moving != 0; moving &= moving - 1 {
		i := bits.TrailingZeros64(moving)
		upper.receive(&g.slots[i])
		g.remove(i)
	}
	for ; away != 0; away &= away - 1 {
		i := bits.TrailingZeros64(away)
		e := &g.slots[i]
		if to := g.vacancy(e.tag); to>>1 == home(e.tag)>>1 {
			left := e.leave()
			g.slots[to].settle(left, stamp)
			g.marks.set(to, mark(left.tag))
			g.remove(i)
		}
	}
	return upper
}

// absorb moves all entries of another segment, which have to fit, into g. Nothing
// is left in the other that anybody could change.
func (g segment) absorb(other segment, stamp uint64) {
	for i := range other.slots {
		if e := &other.slots[i]; e.tag != 0 {
			to, left := g.vacancy(e.tag), e.leave()
			g.slots[to].settle(left, stamp)
			g.marks.set(to, mark(left.tag))
		}
	}
}

// receive takes an entry over, if it is one, into a segment that nobody else
// knows of yet.
func (g segment) receive(e *entry) {
	if e.tag != 0 {
		i, left := g.vacancy(e.tag), e.leave()
		g.slots[i] = left
		g.marks[i>>3] |= mark(left.tag) << (i & 7 * 8)
	}
}
