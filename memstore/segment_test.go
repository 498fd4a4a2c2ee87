package memstore

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

func TestSizes(t *testing.T) {
	if size := unsafe.Sizeof(segment{}); size != 2048 {
		t.Errorf("a segment has %d bytes, want 2048, a size that the allocator wastes nothing on", size)
	}
	if size := unsafe.Sizeof(chunk{}); size != 32 {
		t.Errorf("a chunk has %d bytes, want 32", size)
	}
	if size := unsafe.Sizeof(denial{}); size != 64 {
		t.Errorf("a denial has %d bytes, want a cache line", size)
	}
}

// TestSegment adds and removes tags with few homes, so that runs are long and
// wrap around, and compares with a map.
func TestSegment(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		g, want := new(segment), make(map[uint64]uint64)
		tags := make([]uint64, 90)
		for i := range tags {
			tags[i] = uint64(i)<<40 | uint64(random.IntN(12)+58)%64<<26 | 1
		}
		for step := range uint64(500) {
			tag := tags[random.IntN(len(tags))]
			e := g.find(tag)
			if (e != nil) != (want[tag] != 0) || e != nil && e.time != want[tag] {
				t.Fatalf("tag %x: found %v, want %d", tag, e, want[tag])
			}
			switch {
			case e != nil:
				g.remove(g.slot(e))
				delete(want, tag)
			case len(want) < slotsPerSegment:
				g.add(tag).time = step + 1
				want[tag] = step + 1
			}
			if int(g.count) != len(want) {
				t.Fatalf("%d entries counted, want %d", g.count, len(want))
			}
		}
	}
}

func TestEntryPacking(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 10_000 {
		s := (&entry{time: random.Uint64(), level: random.Uint64(), rest: random.Uint64()}).state()
		limit := random.Uint32N(maxLimits)
		e := entry{rest: deniedBit}
		e.set(&s, limit)
		got := e.state()
		if got.Time != s.Time || got.Level != s.Level || got.Rest != s.Rest || e.limit() != limit || e.rest&deniedBit != 0 {
			t.Fatalf("%+v with limit %d became %+v with %d", s, limit, got, e.limit())
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
			if *l.of(n) != want[i] {
				t.Fatalf("number %d is %v, want %v", n, *l.of(n), want[i])
			}
		}
		if len(l.number) != len(count) || len(l.held)-len(l.free) != len(count) || len(l.held) > 50 {
			t.Fatalf("%d numbers of %d, %d free, for %d distinct limits", len(l.number), len(l.held), len(l.free), len(count))
		}
		if len(numbers) > 200 {
			numbers, want = numbers[:0], want[:0]
			l, count = limits{}, make(map[ratelimit.Limit]int)
		}
	}
}
