package memstore

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// flood sends n requests, each with a key of its own that nobody else uses,
// under each of the limits in turn, and returns how many were admitted.
func flood(t testing.TB, s *Store, n int, limits ...ratelimit.Limit) (admitted int) {
	t.Helper()
	var (
		charges = make([]ratelimit.Charge, 1)
		results = make([]ratelimit.Result, 1)
		random  = rand.New(rand.NewPCG(1, uint64(n)))
		key     = make([]byte, 16)
	)
	for i := range n {
		binary.LittleEndian.PutUint64(key, random.Uint64())
		binary.LittleEndian.PutUint64(key[8:], uint64(i))
		l := limits[i%len(limits)]
		charges[0] = ratelimit.Charge{Policy: l.Window.String(), Partition: ratelimit.Partition(key), Limit: l, Cost: 1}
		if err := s.Take(t.Context(), charges, results); err != nil {
			t.Fatal(err)
		}
		if results[0].Allowed {
			admitted++
		}
	}
	return admitted
}

// floodSize is the ten million of the promise, or, with the race detector or
// -short, less.
func floodSize(maxKeys int) int {
	if raceEnabled || testing.Short() {
		return 3 * maxKeys
	}
	return 100 * maxKeys
}

// TestFlood blocks a thousand clients, half of them under a second policy with
// another window, and floods the store with a hundred times its cap of new
// keys under both policies. The clock stands still, so nobody is to be freed.
func TestFlood(t *testing.T) {
	const blocked, maxKeys = 1000, 100_000
	for _, a := range algorithms {
		t.Run(a.String(), func(t *testing.T) {
			t.Parallel()
			s, _ := open(maxKeys)
			limits := []ratelimit.Limit{limitOf(a, 10, time.Minute), limitOf(a, 100, 24*time.Hour)}
			client := func(i int, cost int64) ratelimit.Charge {
				c := on(name(i), limits[i%2], cost)
				c.Policy = limits[i%2].Window.String()
				return c
			}
			for i := range blocked {
				admit(t, s, client(i, limits[i%2].Quota))
			}
			flood(t, s, maxKeys, limits...)
			_, segments := heldKeys(t, s)
			pages := logPages(s)
			flood(t, s, floodSize(maxKeys), limits...)
			keys, after := heldKeys(t, s)
			if keys != maxKeys {
				t.Errorf("%d keys held, want the cap of %d", keys, maxKeys)
			}
			if after != segments || logPages(s) != pages {
				t.Errorf("the flood made %d segments and %d pages of logs of %d and %d", after, logPages(s), segments, pages)
			}
			freed := 0
			for i := range blocked {
				if take(t, s, client(i, 1))[0].Allowed {
					freed++
				}
			}
			if freed > 0 {
				t.Errorf("%d of %d blocked clients were let in again", freed, blocked)
			}
			if stats := s.Stats(); stats.Spilled > 0 || stats.Forgotten < int64(floodSize(maxKeys)) {
				t.Errorf("%+v, want a forgotten key for each one of the flood, and none limited together", stats)
			}
		})
	}
}

// logPages counts the pages of all logs. With the segments they are all that a
// store has of any size.
func logPages(s *Store) (pages int) {
	table := s.table.Load()
	for i := range table.shards {
		pages += len(table.shards[i].logs.pages)
	}
	return pages
}

func heap() int64 {
	runtime.GC()
	runtime.GC() // what the first one only finalised
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestFloodAtLimit floods with keys that are at their limit with their first
// request, so that soon all entries are and none may be given up. What the
// flood earns then is one client's quota for each shard.
func TestFloodAtLimit(t *testing.T) {
	const maxKeys = 10_000
	for _, a := range algorithms {
		t.Run(a.String(), func(t *testing.T) {
			t.Parallel()
			s, clock := open(maxKeys)
			one := limitOf(a, 1, time.Minute)
			for i := range 100 {
				admit(t, s, on(name(i), limitOf(a, 5, time.Hour), 5))
			}
			shards := len(s.table.Load().shards)
			admitted := flood(t, s, 10*maxKeys, one)
			if least, most := maxKeys-100, maxKeys-100+shards; admitted < least || admitted > most {
				t.Errorf("%d of the flood admitted, want %d to %d: one for each entry and one for each of %d shards", admitted, least, most, shards)
			}
			if again := flood(t, s, 10*maxKeys+1, one); again > shards {
				t.Errorf("%d more admitted, want no more than one for each of %d shards", again, shards)
			}
			for i := range 100 {
				deny(t, s, on(name(i), limitOf(a, 5, time.Hour), 1))
			}
			if stats := s.Stats(); stats.Forgotten > 0 || stats.Spilled == 0 {
				t.Errorf("%+v, want nobody forgotten and the newcomers limited together", stats)
			}
			// When those of the flood have expired there is room again.
			clock.advance(3 * time.Minute)
			for i := range 100 {
				admit(t, s, on(fmt.Sprint("newcomer", i), one, 1))
			}
		})
	}
}

// TestSmallCaps fills stores of every small size with blocked clients but for
// one entry, and floods them.
func TestSmallCaps(t *testing.T) {
	for _, a := range algorithms {
		for _, maxKeys := range []int{1, 2, 3, 10, 49, 50, 63, 64, 65, 100, 127, 1000} {
			t.Run(fmt.Sprint(a, "/", maxKeys), func(t *testing.T) {
				s, _ := open(maxKeys)
				l := limitOf(a, 3, time.Minute)
				// Up to the cap nobody is forgotten, however they are spread.
				for i := range maxKeys {
					admit(t, s, on(name(i), l, 1))
				}
				for i := range maxKeys {
					if got := left(t, s, on(name(i), l, 0)); got != 2 {
						t.Fatalf("client %d of %d has %d left, want 2", i, maxKeys, got)
					}
				}
				blocked := maxKeys / 2
				for i := range blocked {
					admit(t, s, on(name(i), l, 2))
				}
				flood(t, s, 20*maxKeys, limitOf(a, 5, time.Hour))
				for i := range blocked {
					deny(t, s, on(name(i), l, 1))
				}
				if keys, _ := heldKeys(t, s); keys != maxKeys {
					t.Errorf("%d keys, want %d", keys, maxKeys)
				}
			})
		}
	}
}

// TestNewcomersTogether has a store whose only entry is blocked.
func TestNewcomersTogether(t *testing.T) {
	for _, a := range algorithms {
		t.Run(a.String(), func(t *testing.T) {
			s, clock := open(1)
			admit(t, s, on("blocked", limitOf(a, 2, 2*time.Hour), 2))
			l := limitOf(a, 3, time.Minute)

			// A look changes nothing, and sees what there is for newcomers.
			if got := left(t, s, on("x", l, 0)); got != 3 {
				t.Errorf("%d left for newcomers, want 3", got)
			}
			admit(t, s, on("x", l, 1))
			admit(t, s, on("y", l, 1))
			if got := left(t, s, on("z", l, 0)); got != 1 {
				t.Errorf("2 of 3 used together: %d left", got)
			}
			deny(t, s, on("z", l, 2))
			// All or nothing, two newcomers of one policy being one.
			r := take(t, s, on("u", l, 1), on("v", l, 1))
			if !r[0].Allowed || r[1].Allowed {
				t.Errorf("1 and 1 with 1 left together: %+v", r)
			}
			admit(t, s, on("z", l, 1))
			deny(t, s, on("new", l, 1))
			if got := take(t, s, as(ratelimit.ModeForce, on("new", l, 1)))[0]; !got.Allowed {
				t.Errorf("forced: %+v", got)
			}
			// What they used cannot be given back, since nobody knows whose it was.
			now := clock.us.Load()
			if err := s.Adjust(t.Context(), []ratelimit.Adjustment{{Policy: "policy", Partition: "x", Limit: l, At: now, Cost: 1}}); err != nil {
				t.Fatal(err)
			}
			deny(t, s, on("x", l, 1))
			// Another policy's newcomers have their own.
			other := on("x", l, 3)
			other.Policy = "other"
			admit(t, s, other)
			deny(t, s, other)
			deny(t, s, on("blocked", limitOf(a, 2, 2*time.Hour), 1))
			if stats := s.Stats(); stats.Keys != 1 || stats.Forgotten != 0 || stats.Spilled < 6 {
				t.Errorf("%+v", stats)
			}
			clock.advance(5 * time.Hour)
			admit(t, s, on("new", l, 3))
			if got := left(t, s, on("new", l, 1)); got != 0 {
				t.Errorf("%d left of an entry of its own, want 0", got)
			}
		})
	}
}

// TestNewcomersOfManyPolicies has more policies than there are shared counts.
func TestNewcomersOfManyPolicies(t *testing.T) {
	s, clock := open(1)
	l := limitOf(ratelimit.AlgorithmFixedWindow, 1, time.Minute)
	admit(t, s, on("blocked", limitOf(ratelimit.AlgorithmFixedWindow, 1, time.Hour), 1))
	under := func(i int, mode ratelimit.Mode) ratelimit.Charge {
		c := as(mode, on("x", l, 1))
		c.Policy = name(i)
		return c
	}
	for i := range slotsPerSegment {
		admit(t, s, under(i, ratelimit.ModeEnforce))
	}
	r := deny(t, s, under(slotsPerSegment, ratelimit.ModeEnforce))
	if r.RetryAfter != time.Minute || r.Limit != 1 {
		t.Errorf("one policy too many: %+v", r)
	}
	if !take(t, s, under(slotsPerSegment, ratelimit.ModeForce))[0].Allowed {
		t.Error("a force was refused")
	}
	both := take(t, s, under(slotsPerSegment, ratelimit.ModeEnforce), under(slotsPerSegment+1, ratelimit.ModeOnDenial))
	if both[0].Allowed || !both[1].Allowed {
		t.Errorf("several: %+v", both)
	}
	clock.advance(time.Minute)
	admit(t, s, under(slotsPerSegment, ratelimit.ModeEnforce))
}

func as(mode ratelimit.Mode, c ratelimit.Charge) ratelimit.Charge {
	c.Mode = mode
	return c
}
