package memstore

import (
	"testing"
	"testing/synctest"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// TestSweep counts many keys once each and then lets one client go on: the
// entries of the others have to go, and the memory they took with them. The
// bubble's clock is the store's own, which cannot go back.
func TestSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys = 20_000
		s := New(WithMaxKeys(2 * keys))
		for i := range keys {
			a := algorithms[i%len(algorithms)]
			admit(t, s, on(name(i), limitOf(a, 3, time.Minute), 1))
			admit(t, s, on(name(i), limitOf(a, 3, time.Minute), 2))
		}
		if held, segments := heldKeys(t, s); held != keys || segments < keys/slotsPerSegment {
			t.Fatalf("%d keys held in %d segments, want %d", held, segments, keys)
		}
		time.Sleep(2*time.Minute + time.Second)
		// New keys, each of which expires before the next, in all shards.
		brief := limitOf(ratelimit.AlgorithmTokenBucket, 1, time.Millisecond)
		for i := range keys {
			time.Sleep(time.Millisecond)
			admit(t, s, on(name(keys+i), brief, 1))
		}
		table := s.table.Load()
		held, segments := heldKeys(t, s)
		if most := 64 * len(table.shards); held > most || segments > 2*len(table.shards) {
			t.Errorf("%d keys in %d segments are left of %d expired ones, want few", held, segments, 2*keys)
		}
		for i := range table.shards {
			if n := len(table.shards[i].logs.pages); n > 1 {
				t.Errorf("shard %d: %d pages of logs are left", i, n)
			}
		}
		if stats := s.Stats(); stats.Expired < 2*keys-int64(held) || stats.Forgotten != 0 {
			t.Errorf("%+v, want all expired and none forgotten", stats)
		}
	})
}

// TestSweepWithoutNewKeys has nothing but a few well-known clients, under one
// policy or several.
func TestSweepWithoutNewKeys(t *testing.T) {
	for policies := range 3 {
		synctest.Test(t, func(t *testing.T) {
			s := New(WithMaxKeys(meanCount)) // one shard, all of whose keys are swept by all calls
			l := limitOf(ratelimit.AlgorithmFixedWindow, 1000, time.Minute)
			for i := range meanCount {
				admit(t, s, on(name(i), l, 1))
			}
			time.Sleep(time.Minute)
			forever := limitOf(ratelimit.AlgorithmFixedWindow, ratelimit.MaxQuota, ratelimit.MaxWindow)
			for i := range 10_000 {
				charges := []ratelimit.Charge{on(name(i%10), forever, 1)}
				for more := range policies {
					charges = append(charges, on(name(10*(more+1)+i%10), forever, 1))
				}
				take(t, s, charges...)
			}
			if held, _ := heldKeys(t, s); held != 10*(policies+1) {
				t.Errorf("%d policies: %d keys held, want the %d in use", policies+1, held, 10*(policies+1))
			}
		})
	}
}

// TestExpiryWaits: an entry goes when it is as good as new, not before, each by
// its own window.
func TestExpiryWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(WithMaxKeys(1000))
		for _, a := range algorithms {
			day := on("long", limitOf(a, 3, 24*time.Hour), 3)
			admit(t, s, day)
			for i := range 2000 {
				time.Sleep(time.Second)
				admit(t, s, on(name(i), limitOf(a, 1, time.Millisecond), 1))
			}
			day.Cost = 0
			if got := take(t, s, day)[0]; got.Remaining > 1 {
				t.Errorf("%v: 3 of 3 per day used half an hour ago, %d left", a, got.Remaining)
			}
		}
	})
}

// TestClockBackKeepsExpired: with a clock that may go back, nothing is swept
// that would be needed again.
func TestClockBackKeepsExpired(t *testing.T) {
	for _, a := range algorithms {
		s, clock := open(1000)
		c := on("client", limitOf(a, 1, time.Second), 1)
		admit(t, s, c)
		clock.advance(time.Hour)
		for i := range 5000 {
			admit(t, s, on(name(i%500), limitOf(a, 100, time.Second), 1))
		}
		clock.advance(-time.Hour)
		deny(t, s, c)
	}
}

// TestSweepIdles: as long as nothing can have expired nothing is looked at, and
// from when something may have, whatever made it so, all is.
func TestSweepIdles(t *testing.T) {
	hour := limitOf(ratelimit.AlgorithmTokenBucket, 2, time.Hour)
	slow, fast := ratelimit.TokenBucket(1, time.Hour, 10), ratelimit.TokenBucket(3600, time.Hour, 10)
	for what, shorten := range map[string]func(s *Store, given ratelimit.Result){
		"a brief window": func(s *Store, _ ratelimit.Result) {
			admit(t, s, on("brief", ratelimit.FixedWindow(1, time.Millisecond), 1))
		},
		"a brief log": func(s *Store, _ ratelimit.Result) {
			admit(t, s, on("brief", ratelimit.SlidingLog(1, time.Millisecond), 1))
		},
		"another quota": func(s *Store, _ ratelimit.Result) { take(t, s, on("client", fast, 0)) },
		"given back": func(s *Store, given ratelimit.Result) {
			a := ratelimit.Adjustment{Policy: "policy", Partition: "client", Limit: slow, At: given.At, Cost: 1}
			if err := s.Adjust(t.Context(), []ratelimit.Adjustment{a}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := New(WithMaxKeys(1000))
			table := s.table.Load()
			sweep := func(portions int) {
				for i := range table.shards {
					for range portions {
						table.shards[i].sweepSome(table, s.clock.now())
					}
				}
			}
			given := admit(t, s, on("client", slow, 1))
			const later = 100
			for i := range later {
				admit(t, s, on(name(i), ratelimit.TokenBucket(1, 10*time.Minute, 2), 1))
			}
			for i := range 400 {
				admit(t, s, on(name(i), hour, 1))
			}
			sweep(1)
			for i := range table.shards {
				if slot := table.shards[i].sweeper.slot; slot != 0 {
					t.Errorf("%s: much too early the sweep of shard %d has come to slot %d", what, i, slot)
				}
			}
			shorten(s, given)
			time.Sleep(time.Second)
			sweep(20)
			if got := s.Stats().Expired; got != 1 {
				t.Errorf("%s: %d expired, want 1", what, got)
			}
			time.Sleep(10 * time.Minute)
			sweep(20)
			if got := s.Stats().Expired; got != 1+later {
				t.Errorf("%s: %d expired later, want %d", what, got, 1+later)
			}
		})
	}
}

// TestSweepSeesWhatMoves: when the segment is split that is being swept, its
// entries may move to where the sweep has been.
func TestSweepSeesWhatMoves(t *testing.T) {
	s, _ := openSteady(10_000)
	sh := &s.table.Load().shards[0]
	l := ratelimit.FixedWindow(10, time.Hour)
	for i := 0; distinct(sh) < 2 && i < 10_000; i++ {
		sh.sweeper.slot = 5
		admit(t, s, on(name(i), l, 1))
	}
	if sh.sweeper.slot != 0 {
		t.Errorf("after a split the sweep goes on at slot %d", sh.sweeper.slot)
	}
}
