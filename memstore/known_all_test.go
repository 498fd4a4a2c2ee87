package memstore

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// glancesAt are those of three charges of different keys that all fit.
func glancesAt(t *testing.T, s *Store) []glance {
	t.Helper()
	glances := make([]glance, 3)
	for i := range glances {
		c := on(name(i), ratelimit.FixedWindow(10, time.Hour), 1)
		admit(t, s, c)
		var r ratelimit.Result
		if g := &glances[i]; !s.table.Load().glanceAt(g, &c) || !g.decide(&c, s.clock.now(), &r) || !g.takes || r.Remaining != 8 {
			t.Fatalf("key %d: %+v, %+v", i, glances[i], r)
		}
	}
	return glances
}

func TestCommit(t *testing.T) {
	s, _ := openSteady(10)
	glances := glancesAt(t, s)
	if !stillThere(glances) || !commit(glances, 3) {
		t.Fatal("nobody is in the way, and nothing is taken")
	}
	heldKeys(t, s) // and all are open
	for i := range glances {
		if got := left(t, s, on(name(i), ratelimit.FixedWindow(10, time.Hour), 0)); got != 8 {
			t.Errorf("key %d: %d left, want 8", i, got)
		}
	}
}

// TestCommitUndone has each of the entries in turn changed, closed or made busy
// after it was seen: nothing may be taken of the others.
func TestCommitUndone(t *testing.T) {
	for what, change := range map[string]func(e *entry) (back func()){
		"charged": func(e *entry) func() { e.word += 1 << packShift; return func() { e.word -= 1 << packShift } },
		"closed":  func(e *entry) func() { e.close(); return e.open },
		"busy":    func(e *entry) func() { e.word ^= openBit | busyBit; return func() { e.word ^= openBit | busyBit } },
	} {
		for changed := range 3 {
			s, _ := openSteady(10)
			glances := glancesAt(t, s)
			back := change(glances[changed].e)
			if stillThere(glances) || commit(glances, 3) {
				t.Errorf("%s: taken, although entry %d is not what it was", what, changed)
			}
			back()
			for i := range glances {
				if g := &glances[i]; g.e.word != g.word {
					t.Errorf("%s: entry %d was %x and is %x, after entry %d was not what it was", what, i, g.word, g.e.word, changed)
				}
			}
		}
	}
}

// TestBusyIsWaitedFor: who has locked the shard waits until it is over.
func TestBusyIsWaitedFor(t *testing.T) {
	var e entry
	e.write(5<<packShift|packedBit|busyBit, 0, 0)
	var closer sync.WaitGroup
	closer.Go(func() {
		if !e.close() || e.word>>packShift != 6 {
			t.Errorf("closed with the word %x, while it was busy", e.word)
		}
	})
	for range 100 {
		runtime.Gosched()
	}
	e.write(6<<packShift|packedBit|openBit, 0, 0)
	closer.Wait()
}

// TestAllKnownIsUsed: requests with several policies take the fast path, denied
// or not; what it cannot do it leaves alone.
func TestAllKnownIsUsed(t *testing.T) {
	for _, a := range algorithms {
		s, clock := openSteady(100)
		table, now := s.table.Load(), clock.us.Load()
		one, two := on("one", limitOf(a, 10, time.Hour), 1), on("two", ratelimit.SlidingWindow(3, time.Hour), 1)
		admit(t, s, one)
		admit(t, s, two)
		log := a == ratelimit.AlgorithmSlidingLog
		results := make([]ratelimit.Result, 3)
		for what, charges := range map[string][]ratelimit.Charge{
			"fits":     {one, two},
			"denied":   {one, on("two", two.Limit, 3)},
			"shadowed": {as(ratelimit.ModeShadow, on("one", one.Limit, 10)), two},
		} {
			if table.takeAllKnown(charges, now, results[:2]) == log {
				t.Errorf("%v, %s: %t", a, what, !log)
			}
		}
		for what, charges := range map[string][]ratelimit.Charge{
			"a newcomer":     {one, on("three", two.Limit, 1)},
			"another quota":  {one, on("two", ratelimit.SlidingWindow(4, time.Hour), 1)},
			"one key twice":  {two, two},
			"a strike":       {two, as(ratelimit.ModeOnDenial, one)},
			"a short denial": {two, on("one", limitOf(a, 10, time.Hour), 1), on("brief", ratelimit.TokenBucket(1, time.Second, 1), 1)},
		} {
			if what == "a short denial" {
				admit(t, s, charges[2])
			}
			before := left(t, s, two)
			if table.takeAllKnown(charges, now, results[:len(charges)]) || left(t, s, two) != before {
				t.Errorf("%v, %s: decided by the fast path", a, what)
			}
		}
	}
}

// TestSeveralCountExactly has many callers take from several of a few keys at
// once, alone and together, and give some back: in the end each key holds what
// was admitted and not given back, and never was there more than its limit.
func TestSeveralCountExactly(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4)) // so that they stop in each other's way
	const workers, rounds = 8, 4000
	for _, test := range []struct{ quota, keepsOneIn int64 }{{60, 1000}, {1_000_000, 1}} {
		severalCountExactly(t, test.quota, workers, rounds, int(test.keepsOneIn))
	}
}

func severalCountExactly(t *testing.T, quota int64, workers uint64, rounds, keepsOneIn int) {
	t.Helper()
	for _, a := range []ratelimit.Algorithm{ratelimit.AlgorithmFixedWindow, ratelimit.AlgorithmSlidingWindow, ratelimit.AlgorithmTokenBucket, ratelimit.AlgorithmLeakyBucket} {
		s, _ := openSteady(100)
		keys := make([]ratelimit.Charge, 6)
		var used [6]atomic.Int64
		for i := range keys {
			keys[i] = on(name(i), limitOf(a, quota, time.Hour), 0)
			admit(t, s, keys[i])
			forced := as(ratelimit.ModeForce, keys[i])
			forced.Cost = 1
			admit(t, s, forced) // so that it has an entry
			used[i].Store(1)
		}
		var wait sync.WaitGroup
		for worker := range workers {
			wait.Go(func() {
				rnd := rand.New(rand.NewPCG(worker, 7))
				for range rounds {
					which := rnd.Perm(len(keys))[:1+rnd.IntN(4)]
					charges, results := make([]ratelimit.Charge, len(which)), make([]ratelimit.Result, len(which))
					for i, k := range which {
						charges[i] = keys[k]
						charges[i].Cost = 1 + rnd.Int64N(3)
						if rnd.IntN(5) == 0 {
							charges[i].Mode = ratelimit.ModeShadow
						}
					}
					if err := s.Take(t.Context(), charges, results); err != nil {
						t.Error(err)
						return
					}
					admitted := true
					for i := range charges {
						admitted = admitted && (results[i].Allowed || charges[i].Mode == ratelimit.ModeShadow)
					}
					if !admitted {
						continue
					}
					var back []ratelimit.Adjustment
					for i, k := range which {
						c := &charges[i]
						if !results[i].Allowed {
							continue
						}
						kept := int64(0)
						if rnd.IntN(keepsOneIn) == 0 {
							kept = c.Cost
						} else {
							back = append(back, ratelimit.Adjustment{Policy: c.Policy, Partition: c.Partition, Limit: c.Limit, At: results[i].At, Cost: c.Cost})
						}
						if used[k].Add(kept) > quota {
							t.Errorf("%v: more than %d admitted", a, quota)
						}
					}
					if err := s.Adjust(t.Context(), back); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wait.Wait()
		for i := range keys {
			if got, want := left(t, s, keys[i]), quota-used[i].Load(); got != want {
				t.Errorf("%v, key %d: %d left, want %d", a, i, got, want)
			}
		}
	}
}
