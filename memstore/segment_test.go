package memstore

import (
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

func TestSizes(t *testing.T) {
	if slots, marks := unsafe.Sizeof(*segment{}.slots), unsafe.Sizeof(marks{}); slots != 2048 || marks != 64 {
		t.Errorf("a segment has %d bytes of slots and %d of marks, want 2048 and 64, sizes that the allocator wastes nothing on", slots, marks)
	}
	if size := unsafe.Sizeof(chunk{}); size != 32 {
		t.Errorf("a chunk has %d bytes, want 32", size)
	}
	if most := slotsPerSegment<<mostDepth + slotsPerSegment; most > 1<<limitBits {
		t.Errorf("a shard may have %d entries, each with a limit of its own, and %d bits to number them", most, limitBits)
	}
	if size := unsafe.Sizeof(denial{}); size != 128 {
		t.Errorf("a denial has %d bytes, want two cache lines", size)
	}
	if size, lock := unsafe.Sizeof(shard{}), unsafe.Offsetof(shard{}.mu); size != 1024 || lock%64 != 0 {
		t.Errorf("a shard has %d bytes with its lock at %d, want 1024 and a cache line's start", size, lock)
	}
}

// TestSegment adds and removes tags with few homes and marks, so that most are
// elsewhere and many have the mark of another, and compares with a map.
func TestSegment(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		g, want := newSegment(), make(map[uint64]uint64)
		tags := make([]uint64, 90)
		for i := range tags {
			tags[i] = uint64(i)<<40 | uint64(random.IntN(12)+58)%64<<26 | uint64(4+random.IntN(4))
		}
		for step := range uint64(500) {
			tag := tags[random.IntN(len(tags))]
			e := g.find(tag)
			if (e != nil) != (want[tag] != 0) || e != nil && e.word != want[tag] {
				t.Fatalf("tag %x: found %v, want %d", tag, e, want[tag])
			}
			switch {
			case e != nil:
				g.remove(g.slot(e))
				delete(want, tag)
			case len(want) < slotsPerSegment:
				e := g.add(tag)
				if e.word != 0 {
					t.Fatalf("a new entry has the word %x", e.word)
				}
				want[tag] = (step + 1) << levelShift
				e.write(want[tag], 0, 0)
			}
			if g.count() != len(want) {
				t.Fatalf("%d entries counted, want %d", g.count(), len(want))
			}
		}
	}
}

// TestEntryWriting writes states of all sizes under many limits.
func TestEntryWriting(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, steady := range []bool{true, false} {
		sh, packed := &shard{steady: steady}, 0
		for i := range 10_000 {
			limit := limitOf(algorithms[i%len(algorithms)], 1+random.Int64N(10_000), time.Duration(1+random.IntN(5000))*time.Millisecond)
			window := limit.Window.Microseconds()
			s := algorithm.State{Time: random.Int64N(algorithm.MaxTime), Level: random.Int64N(algorithm.MaxUnits) >> random.IntN(52)}
			switch {
			case limit.Algorithm.Bucket():
				s.Rest = random.Int64N(window)
				if random.IntN(2) == 0 { // as the algorithm would have it
					s.Rest -= s.Rest % divisor(window, limit.Quota)
				}
			case limit.Algorithm != ratelimit.AlgorithmFixedWindow:
				s.Rest = random.Int64N(algorithm.MaxUnits)
			}
			number := sh.limits.hold(&limit)
			var e entry
			sh.set(&e, &s, number)
			if e.word&openBit != 0 {
				t.Fatal("an entry is open before it is opened")
			}
			e.open()
			if e.word&openBit != 0 {
				packed++
			}
			if got := sh.state(&e, 0); got.Time != s.Time || got.Level != s.Level || got.Rest != s.Rest || e.limit() != number {
				t.Fatalf("%+v with limit %d became %+v with %d", s, number, got, e.limit())
			}
			if random.IntN(3) == 0 {
				sh.limits.release(number)
			}
		}
		if steady && packed < 3000 || !steady && packed > 0 {
			t.Errorf("with a steady clock (%t) %d of 10000 entries are packed", steady, packed)
		}
	}
}

// TestLimits holds and releases limits and compares with a count of each.
func TestLimits(t *testing.T) {
	var (
		l       limits
		random  = rand.New(rand.NewPCG(5, 6))
		numbers []uint32
		want    []ratelimit.Limit
		count   = make(map[ratelimit.Limit]int)
	)
	for range 20_000 {
		if len(want) > 0 && random.IntN(100) < 50 {
			i := random.IntN(len(want))
			l.release(numbers[i])
			if count[want[i]]--; count[want[i]] == 0 {
				delete(count, want[i])
			}
			numbers[i], want[i] = numbers[len(numbers)-1], want[len(want)-1]
			numbers, want = numbers[:len(numbers)-1], want[:len(want)-1]
		} else {
			limit := ratelimit.PerMinute(random.Int64N(50))
			numbers, want = append(numbers, l.hold(&limit)), append(want, limit)
			count[limit]++
		}
		for i, n := range numbers {
			if h := l.of(n); h == nil || h.limit != want[i] || h.number != n {
				t.Fatalf("number %d is %v, want %v", n, h, want[i])
			}
		}
		if len(l.number) != len(count) || l.numbers-len(l.free) != len(count) || l.numbers > 50 {
			t.Fatalf("%d numbers of %d, %d free, for %d distinct limits", len(l.number), l.numbers, len(l.free), len(count))
		}
		if len(numbers) > 200 {
			for _, n := range numbers {
				l.release(n)
			}
			numbers, want, count = numbers[:0], want[:0], make(map[ratelimit.Limit]int)
		}
	}
}
