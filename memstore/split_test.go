package memstore

import (
	"math/rand/v2"
	"testing"
)

// TestSplit splits full segments of tags with few homes, some of whose slots
// have changed hands before. Every entry has to be in one of the two as it was,
// and who knows one from before that has moved must not be taken in.
func TestSplit(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 9))
	table := newTable(seed{}, slotsPerSegment, &clock{steady: true}, false)
	const bit, stamp = 1 << 31, stampMask
	moved, homed := 0, 0
	for range 300 {
		g := newSegment()
		was := make(map[uint64]entry)
		add := func() {
			tag := random.Uint64() &^ (uint64(random.IntN(64)) << 26)
			e := g.add(tag)
			packed, base := random.Uint64N(packLimit), random.Uint64()
			e.write(packed<<packShift|random.Uint64N(100)<<stampShift|packedBit, base, random.Uint64())
			e.open()
			was[tag] = *e
		}
		for len(was) < slotsPerSegment {
			add()
			if random.IntN(3) == 0 {
				for tag := range was {
					e := g.find(tag)
					e.close()
					g.remove(g.slot(e))
					delete(was, tag)
					break
				}
			}
		}
		slots := make(map[uint64]*entry)
		for tag := range was {
			slots[tag] = g.find(tag)
		}
		upper := g.split(table, bit, stamp)
		if g.count()+upper.count() != slotsPerSegment {
			t.Fatalf("%d and %d entries of %d", g.count(), upper.count(), slotsPerSegment)
		}
		for tag, e := range was {
			in, out := g, upper
			if table.fraction(tag)&bit != 0 {
				in, out = upper, g
			}
			got := in.find(tag)
			if got == nil || out.find(tag) != nil {
				t.Fatalf("tag %x: %v, and %v where it does not belong", tag, got, out.find(tag))
			}
			if got.word&^(stampMask<<stampShift) != e.word&^(stampMask<<stampShift) || got.base != e.base || got.rest != e.rest {
				t.Fatalf("tag %x: %x became %x", tag, e, *got)
			}
			if got != slots[tag] {
				moved++
				if old := slots[tag]; old.word == e.word || old.tag == tag {
					t.Fatalf("tag %x has left %x behind", tag, *old)
				}
			}
			if in == g && slots[tag] != got && (got == g.at(home(tag)) || got == g.at(home(tag)^1)) {
				homed++
			}
		}
	}
	if moved < 300*slotsPerSegment/2 || homed < 300 {
		t.Errorf("%d entries moved, %d of them to their homes", moved, homed)
	}
}
