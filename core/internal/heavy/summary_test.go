package heavy_test

import (
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/go-floodgate/floodgate/core/internal/heavy"
)

// exact counts what a Summary estimates.
type exact map[uint64]int64

// check holds a summary of m counters against the exact counts.
func check(t interface{ Errorf(string, ...any) }, s *heavy.Summary, m int, counts exact) {
	n := int64(0)
	for _, count := range counts {
		n += count
	}
	if s.Added() != n {
		t.Errorf("%d additions are known, want %d", s.Added(), n)
	}
	seen, sum, last := make(map[uint64]bool), int64(0), int64(math.MaxInt64)
	s.Top(func(item *heavy.Item) bool {
		truth := counts[item.Hash]
		switch {
		case seen[item.Hash]:
			t.Errorf("key %d is there twice", item.Hash)
		case string(item.Key) != name(item.Hash):
			t.Errorf("the text of key %d is %q", item.Hash, item.Key)
		case item.Count < truth || item.Count-item.Error > truth:
			t.Errorf("key %d has count %d, error %d; it was added %d times", item.Hash, item.Count, item.Error, truth)
		case item.Error*int64(m) > n:
			t.Errorf("key %d has error %d, more than %d/%d", item.Hash, item.Error, n, m)
		case item.Count > last:
			t.Errorf("key %d has count %d and comes after one with %d", item.Hash, item.Count, last)
		}
		seen[item.Hash] = true
		sum += item.Count
		last = item.Count
		return true
	})
	if sum != n || len(seen) > m {
		t.Errorf("the %d counts of %d counters add up to %d, want %d", len(seen), m, sum, n)
	}
	for hash, count := range counts {
		if count*int64(m) > n && !seen[hash] {
			t.Errorf("key %d was added %d times of %d and has none of %d counters", hash, count, n, m)
		}
	}
}

func name(hash uint64) string { return "key " + strconv.FormatUint(hash, 10) }

// Random streams, some of them of a few keys, some skewed, some of mostly new
// keys.
func TestAgainstExactCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.IntRange(1, 12).Draw(t, "m")
		keys := rapid.SampledFrom([]uint64{1, 3, 12, 40, 1000}).Draw(t, "keys")
		skewed := rapid.Bool().Draw(t, "skewed")
		s, counts := heavy.New(m), exact{}
		for range rapid.IntRange(0, 400).Draw(t, "n") {
			hash := rapid.Uint64Range(0, keys-1).Draw(t, "key")
			if skewed {
				hash = hash * hash / keys
			}
			n := rapid.SampledFrom([]int64{1, 1, 1, 2, 9}).Draw(t, "times")
			if n == 2 && s.Raise(hash, n) {
				counts[hash] += n
				continue
			}
			counts[hash] += n
			item, gone := s.Add(hash, name(hash), n)
			if item.Hash != hash {
				t.Fatalf("adding %d returned %d", hash, item.Hash)
			}
			if item.Told = true; gone.Hash != 0 && !gone.Told {
				t.Fatalf("key %d lost its mark", gone.Hash)
			}
		}
		check(t, s, m, counts)
		s.Reset()
		check(t, s, m, nil)
		item, _ := s.Add(5, name(5), 1)
		if item.Told || item.Count != 1 || item.Error != 0 {
			t.Fatalf("after Reset a key has %+v", item)
		}
		check(t, s, m, exact{5: 1})
	})
}

// The worst there is for it: as many keys as there are counters and one more,
// in turn.
func TestRoundRobin(t *testing.T) {
	for m := 1; m < 20; m++ {
		s, counts := heavy.New(m), exact{}
		for i := range 1000 {
			hash := uint64(i % (m + 1))
			counts[hash]++
			s.Add(hash, name(hash), 1)
		}
		check(t, s, m, counts)
	}
}

func TestTopStops(t *testing.T) {
	s := heavy.New(5)
	for i := range uint64(5) {
		s.Add(i, name(i), 1)
	}
	n := 0
	s.Top(func(*heavy.Item) bool {
		n++
		return n < 2
	})
	if n != 2 {
		t.Errorf("it went on to %d", n)
	}
}

func TestAllocations(t *testing.T) {
	s := heavy.New(64)
	add := func(keys uint64) func() {
		i := uint64(0)
		texts := make([]string, keys)
		for i := range texts {
			texts[i] = name(uint64(i))
		}
		for i, text := range texts {
			s.Add(uint64(i), text, 1)
		}
		return func() {
			i++
			s.Add(i%keys, texts[i%keys], 1)
		}
	}
	if got := testing.AllocsPerRun(1000, add(64)); got != 0 {
		t.Errorf("counting a known key makes %v allocations", got)
	}
	if got := testing.AllocsPerRun(10000, add(1000)); got != 0 {
		t.Errorf("counting new keys of the same length makes %v allocations", got)
	}
}

func BenchmarkAdd(b *testing.B) {
	for _, c := range []struct {
		name string
		keys uint64
	}{{"known", 100}, {"new", 100_000}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			s := heavy.New(512)
			i := uint64(0)
			for b.Loop() {
				i++
				s.Add(i*0x9E3779B97F4A7C15%c.keys, "ip:192.0.2.123", 1)
			}
		})
	}
}
