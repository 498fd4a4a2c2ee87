package memstore

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

// odd limits have numbers with little in common, and some that hardly fit.
var oddLimits = []ratelimit.Limit{
	ratelimit.TokenBucket(100, time.Minute, 100),
	ratelimit.TokenBucket(7, time.Second, 3),
	ratelimit.TokenBucket(999, 24*time.Hour, 50),
	ratelimit.TokenBucket(1, time.Hour, 1),
	ratelimit.TokenBucket(999_983, time.Second, 1_000_000),
	ratelimit.TokenBucket(1_000_000_000, time.Second, 1_000_000_000),
	ratelimit.TokenBucket(99_991, 24*time.Hour, 99_991),
	ratelimit.TokenBucket(0, time.Minute, 5),
	ratelimit.LeakyBucket(13, 997*time.Millisecond, 12),
	ratelimit.LeakyBucket(50, time.Second, 0),
	ratelimit.FixedWindow(10, time.Second),
	ratelimit.FixedWindow(ratelimit.MaxQuota, ratelimit.MaxWindow),
	ratelimit.FixedWindow(0, time.Second),
	ratelimit.SlidingWindow(10, time.Second),
	ratelimit.SlidingWindow(1_000_000_007, 7*time.Second),
	ratelimit.SlidingWindow(ratelimit.MaxQuota, ratelimit.MinWindow),
}

// TestKnown has the same requests decided by a store and by package algorithm,
// whose answers must not differ in anything, and sees that the fast path did
// nearly all of it.
func TestKnown(t *testing.T) {
	for _, l := range oddLimits {
		t.Run(fmt.Sprint(l.Algorithm, l.Quota, l.Window, l.Burst), func(t *testing.T) {
			random := rand.New(rand.NewPCG(uint64(l.Quota), uint64(l.Window)))
			s, clock := openSteady(100)
			table := s.table.Load()
			var model algorithm.State
			fast, all := 0, 20_000
			for range all {
				c := on("client", l, costOf(random, l.Capacity()))
				c.Mode = [...]ratelimit.Mode{
					ratelimit.ModeEnforce, ratelimit.ModeEnforce, ratelimit.ModeEnforce, ratelimit.ModeShadow, ratelimit.ModePeek, ratelimit.ModeForce,
				}[random.IntN(6)]
				if c.Mode != ratelimit.ModeForce && random.IntN(50) == 0 {
					c.Cost = math.MaxInt64
				}
				if c.Mode == ratelimit.ModeForce && random.IntN(10) > 0 {
					c.Cost = min(c.Cost, 1)
				}
				now := clock.us.Load()
				var want, got ratelimit.Result
				algorithm.Apply(actions[c.Mode], &model, now, &l, c.Cost, &want)
				sh, fraction := table.place(table.tag(&c))
				if sh.takeKnown(table, &c, sh.limits.likely(&l), table.tag(&c), fraction, now, now, &got) >= looked {
					fast++
				} else {
					got = take(t, s, c)[0]
				}
				if got != want {
					t.Fatalf("%d units in mode %d: %+v, want %+v", c.Cost, c.Mode, got, want)
				}
				wait := min(want.RetryAfter, 3*l.Window)
				clock.advance([...]time.Duration{
					0, 0, 0, time.Microsecond, wait, max(wait-time.Microsecond, 0), l.Window / time.Duration(max(l.Quota, 1)),
					time.Duration(random.Int64N(int64(l.Window))), time.Duration(random.Int64N(30 * int64(l.Window))),
				}[min(random.IntN(24), 8)%9])
			}
			switch packed := newRate(&l).kind != kindWhole; {
			case packed && l.Quota < ratelimit.MaxQuota && l.Window > ratelimit.MinWindow && fast < all/30:
				t.Errorf("%d of %d requests took the fast path", fast, all)
			case !packed && fast > 0:
				t.Errorf("%d requests took the fast path", fast)
			}
		})
	}
}

func costOf(random *rand.Rand, capacity int64) int64 {
	switch random.IntN(10) {
	case 0:
		return 0
	case 1:
		return random.Int64N(capacity + 3)
	case 2:
		return capacity
	default:
		return 1
	}
}

// TestDenialReadsTheClock decides with a time from before the entry was last
// charged: as long as the wait is short, a denial must look at the clock again.
func TestDenialReadsTheClock(t *testing.T) {
	for l, apart := range map[ratelimit.Limit]time.Duration{
		ratelimit.TokenBucket(10, time.Second, 2): 800 * time.Millisecond,
		ratelimit.LeakyBucket(10, time.Second, 1): 800 * time.Millisecond,
		ratelimit.SlidingWindow(10, time.Second):  1200 * time.Millisecond,
	} {
		s, clock := openSteady(10)
		table, c := s.table.Load(), on("client", l, 1)
		admit(t, s, on("client", l, l.Capacity()))
		early := clock.us.Load()
		clock.advance(apart) // and some have come back
		sh, fraction := table.place(table.tag(&c))
		admit(t, s, c)
		var r ratelimit.Result
		if sh.takeKnown(table, &c, sh.limits.likely(&l), table.tag(&c), fraction, early, early, &r) < looked || !r.Allowed || r.At < early {
			t.Errorf("%v: %+v for a time before that of the last charge, want it allowed by that of now", l, r)
		}
	}
}

// TestNoChargeIsLost charges some keys, alone and together, from many goroutines
// while others come, are forgotten and reset beside them, so that segments are split and merged and
// entries move: in the end each key has been charged what was admitted.
func TestNoChargeIsLost(t *testing.T) {
	const keys, workers, rounds = 12, 8, 2000
	for _, a := range algorithms {
		s := New(WithMaxKeys(400))
		quota := int64(3 * workers * rounds)
		if a == ratelimit.AlgorithmSlidingLog {
			quota = 20_000
		}
		l := limitOf(a, quota, ratelimit.MaxWindow)
		if a.Bucket() {
			l.Quota = 1
			l.Burst = min(quota, 99) // no more than it drains in a hundred years
			quota = l.Capacity()
		}
		// They have used more than any passer, so that none of them is forgotten.
		used := quota/2 + 1
		for key := range keys {
			admit(t, s, on(name(key), l, used))
		}
		brief := limitOf(a, 1000, time.Millisecond)
		var admitted [keys]atomic.Int64
		var wait sync.WaitGroup
		for worker := range workers {
			wait.Go(func() {
				random := rand.New(rand.NewPCG(uint64(worker), 7))
				results := make([]ratelimit.Result, 1)
				for i := range rounds {
					// One to three of them, as one request.
					some, all := random.Perm(keys)[:1+random.IntN(3)], true
					charges, answers := make([]ratelimit.Charge, len(some)), make([]ratelimit.Result, len(some))
					for j, key := range some {
						charges[j] = on(name(key), l, 1)
					}
					if err := s.Take(t.Context(), charges, answers); err != nil {
						t.Error(err)
					}
					for _, r := range answers {
						all = all && r.Allowed
					}
					for _, key := range some {
						if all {
							admitted[key].Add(1)
						}
					}
					// Somebody who is gone at once, by himself or by Reset.
					passer := on(fmt.Sprint("passer", worker, i), brief, 1)
					if err := s.Take(t.Context(), []ratelimit.Charge{passer}, results); err != nil {
						t.Error(err)
					}
					if i%3 == 0 {
						if err := s.Reset(t.Context(), []ratelimit.Key{passer.Key()}); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		wait.Wait()
		for key := range admitted {
			n := admitted[key].Load()
			if got := left(t, s, on(name(key), l, 0)); got != quota-used-n || n < min(quota-used, rounds/4) && !a.Bucket() || n == 0 {
				t.Errorf("%v: %d of key %d admitted and %d of %d left", a, n, key, got, quota)
			}
		}
		if stats := s.Stats(); stats.Forgotten+stats.Expired < rounds {
			t.Errorf("%v: %+v, want many passers gone", a, stats)
		}
		heldKeys(t, s)
	}
}

// TestEveryChangeIsStamped changes an entry and back again in every way there
// is. Its word must be another one afterwards, or else a compare-and-swap from
// before could be taken in.
func TestEveryChangeIsStamped(t *testing.T) {
	l := ratelimit.FixedWindow(100, time.Hour)
	c := on("client", l, 1)
	adjust := func(s *Store, cost, newCost int64) {
		a := ratelimit.Adjustment{Policy: c.Policy, Partition: c.Partition, Limit: l, At: newFakeClock().us.Load(), Cost: cost, NewCost: newCost}
		if err := s.Adjust(t.Context(), []ratelimit.Adjustment{a}); err != nil {
			t.Fatal(err)
		}
	}
	for what, change := range map[string]func(s *Store, sh *shard, e *entry){
		"adjusted": func(s *Store, _ *shard, _ *entry) { adjust(s, 1, 2); adjust(s, 2, 1) },
		"turned": func(s *Store, _ *shard, _ *entry) {
			take(t, s, on("client", ratelimit.FixedWindow(200, time.Hour), 0))
			take(t, s, on("client", l, 0))
		},
		"reset": func(s *Store, _ *shard, _ *entry) {
			if err := s.Reset(t.Context(), []ratelimit.Key{c.Key()}); err != nil {
				t.Fatal(err)
			}
			admit(t, s, c)
		},
		"moved": func(_ *Store, sh *shard, e *entry) {
			left := e.leave()
			e.settle(left, sh.nextStamp())
		},
	} {
		s, _ := openSteady(10)
		table := s.table.Load()
		admit(t, s, c)
		sh, fraction := table.place(table.tag(&c))
		e := sh.find(table.tag(&c), fraction)
		word, slot := e.word, e
		change(s, sh, e)
		e = sh.find(table.tag(&c), fraction)
		if e != slot || e.word>>packShift != word>>packShift || e.word&openBit == 0 {
			t.Fatalf("%s: the entry is not as it was: %x, %x", what, word, e.word)
		}
		if e.word == word {
			t.Errorf("%s: the word is the same as before", what)
		}
	}
}

// TestClosedUnderLock looks at an entry whenever the store reads its clock
// while it holds the lock, as it does before it decides: nobody may get in.
func TestClosedUnderLock(t *testing.T) {
	var s *Store
	c := on("client", ratelimit.FixedWindow(100, time.Hour), 1)
	looked := 0
	fake := newFakeClock()
	s = New(WithMaxKeys(10), WithSteadyClock(func() time.Time {
		if s != nil {
			table := s.table.Load()
			sh, fraction := table.place(table.tag(&c))
			if sh.mu.TryLock() {
				sh.mu.Unlock()
			} else if e := sh.find(table.tag(&c), fraction); e != nil {
				looked++
				if e.word&openBit != 0 {
					t.Error("the entry is open")
				}
			}
		}
		return fake.now()
	}))
	r := admit(t, s, c)
	for what, call := range map[string]func() error{
		"another quota": func() error {
			return s.Take(t.Context(), []ratelimit.Charge{on("client", ratelimit.FixedWindow(50, time.Hour), 1)}, make([]ratelimit.Result, 1))
		},
		"several": func() error {
			return s.Take(t.Context(), []ratelimit.Charge{c, as(ratelimit.ModeOnDenial, on("other", c.Limit, 1))}, make([]ratelimit.Result, 2))
		},
		"adjust": func() error {
			return s.Adjust(t.Context(), []ratelimit.Adjustment{{Policy: c.Policy, Partition: c.Partition, Limit: c.Limit, At: r.At, Cost: 1, NewCost: 2}})
		},
	} {
		looked = 0
		if err := call(); err != nil || looked == 0 {
			t.Errorf("%s: error %v, and the clock was read %d times under the lock", what, err, looked)
		}
		heldKeys(t, s) // and it is open again
	}
}

// TestSlotChangesHands has a slot go to another key and back, over and over,
// while the first one is charged: none of its answers may be the other's.
func TestSlotChangesHands(t *testing.T) {
	s := New(WithMaxKeys(3))
	table, l := s.table.Load(), ratelimit.FixedWindow(1_000_000, ratelimit.MaxWindow)
	admit(t, s, on("holds the limit", l, 1))
	mine, other := on("mine", l, 1), on("", l, 900_000)
	for i := 0; home(table.tag(&mine)) != home(table.tag(&other)); i++ {
		other.Partition = ratelimit.Partition(name(i))
	}
	done := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		defer close(done)
		results := make([]ratelimit.Result, 1)
		for range 20_000 {
			for _, c := range []ratelimit.Charge{other, mine} {
				if err := s.Take(t.Context(), []ratelimit.Charge{c}, results); err != nil {
					t.Error(err)
				}
				if err := s.Reset(t.Context(), []ratelimit.Key{c.Key()}); err != nil {
					t.Error(err)
				}
			}
		}
	})
	wait.Go(func() {
		results, peek := make([]ratelimit.Result, 1), as(ratelimit.ModePeek, mine)
		for {
			select {
			case <-done:
				return
			default:
			}
			if err := s.Take(t.Context(), []ratelimit.Charge{peek}, results); err != nil {
				t.Error(err)
			}
			if results[0].Remaining < 900_000 {
				t.Errorf("%+v, which is what the other has left", results[0])
				return
			}
		}
	})
	wait.Wait()
}

// TestAsOfChangedQuota: a bucket whose quota changes has drained at the old one
// until then, to the last microsecond.
func TestAsOfChangedQuota(t *testing.T) {
	slow, fast := ratelimit.TokenBucket(7, time.Minute, 100), ratelimit.TokenBucket(13, time.Minute, 100)
	s, clock := openSteady(10)
	admit(t, s, on("client", slow, 50))
	admit(t, s, on("client", slow, 1)) // by the fast path
	clock.advance(12_345_678 * time.Microsecond)
	model := algorithm.State{Time: clock.us.Load() - 12_345_678, Level: 51}
	model = algorithm.AsOf(model, clock.us.Load(), &slow)
	for range 3 {
		got := take(t, s, on("client", fast, 1))[0]
		var want ratelimit.Result
		if model, want = algorithm.Step(model, clock.us.Load(), fast, 1); !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v, want %+v", got, want)
		}
		clock.advance(1234567 * time.Microsecond)
	}
}
