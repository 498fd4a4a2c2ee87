package memstore

import (
	"fmt"
	"math/bits"
	"strings"
	"testing"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// TestTagsDiffer has keys that differ in little, each of which needs a tag of
// its own.
func TestTagsDiffer(t *testing.T) {
	h := newHasher(seed{1})
	seen := make(map[uint64]string)
	note := func(what string, tag uint64) {
		t.Helper()
		if other, ok := seen[tag]; ok {
			t.Errorf("%s and %s have the same tag %x", what, other, tag)
		}
		seen[tag] = what
	}
	for n := range 300 {
		text := strings.Repeat("\x00", n)
		note(fmt.Sprint("policy of ", n, " zeros"), h.tag(text, "", 1, 1000))
		if n > 0 {
			note(fmt.Sprint("partition of ", n, " zeros"), h.tag("", ratelimit.Partition(text), 1, 1000))
		}
		for i := range n {
			changed := []byte(text)
			changed[i] = 1
			note(fmt.Sprint("policy of ", n, " zeros but ", i), h.tag(string(changed), "", 1, 1000))
			note(fmt.Sprint("partition of ", n, " zeros but ", i), h.tag("", ratelimit.Partition(changed), 1, 1000))
		}
	}
	for a := range ratelimit.Algorithm(6) {
		for window := range int64(50) {
			note(fmt.Sprint("algorithm ", a, ", window ", window), h.tag("p", "q", a, window))
			note(fmt.Sprint("together, algorithm ", a, ", window ", window), h.spillTag("p", a, window))
		}
	}
	for i := range 9 {
		text := "a:b:c:d:e"
		note(fmt.Sprint("cut at ", i), h.tag(text[:i], ratelimit.Partition(text[i:]), 2, 7))
	}
}

// TestTagsAreKeyed compares the tags of one key under many seeds: each bit has
// to be set about half of the time, and no two may be equal.
func TestTagsAreKeyed(t *testing.T) {
	const seeds = 2000
	for _, key := range []ratelimit.Partition{"", "a", "ip:192.0.2.1", "user:0123456789abcdef0123456789abcdef"} {
		var set [64]int
		seen := make(map[uint64]bool)
		for i := range seeds {
			tag := newHasher(seed{byte(i), byte(i >> 8)}).tag("per-ip", key, 1, 60_000_000)
			if seen[tag] {
				t.Fatalf("%q has the same tag under two seeds", key)
			}
			seen[tag] = true
			for b := range set {
				set[b] += int(tag >> b & 1)
			}
		}
		for b, n := range set {
			if n < seeds*2/5 || n > seeds*3/5 {
				t.Errorf("%q: bit %d is set under %d of %d seeds", key, b, n, seeds)
			}
		}
	}
}

// TestTagsSpread counts how evenly consecutive keys fall into places.
func TestTagsSpread(t *testing.T) {
	const keys, places = 100_000, 256
	h := newHasher(seed{7})
	var high, low [places]int
	flips := 0
	for i := range keys {
		tag := h.tag("per-ip", ratelimit.Partition(name(i)), 1, 60_000_000)
		high[tag>>56]++
		low[tag>>24&0xff]++
		flips += bits.OnesCount64(tag ^ h.tag("per-ip", ratelimit.Partition(name(i+1)), 1, 60_000_000))
	}
	for i := range places {
		for _, n := range []int{high[i], low[i]} {
			if mean := keys / places; n < mean-150 || n > mean+150 {
				t.Errorf("place %d has %d of %d keys, want about %d", i, n, keys, mean)
			}
		}
	}
	if mean := float64(flips) / keys; mean < 31 || mean > 33 {
		t.Errorf("neighbours differ in %.1f bits, want about 32", mean)
	}
}

// TestTagsSpreadAsAtRandom sees that consecutive keys fall into as many places
// as random ones do, neither more evenly nor in heaps, whatever the seed: a
// segment more or less full than that is a waste of memory.
func TestTagsSpreadAsAtRandom(t *testing.T) {
	const keys, places = 1 << 16, 1 << 11
	for i := range 50 {
		h := newHasher(seed{byte(i), 9})
		var high, low [places]float64
		for j := range keys {
			tag := h.tag("per-ip", ratelimit.Partition(fmt.Sprintf("client %07d", j)), 1, 60_000_000)
			high[tag>>53]++
			low[tag<<32>>53]++
		}
		for half, counts := range [][places]float64{high, low} {
			variance := 0.0
			for _, n := range counts {
				variance += (n - keys/places) * (n - keys/places) / places
			}
			if mean := float64(keys / places); variance < 0.8*mean || variance > 1.2*mean {
				t.Errorf("seed %d, half %d: %d places have %.0f keys with a variance of %.1f, want about the same", i, half, places, mean, variance)
			}
		}
	}
}

// TestTagsLast pins the function: a dump is only good for as long as it stays.
func TestTagsLast(t *testing.T) {
	h := newHasher(seed{1, 2, 3})
	for key, want := range map[ratelimit.Partition]uint64{
		"":             0x1d67c915639551a7,
		"ip:192.0.2.1": 0x31e57f6951689b83,
		ratelimit.Partition(strings.Repeat("long", 50)): 0x2c8fe683b3ee4e90,
	} {
		if got := h.tag("per-ip", key, ratelimit.AlgorithmTokenBucket, 1_000_000); got != want {
			t.Errorf("tag of %.20q is %#x, want %#x", key, got, want)
		}
	}
}
