package memstore

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// TestDenialCopies hammers a few keys, most requests on which are denied from
// copies, while the clock goes on and charges are given back: in the end each
// key has admitted exactly what came back, since the last one to come finds
// nothing left.
func TestDenialCopies(t *testing.T) {
	for _, a := range algorithms {
		s, clock := openSteady(10)
		l := limitOf(a, 10, time.Second)
		var admitted [6]atomic.Int64
		for key := range admitted {
			admit(t, s, on(name(key), l, 1)) // from here on no time is lost on a full bucket
			admitted[key].Add(1)
		}
		var workers sync.WaitGroup
		for worker := range 8 {
			workers.Go(func() {
				results := make([]ratelimit.Result, 1)
				for i := range 4000 {
					key := (worker + i) % len(admitted)
					if err := s.Take(t.Context(), []ratelimit.Charge{on(name(key), l, 1)}, results); err != nil {
						t.Error(err)
					}
					if results[0].Allowed {
						admitted[key].Add(1)
					}
					if i%100 == 0 {
						clock.advance(37 * time.Millisecond)
					}
				}
			})
		}
		workers.Wait()
		elapsed := time.Duration(8*40*37) * time.Millisecond
		for key := range admitted {
			n := admitted[key].Load()
			for take(t, s, on(name(key), l, 1))[0].Allowed {
				n++
			}
			// In windows of a second: one fixed window more than those that
			// have passed, and whatever the others let in.
			least, most := int64(0), 10+10*int64(elapsed/time.Second+1)
			if a.Bucket() {
				least = 10 + 10*elapsed.Milliseconds()/1000
				most = least
			}
			if n < least || n > most {
				t.Errorf("%v: key %d admitted %d in %v, want %d to %d", a, key, n, elapsed, least, most)
			}
		}
	}
}

// TestCopyIsWithdrawn changes an entry in every way there is after it has
// denied; the next request must see it.
func TestCopyIsWithdrawn(t *testing.T) {
	for _, a := range algorithms {
		for what, change := range map[string]func(s *Store, c ratelimit.Charge, at int64){
			"reset": func(s *Store, c ratelimit.Charge, _ int64) {
				if err := s.Reset(t.Context(), []ratelimit.Key{c.Key()}); err != nil {
					t.Fatal(err)
				}
			},
			"adjust": func(s *Store, c ratelimit.Charge, at int64) {
				a := ratelimit.Adjustment{Policy: c.Policy, Partition: c.Partition, Limit: c.Limit, At: at, Cost: 5, NewCost: 4}
				if err := s.Adjust(t.Context(), []ratelimit.Adjustment{a}); err != nil {
					t.Fatal(err)
				}
			},
		} {
			s, _ := openSteady(10)
			c := on("client", limitOf(a, 5, time.Hour), 5)
			at := admit(t, s, c).At
			c.Cost = 1
			deny(t, s, c)
			deny(t, s, c)
			change(s, c, at)
			if !take(t, s, c)[0].Allowed {
				t.Errorf("%v, %s: still denied", a, what)
			}
		}
		// Forced debt makes the wait longer.
		s, _ := openSteady(10)
		c := on("client", limitOf(a, 5, time.Hour), 5)
		admit(t, s, c)
		c.Cost = 1
		before := deny(t, s, c)
		take(t, s, as(ratelimit.ModeForce, on("client", c.Limit, 3)))
		after := deny(t, s, c)
		if a.Bucket() && after.RetryAfter <= before.RetryAfter || after.RetryAfter < before.RetryAfter {
			t.Errorf("%v: wait %v, and %v with more debt", a, before.RetryAfter, after.RetryAfter)
		}
		// Another quota, and the first one again.
		admit(t, s, on("client", limitOf(a, 50, time.Hour), 1))
		deny(t, s, c)
	}
}

// TestCopyOfEvicted: an entry that goes takes its copy along.
func TestCopyOfEvicted(t *testing.T) {
	s, clock := openSteady(1)
	c := on("client", limitOf(ratelimit.AlgorithmSlidingLog, 1, time.Minute), 1)
	admit(t, s, c)
	deny(t, s, c)
	if sh, _ := s.table.Load().place(s.table.Load().tag(&c)); !sh.denials.answer(s.table.Load().tag(&c), &c, clock.us.Load(), new(ratelimit.Result)) {
		t.Error("there is no copy to begin with")
	}
	clock.advance(time.Minute)
	admit(t, s, on("another", ratelimit.PerHour(1), 1))
	sh, _ := s.table.Load().place(s.table.Load().tag(&c))
	for i := range sh.denials {
		if d := &sh.denials[i]; d.tag.Load() != 0 || d.limit.Load() != nil {
			t.Errorf("a copy is left of an entry that made way")
		}
	}
}
