package ratelimit_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

func TestTierAnswersAreCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := new(directory)
		d.set("k1", "ann", "free")
		store := newModelStore()
		l := mustNew(t, store, ratelimit.Policy{Name: "plan", Tiers: d.tiers()})
		want := func(what, key, limit, partition string, asked int) {
			t.Helper()
			_, header := begin(l, with(key))
			if got := header.Get("X-RateLimit-Limit"); got != limit {
				t.Errorf("%s: limit %s, want %s", what, got, limit)
			}
			if got := store.charges[len(store.charges)-1].Partition; string(got) != partition {
				t.Errorf("%s: partition %q, want %q", what, got, partition)
			}
			if d.asked != asked {
				t.Errorf("%s: the resolver was asked %d times, want %d", what, d.asked, asked)
			}
		}
		want("first", "k1", "2", "user:ann", 1)
		d.set("k1", "ann", "gold")
		time.Sleep(30*time.Second - 1)
		want("just before it is old", "k1", "2", "user:ann", 1)
		time.Sleep(time.Nanosecond)
		want("old", "k1", "50", "user:ann", 2)
		want("a key nobody has", "k2", "2", "anon-ip:192.0.2.1", 3)
		want("the same", "k2", "2", "anon-ip:192.0.2.1", 3)
		want("no key", "", "2", "anon-ip:192.0.2.1", 4)
		want("the same", "", "2", "anon-ip:192.0.2.1", 4)
		d.fail(errDirectory)
		time.Sleep(time.Minute)
		want("the resolver fails", "k1", "50", "user:ann", 5)
		want("again within a second", "k1", "50", "user:ann", 5)
		want("of one who is not known", "k3", "2", "anon-ip:192.0.2.1", 6)
		want("again within a second", "k3", "2", "anon-ip:192.0.2.1", 6)
		d.fail(nil)
		time.Sleep(time.Second)
		d.set("k3", "cid", "gold")
		want("afterwards", "k3", "50", "user:cid", 7)
	})
}

// An answer about a client whose address is what counts is about no one
// address.
func TestTheUnknownAreCountedByTheirOwnAddress(t *testing.T) {
	store := newModelStore()
	l := mustNew(t, store, ratelimit.Policy{Name: "plan", Tiers: new(directory).tiers()})
	for _, peer := range []string{"192.0.2.7:1", "192.0.2.8:1"} {
		r := with("made-up")
		r.peer = peer
		begin(l, r)
	}
	if a, b := store.charges[0].Partition, store.charges[1].Partition; a != "anon-ip:192.0.2.7" || b != "anon-ip:192.0.2.8" {
		t.Errorf("partitions %q and %q", a, b)
	}
}

func TestACachedIdentityIsItsOwn(t *testing.T) {
	token := []byte("user:ann gold")
	text := unsafe.String(&token[0], len(token))
	plans := new(directory).tiers()
	plans.Resolve = func(*ratelimit.Request) (ratelimit.Identity, error) {
		return ratelimit.Identity{Key: ratelimit.Partition(text[:8]), Tier: text[9:]}, nil
	}
	store := newModelStore()
	l := mustNew(t, store, ratelimit.Policy{Name: "plan", Tiers: plans})
	for range 2 {
		_, header := begin(l, with("k1"))
		if got := store.charges[len(store.charges)-1].Partition; got != "user:ann" || header.Get("X-RateLimit-Limit") != "50" {
			t.Errorf("partition %q, limit %s", got, header.Get("X-RateLimit-Limit"))
		}
		copy(token, "user:bob free")
	}
}

// Who is known is who the resolver has a tier or a limit for.
func TestAFloodOfKeysPushesNoKnownClientOut(t *testing.T) {
	known := map[string]ratelimit.Identity{
		"own":    {Key: "user:own", Limit: ratelimit.PerMinute(5)},
		"times":  {Key: "user:times", Times: 5},
		"exempt": {Key: "user:exempt", Tier: "monitoring"},
	}
	for i := range 60 {
		known["k"+strconv.Itoa(i)] = ratelimit.Identity{Key: ratelimit.UserKey(strconv.Itoa(i)), Tier: "gold"}
	}
	asked := 0
	plans := new(directory).tiers()
	plans.MaxKnown, plans.MaxUnknown = len(known), 10
	plans.Limits[""] = ratelimit.PerMinute(1)
	plans.Resolve = func(r *ratelimit.Request) (ratelimit.Identity, error) {
		asked++
		key := r.Header("X-API-Key")
		if who, ok := known[key]; ok {
			return who, nil
		}
		switch len(key) % 4 {
		case 0:
			return ratelimit.Identity{}, errDirectory
		case 1:
			return ratelimit.Identity{Key: ratelimit.HeaderKey("X-API-Key", key)}, nil
		case 2:
			return ratelimit.Identity{Key: ratelimit.HeaderKey("X-API-Key", key), Tier: "unheard-of"}, nil
		default:
			return ratelimit.Identity{Tier: "gold"}, nil
		}
	}
	l := mustNew(t, still{}, ratelimit.Policy{Name: "plan", Tiers: plans})
	for key := range known {
		begin(l, with(key))
	}
	for i := range 2000 {
		begin(l, with(strings.Repeat("x", i%4)+"made-up"+strconv.Itoa(1000+i)))
	}
	asked = 0
	for key := range known {
		begin(l, with(key))
	}
	if asked != 0 {
		t.Errorf("after the flood %d of %d clients had to be resolved again", asked, len(known))
	}
}

func TestForgetAppliesToTheNextRequestEverywhere(t *testing.T) {
	d := new(directory)
	d.set("k1", "ann", "free")
	d.set("k2", "ann", "free")
	d.set("k3", "bob", "free")
	plans := d.tiers()
	plans.Forget(ratelimit.UserKey("ann")) // before anybody uses it
	one := mustNew(t, newModelStore(), ratelimit.Policy{Name: "plan", Tiers: plans})
	two := mustNew(t, newModelStore(), ratelimit.Policy{Name: "plan", Tiers: plans}, ratelimit.Policy{Name: "more", Tiers: plans})
	limit := func(l *ratelimit.Limiter, key string) string {
		_, header := begin(l, with(key))
		return header.Get("X-RateLimit-Limit")
	}
	for _, key := range []string{"k1", "k2", "k3"} {
		if a, b := limit(one, key), limit(two, key); a != "2" || b != "2" {
			t.Errorf("key %s: limits %s and %s", key, a, b)
		}
	}
	if d.asked != 3 {
		t.Errorf("two limiters asked %d times for three keys", d.asked)
	}
	d.set("k1", "ann", "gold")
	d.set("k2", "ann", "gold")
	d.set("k3", "bob", "gold")
	plans.Forget(ratelimit.UserKey("ann"))
	plans.Forget("")
	for key, want := range map[string]string{"k1": "50", "k2": "50", "k3": "2"} {
		if a, b := limit(one, key), limit(two, key); a != want || b != want {
			t.Errorf("ann was forgotten, key %s: limits %s and %s, want %s", key, a, b, want)
		}
	}
	plans.Forget(ratelimit.HeaderKey("X-API-Key", "k3"))
	if a := limit(one, "k3"); a != "50" || d.asked != 6 {
		t.Errorf("key k3 was forgotten: limit %s after %d questions, want 50 and 6", a, d.asked)
	}
}

// countingStore counts the calls of Take.
type countingStore struct {
	*modelStore
	takes atomic.Int64
}

func (s *countingStore) Take(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
	s.takes.Add(1)
	return s.modelStore.Take(ctx, charges, results)
}

func TestOneWhoWaitsForATierLeavesWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &directory{slow: func(*ratelimit.Request) { time.Sleep(time.Second) }}
		d.set("k1", "ann", "gold")
		store := &countingStore{modelStore: newModelStore()}
		var mu sync.Mutex
		reasons := map[ratelimit.Reason]int{}
		l := mustNew(t, store,
			ratelimit.Policy{Name: "ip", Limit: ratelimit.PerMinute(100)},
			ratelimit.Policy{Name: "plan", Tiers: d.tiers()},
			ratelimit.Observe(ratelimit.Observer{Decision: func(_ context.Context, o *ratelimit.Observation) {
				mu.Lock()
				defer mu.Unlock()
				reasons[o.Decision.Reason]++
				if o.Decision.Reason == ratelimit.ReasonCanceled && !errors.Is(o.Decision.Err, context.DeadlineExceeded) {
					t.Errorf("canceled for %v", o.Decision.Err)
				}
			}}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() { begin(l, with("k1")) })
		}
		synctest.Wait()
		all.Go(func() {
			r := with("k1")
			r.ctx = ctx
			call, header := begin(l, r)
			if call.Proceed() || call.Answer().Status != http.StatusServiceUnavailable || header.Get("X-RateLimit-Limit") != "" {
				t.Errorf("answer %+v, fields %v", call.Answer(), header)
			}
			call.Finish(call.Answer().Status, false)
		})
		all.Wait()
		if d.asked != 1 || reasons[ratelimit.ReasonCanceled] != 1 || reasons[ratelimit.ReasonWithinLimits] != 10 || store.takes.Load() != 10 {
			t.Errorf("asked %d times, reasons %v, %d takes; want 1, one canceled of 11, and 10", d.asked, reasons, store.takes.Load())
		}
	})
}

// The end of the request's own context is no failure of the resolver, cached or
// not.
func TestATierResolverThatIsCutShortHasNotFailed(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, by := range []ratelimit.KeyBuilder{{}, ratelimit.ByHeader("X-API-Key")} {
		d := &directory{err: context.Canceled}
		plans := d.tiers()
		plans.By = by
		var log bytes.Buffer
		store := newModelStore()
		l := mustNew(t, store, ratelimit.Policy{Name: "plan", Tiers: plans}, ratelimit.Logger(slog.New(slog.NewTextHandler(&log, nil))))
		if call, _ := begin(l, &fakeRequest{ctx: ended, header: with("k1").header}); call.Proceed() || !errors.Is(call.Decision().Err, context.Canceled) || call.Decision().Reason != ratelimit.ReasonCanceled {
			t.Errorf("decision %+v", call.Decision())
		}
		if log.Len() > 0 || len(store.charges) > 0 {
			t.Errorf("logged %q, charged %v", log.String(), store.charges)
		}
		d.fail(nil)
		d.set("k1", "ann", "gold")
		if _, header := begin(l, with("k1")); header.Get("X-RateLimit-Limit") != "50" {
			t.Errorf("the next request has the limit %s", header.Get("X-RateLimit-Limit"))
		}
	}
}

func TestAPanicOfATierResolverIsTheRequestsOwn(t *testing.T) {
	d := &directory{slow: func(*ratelimit.Request) { panic("bug") }}
	d.set("k1", "ann", "gold")
	l := mustNew(t, newModelStore(), ratelimit.Policy{Name: "plan", Tiers: d.tiers()})
	func() {
		defer func() {
			if recover() != "bug" {
				t.Error("the panic did not pass through")
			}
		}()
		begin(l, with("k1"))
	}()
	d.slow = nil
	if _, header := begin(l, with("k1")); header.Get("X-RateLimit-Limit") != "50" || d.asked != 2 {
		t.Errorf("the next request has the limit %s after %d questions", header.Get("X-RateLimit-Limit"), d.asked)
	}
}

// What is wrong with tiers is logged now and then, and names no client.
