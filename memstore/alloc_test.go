package memstore

import (
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// TestNoAllocations: a decision on a known key allocates nothing, whatever it
// is, and a new key only what the table grows by.
func TestNoAllocations(t *testing.T) {
	none := func(what string, s *Store, charges ...ratelimit.Charge) {
		t.Helper()
		results := make([]ratelimit.Result, len(charges))
		call := func() {
			if err := s.Take(t.Context(), charges, results); err != nil {
				t.Fatal(err)
			}
		}
		call()
		call()
		if n := testing.AllocsPerRun(200, call); n != 0 {
			t.Errorf("%s: %v allocations, want none", what, n)
		}
	}
	for _, a := range algorithms {
		s := New()
		large := limitOf(a, 1_000_000, time.Hour)
		none(a.String()+" admitted", s, on("client", large, 1))
		none(a.String()+" looked at", s, on("client", large, 0))
		admit(t, s, on("blocked", limitOf(a, 5, time.Hour), 5))
		none(a.String()+" denied", s, on("blocked", limitOf(a, 5, time.Hour), 1))
		none(a.String()+" of a new key denied", s, on("new", limitOf(a, 5, time.Hour), 6))
		none(a.String()+", three policies", s, on("a", large, 1), on("b", large, 2), on("c", large, 3))
		none(a.String()+", three policies denied", s, on("a", large, 1), on("b", large, 2), on("blocked", limitOf(a, 5, time.Hour), 1))
		c := on("settled", large, 7)
		r := admit(t, s, c)
		if n := testing.AllocsPerRun(200, func() {
			adjustment := ratelimit.Adjustment{Policy: c.Policy, Partition: c.Partition, Limit: large, At: r.At, Cost: 7, NewCost: 9}
			adjustments := [...]ratelimit.Adjustment{adjustment, adjustment}
			adjustments[1].Cost, adjustments[1].NewCost = 9, 7
			if err := s.Adjust(t.Context(), adjustments[:]); err != nil {
				t.Fatal(err)
			}
		}); n > 1 { // the argument itself
			t.Errorf("%v adjusted: %v allocations, want none of the store's", a, n)
		}
	}
}

// TestHeapPerKey fills a store up to its cap of a million keys and weighs it.
func TestHeapPerKey(t *testing.T) {
	if raceEnabled {
		t.Log("the race detector's own memory would be weighed")
		return
	}
	const maxKeys = 1_000_000
	for _, a := range []ratelimit.Algorithm{ratelimit.AlgorithmSlidingWindow, ratelimit.AlgorithmTokenBucket, ratelimit.AlgorithmSlidingLog} {
		before := heap()
		s := New(WithMaxKeys(maxKeys))
		key := []byte("client 0000000")
		c := on("", limitOf(a, 10, time.Hour), 1)
		for i := range maxKeys {
			for j, n := len(key)-1, i; j > 6; j, n = j-1, n/10 {
				key[j] = '0' + byte(n%10)
			}
			c.Partition = ratelimit.Partition(key)
			admit(t, s, c)
			switch i {
			case maxKeys * 6 / 10, maxKeys * 7 / 10, maxKeys * 8 / 10:
				if each := float64(heap()-before) / float64(i); each > 80 {
					t.Errorf("%v: %.1f bytes a key at %d keys, want at most 80", a, each, i)
				}
			}
		}
		each := float64(heap()-before) / maxKeys
		t.Logf("%v: %.1f bytes a key", a, each)
		if each > 48 {
			t.Errorf("%v: %.1f bytes a key, want at most 48", a, each)
		}
		if keys := s.Stats().Keys; keys != maxKeys {
			t.Errorf("%v: %d keys, want all", a, keys)
		}
	}
}
