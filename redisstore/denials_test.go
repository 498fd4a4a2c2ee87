package redisstore

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/redisstore/redistest"
)

// simulated makes a store whose clock the test moves.
func simulated(t testing.TB, client redis.UniversalClient, options ...Option) (s *Store, advance func(time.Duration)) {
	t.Helper()
	var mu sync.Mutex
	now := time.Unix(1_800_000_000, 0)
	clock := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}
	advance = func(d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(d)
	}
	return open(t, client, append([]Option{withClock(clock)}, options...)...), advance
}

// TestDenialCache floods a denied key: Redis is asked once for as long as the
// denial holds, and the answers are what Redis would say.
func TestDenialCache(t *testing.T) {
	server := redistest.Start(t)
	for _, l := range five(10, 10*time.Second) {
		s, advance := simulated(t, server.Client())
		exact, advanceExact := simulated(t, server.Client(), WithDenialCache(0, 0))
		ask := func(store *Store) ratelimit.Result { return take(t, store, charge("client", l, 1))[0] }
		for range 10 {
			ask(s)
			ask(exact)
		}
		calls := s.Stats().Calls
		for range 40 {
			for range 5 {
				if got, want := ask(s), ask(exact); got != want {
					t.Fatalf("%v: %+v from memory, %+v from Redis", l.Algorithm, got, want)
				}
			}
			advance(100 * time.Millisecond)
			advanceExact(100 * time.Millisecond)
		}
		// Of 4 seconds in which a denial holds for one at most; what a bucket
		// has back is taken.
		if n := s.Stats().Calls - calls; n > 14 {
			t.Errorf("%v: %d calls for 200 denied requests in 4 seconds", l.Algorithm, n)
		}
	}
}

// TestDenialCacheForgets has another instance reset a key: this one sees it
// when its denial is too old, and its own reset at once.
func TestDenialCacheForgets(t *testing.T) {
	server := redistest.Start(t)
	s, advance := simulated(t, server.Client())
	other := open(t, server.Client(), WithPrefix(s.keys.prefix), withClock(s.clock))
	ctx := context.Background()
	l := ratelimit.FixedWindow(1, time.Hour)
	c := charge("client", l, 1)
	denied := func(want bool, what string) {
		t.Helper()
		if r := take(t, s, c)[0]; r.Allowed == want {
			t.Errorf("%s: allowed %t", what, r.Allowed)
		}
	}
	take(t, s, c)
	denied(true, "no quota left")
	if err := other.Reset(ctx, []ratelimit.Key{c.Key()}); err != nil {
		t.Fatal(err)
	}
	advance(DefaultDenialAge - time.Microsecond)
	denied(true, "reset elsewhere, just before the denial is too old")
	advance(time.Microsecond)
	denied(false, "reset elsewhere, the denial too old")
	denied(true, "no quota left again")
	if err := s.Reset(ctx, []ratelimit.Key{c.Key()}); err != nil {
		t.Fatal(err)
	}
	denied(false, "reset here")
	denied(true, "no quota left once more")
	raised := c
	raised.Limit.Quota = 2
	if r := take(t, s, raised)[0]; !r.Allowed {
		t.Error("denied by what is remembered of a smaller quota")
	}
	settles := c
	settles.Settles = true
	hits := s.Stats().DenialHits
	for range 3 {
		take(t, s, settles)
		take(t, s, c, ratelimit.Charge{Policy: "strikes", Partition: "client", Limit: l, Cost: 1, Mode: ratelimit.ModeOnDenial})
	}
	if n := s.Stats().DenialHits; n != hits {
		t.Errorf("%d requests that settle or strike were answered from memory", n-hits)
	}
}

// TestDenialCacheOfPenalties floods a key that has a penalty: as long as its
// strikes are tolerated Redis is told of each, and while it is blocked of none.
func TestDenialCacheOfPenalties(t *testing.T) {
	server := redistest.Start(t)
	s, advance := simulated(t, server.Client(), WithDenialCache(time.Hour, 100))
	exact, advanceExact := simulated(t, server.Client(), WithDenialCache(0, 0))
	l, err := ratelimit.Penalty{Base: time.Minute, Cap: 3 * time.Minute, ForgetAfter: time.Hour, Tolerate: 3}.Limit()
	if err != nil {
		t.Fatal(err)
	}
	c := charge("client", ratelimit.FixedWindow(2, 24*time.Hour), 1)
	guard := c
	guard.Limit, guard.Mode = l, ratelimit.ModePenalty
	asked := 0
	for step := range 400 {
		before := s.Stats().Calls
		got, want := take(t, s, c, guard), take(t, exact, c, guard)
		if got[0] != want[0] || got[1] != want[1] {
			t.Fatalf("step %d: %+v from memory, %+v from Redis", step, got, want)
		}
		asked += int(s.Stats().Calls - before)
		advance(time.Second)
		advanceExact(time.Second)
	}
	// 2 admitted, 3 tolerated, blocked for 60, 120 and 180 seconds and more:
	// each block is asked for by the strike that begins it, and once more.
	if asked != 2+3+2*4 {
		t.Errorf("Redis was asked %d times, want 13", asked)
	}
}

// TestDenialRenewal lets many callers ask for a key whose denial is too old:
// one asks Redis, the others wait for it.
func TestDenialRenewal(t *testing.T) {
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr)
	s, advance := simulated(t, redis.NewClient(&redis.Options{Addr: proxy.Addr}))
	c := charge("client", ratelimit.FixedWindow(1, time.Hour), 1)
	take(t, s, c)
	take(t, s, c)
	before := s.Stats()
	advance(2 * time.Second)
	proxy.Hold()
	var wait sync.WaitGroup
	for range 50 {
		wait.Go(func() {
			if r := take(t, s, c)[0]; r.Allowed {
				t.Error("allowed")
			}
		})
	}
	redistest.Eventually(t, "one is on its way", func() bool {
		l := s.router.first
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.active) > 0
	})
	proxy.Release()
	wait.Wait()
	if after := s.Stats(); after.Requests-before.Requests != 1 || after.DenialHits-before.DenialHits != 49 {
		t.Errorf("50 requests for a denial that is too old: %d went to Redis, %d were answered from memory, want 1 and 49",
			after.Requests-before.Requests, after.DenialHits-before.DenialHits)
	}
}

// TestDenialCacheIsBounded denies more keys than it may remember.
func TestDenialCacheIsBounded(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, server.Client(), WithDenialCache(time.Minute, 160))
	for i := range 1000 {
		take(t, s, charge(fmt.Sprint("client", i), ratelimit.FixedWindow(1, time.Hour), 2))
	}
	held := 0
	for i := range s.denials.shards {
		held += len(s.denials.shards[i].entries)
	}
	if held > 160 || held < 100 || int64(held) != s.denials.count.Load() {
		t.Errorf("%d denials are remembered, counted %d, want up to 160", held, s.denials.count.Load())
	}
}
