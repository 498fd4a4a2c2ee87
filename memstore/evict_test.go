package memstore

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// TestSmallestShareGoes has clients who have used very different shares of
// very different limits, and newcomers who take their places one by one.
func TestSmallestShareGoes(t *testing.T) {
	type client struct {
		used, capacity int64
		window         time.Duration
	}
	// In the order in which they have to go; the least used in units is not
	// the least used in share, nor the one that expires first.
	clients := []client{
		{5, 1000, time.Hour},
		{1, 100, time.Minute},
		{40, 1000, time.Second},
		{1, 10, 24 * time.Hour},
		{300, 1000, time.Minute},
		{1, 2, time.Hour},
		{3, 4, time.Second},
	}
	for _, a := range algorithms {
		s, _ := open(len(clients) + 1)
		charge := func(i int) ratelimit.Charge {
			return on(name(i), limitOf(a, clients[i].capacity, clients[i].window), clients[i].used)
		}
		// Not in that order.
		for i := range clients {
			admit(t, s, charge((i*3+2)%len(clients)))
		}
		admit(t, s, on("blocked", limitOf(a, 3, time.Second), 3))
		for gone := range clients {
			admit(t, s, on(fmt.Sprint("newcomer", gone), limitOf(a, 4, time.Minute), 4))
			for i := range clients {
				c := charge(i)
				want := c.Limit.Capacity() - c.Cost
				if i <= gone {
					want = c.Limit.Capacity()
				}
				if got := peekLeft(t, s, c); got != want {
					t.Fatalf("%v, %d newcomers: client %d has %d left, want %d", a, gone+1, i, got, want)
				}
			}
		}
		deny(t, s, on("blocked", limitOf(a, 3, time.Second), 1))
		if stats := s.Stats(); stats.Forgotten != int64(len(clients)) || stats.Spilled != 0 {
			t.Errorf("%v: %+v", a, stats)
		}
	}
}

// peekLeft is what an entry of the key has left; all if it has none, even if
// there is no room for one.
func peekLeft(t testing.TB, s *Store, c ratelimit.Charge) int64 {
	t.Helper()
	table := s.table.Load()
	sh, fraction := table.place(table.tag(&c))
	e := sh.find(table.tag(&c), fraction)
	if e == nil {
		return c.Limit.Capacity()
	}
	used := sh.used(e, s.clock.now())
	return used.capacity - used.used
}

// TestExpiredGoesFirst: what has expired makes way before anybody is forgotten,
// however little he has used. There are no more keys than candidates.
func TestExpiredGoesFirst(t *testing.T) {
	for _, a := range algorithms {
		s, clock := open(candidates)
		for i := range candidates / 2 {
			admit(t, s, on(name(i), limitOf(a, 10, time.Second), 9))
			admit(t, s, on(name(i), limitOf(a, 100, time.Hour), 1))
		}
		clock.advance(3 * time.Second)
		for i := range candidates / 2 {
			admit(t, s, on(name(i), limitOf(a, 100, 2*time.Hour), 1))
		}
		if stats := s.Stats(); stats.Forgotten != 0 || stats.Expired != candidates/2 || stats.Keys != candidates {
			t.Errorf("%v: %+v, want %d expired and none forgotten", a, stats, candidates/2)
		}
	}
}

// TestNothingLeaks lets keys with logs and limits of their own come and go.
func TestNothingLeaks(t *testing.T) {
	s, clock := open(20)
	for i := range 5000 {
		a := algorithms[i%len(algorithms)]
		for range 4 {
			clock.advance(time.Second)
			// Each has another quota, and changes it.
			admit(t, s, on(name(i), limitOf(a, int64(100+i), 24*time.Hour), 1))
			admit(t, s, on("steady", limitOf(a, int64(5000+i), time.Hour), 1))
		}
		if i%7 == 0 {
			c := on(name(i), limitOf(a, 1, 24*time.Hour), 1)
			if err := s.Reset(t.Context(), []ratelimit.Key{c.Key()}); err != nil {
				t.Fatal(err)
			}
		}
	}
	table := s.table.Load()
	for i := range table.shards {
		sh := &table.shards[i]
		if n := len(sh.limits.number); n > 20 {
			t.Errorf("%d limits are held for 20 keys", n)
		}
		if n := sh.limits.numbers; n > 25 {
			t.Errorf("%d numbers of limits for 20 keys", n)
		}
		if n := len(sh.logs.pages); n > 40 {
			t.Errorf("%d pages of logs for 20 keys", n)
		}
	}
	heldKeys(t, s)
}

// TestRoomIsTaken has two newcomers in one request, for both of whom there is
// room, but only for one of them: the other's charge must not be lost.
func TestRoomIsTaken(t *testing.T) {
	for _, a := range algorithms {
		s, _ := open(2)
		admit(t, s, on("blocked", limitOf(a, 1, time.Hour), 1))
		admit(t, s, on("used", limitOf(a, 10, time.Hour), 1))
		one := limitOf(a, 1, time.Minute)
		r := take(t, s, on("first", one, 1), on("second", one, 1))
		if !r[0].Allowed || !r[1].Allowed {
			t.Fatalf("%v: %+v, want both admitted", a, r)
		}
		deny(t, s, on("first", one, 1))
		deny(t, s, on("second", one, 1))
		deny(t, s, on("third", one, 1))
		deny(t, s, on("blocked", limitOf(a, 1, time.Hour), 1))
	}
}

// TestSurelyUsed: what is told of an entry without unpacking it is so.
func TestSurelyUsed(t *testing.T) {
	for _, l := range oddLimits {
		random := rand.New(rand.NewPCG(uint64(l.Quota), uint64(l.Window)))
		s, clock := openSteady(100)
		table, c := s.table.Load(), as(ratelimit.ModeForce, on("client", l, 1))
		sh, fraction := table.place(table.tag(&c))
		surely, used := 0, 0
		for range 2000 {
			take(t, s, c)
			clock.advance(time.Duration(random.Int64N(int64(2*l.Window)/max(l.Quota, 1) + 2000)))
			if random.IntN(20) == 0 {
				clock.advance(time.Duration(random.Int64N(int64(2 * l.Window))))
			}
			e, now := sh.find(table.tag(&c), fraction), clock.us.Load()
			is := sh.used(e, now).used > 0
			if is {
				used++
			}
			if now < sh.surelyUsed(e) {
				if surely++; !is {
					t.Fatalf("%v: what is as good as new is surely used", l)
				}
			}
		}
		if newRate(&l).kind != kindWhole && surely == 0 && used > 0 {
			t.Errorf("%v: %d times something was used, and never surely", l, used)
		}
	}
}
