package ratelimit_test

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

func TestAllowPeekReset(t *testing.T) {
	store := newModelStore()
	l := mustNew(t, store,
		ratelimit.Policy{Name: "a", Key: ratelimit.ByUser(), Limit: ratelimit.SlidingLog(2, time.Hour)},
		ratelimit.Policy{Name: "b", Match: "GET /x", Limit: ratelimit.SlidingLog(0, time.Hour)},
		ratelimit.Policy{Name: "c", Tiers: &ratelimit.Tiers{
			Resolve: func(r *ratelimit.Request) (ratelimit.Identity, error) {
				return ratelimit.Identity{Key: ratelimit.UserKey(r.User())}, nil
			},
			Limits: map[string]ratelimit.Limit{"x": ratelimit.FixedWindow(100, time.Hour), "y": ratelimit.Unlimited}, Default: "x",
		}})
	key := ratelimit.UserKey("ann")
	for range 3 {
		if d := l.Peek(t.Context(), key); !d.Allowed || d.Result.Remaining != 2 || d.Policy != "c" && d.Policy != "a" {
			t.Fatalf("peek: %+v", d)
		}
	}
	for range 2 {
		if d := l.Allow(t.Context(), key); !d.Allowed {
			t.Fatalf("allow: %+v", d)
		}
	}
	if d := l.Peek(t.Context(), key); d.Allowed || d.Policy != "a" {
		t.Errorf("peek of a used-up key: %+v", d)
	}
	if d := l.Allow(t.Context(), "another"); !d.Allowed {
		t.Errorf("another key: %+v", d)
	}
	// The HTTP side counts the same user under the same key.
	if call, _ := begin(l, &fakeRequest{user: "ann"}); call.Proceed() {
		t.Error("a request of ann passed")
	}
	if err := l.Reset(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if d := l.AllowN(t.Context(), key, 2); !d.Allowed {
		t.Errorf("after a reset: %+v", d)
	}
	if d := l.Allow(t.Context(), "another"); !d.Allowed {
		t.Errorf("another key: %+v", d)
	}
	if d := l.Allow(t.Context(), "another"); d.Allowed {
		t.Error("the reset of one key reset another")
	}
	if d := l.AllowN(t.Context(), "big", 3); d.Allowed || d.RetryAfter != ratelimit.Never {
		t.Errorf("a cost above the capacity: %+v", d)
	}
}

func TestPoliciesOfADecisionBeyondTheInlineOnes(t *testing.T) {
	var policies ratelimit.Policies
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		policies = append(policies, ratelimit.Policy{Name: name, Limit: ratelimit.PerMinute(9)})
	}
	d := mustNew(t, newModelStore(), policies).Allow(t.Context(), "k")
	if got := d.Policies(); len(got) != 6 || got[0].Policy != "a" || got[5].Policy != "f" || got[5].Result.Remaining != 8 {
		t.Errorf("policies %+v", got)
	}
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mustNew(t, newModelStore(), ratelimit.Policy{Name: "p", Limit: ratelimit.TokenBucket(1, time.Second, 1)})
		start := time.Now()
		var done atomic.Int32
		for range 5 {
			go func() {
				if err := l.Wait(t.Context(), "k"); err != nil {
					t.Errorf("Wait: %v", err)
				}
				done.Add(1)
			}()
		}
		for second := range 5 {
			synctest.Wait()
			if got := done.Load(); got != int32(second+1) {
				t.Errorf("after %v %d were admitted, want %d", time.Since(start), got, second+1)
			}
			time.Sleep(time.Second)
		}
	})
}

func TestWaitHoldsTheDelayOfALeakyBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mustNew(t, newModelStore(), ratelimit.Policy{Name: "p", Limit: ratelimit.LeakyBucket(1, time.Second, 2)})
		start := time.Now()
		for i := range 4 {
			if err := l.Wait(t.Context(), "k"); err != nil || time.Since(start) != time.Duration(i)*time.Second {
				t.Errorf("wait %d took %v, error %v", i, time.Since(start), err)
			}
		}
	})
}

func TestWaitErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newModelStore()
		l := mustNew(t, store, ratelimit.Policy{Name: "p", Limit: ratelimit.SlidingLog(1, time.Minute), OnStoreFailure: ratelimit.FailClosed})
		if err := l.WaitN(t.Context(), "k", 2); !errors.Is(err, ratelimit.ErrNeverAdmitted) {
			t.Errorf("a cost above the capacity: %v", err)
		}
		l.Allow(t.Context(), "k")
		start := time.Now()
		short, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := l.Wait(short, "k"); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 0 {
			t.Errorf("a deadline before its turn: %v after %v", err, time.Since(start))
		}
		canceled, cancel := context.WithCancel(t.Context())
		go func() { time.Sleep(time.Second); cancel() }()
		if err := l.Wait(canceled, "k"); !errors.Is(err, context.Canceled) || time.Since(start) != time.Second {
			t.Errorf("a canceled wait: %v after %v", err, time.Since(start))
		}
		store.fails = errors.New("down")
		if err := l.Wait(t.Context(), "k"); !errors.Is(err, ratelimit.ErrStoreFailed) || !errors.Is(err, store.fails) {
			t.Errorf("a failed store: %v", err)
		}
		if err := l.Reset(t.Context(), "k"); !errors.Is(err, store.fails) {
			t.Errorf("a failed reset: %v", err)
		}
	})
}

func TestLeakyBucketHoldsARequestBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mustNew(t, newModelStore(), ratelimit.Policy{Name: "p", Limit: ratelimit.LeakyBucket(1, time.Second, 3)})
		start := time.Now()
		for i := range 2 {
			call, header := begin(l, &fakeRequest{})
			if !call.Proceed() || time.Since(start) != time.Duration(i)*time.Second {
				t.Errorf("request %d: proceeds %v after %v", i, call.Proceed(), time.Since(start))
			}
			// Held back or not, it is told the time that is left from now.
			if got, want := header.Get("X-RateLimit-Reset"), strconv.FormatInt(start.Unix()+int64(i)+1, 10); got != want {
				t.Errorf("request %d: X-RateLimit-Reset %s, want %s", i, got, want)
			}
		}
		// One that hangs up while it waits is not run, and its slot is gone.
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if call, header := begin(l, &fakeRequest{ctx: ctx}); call.Proceed() || call.Answer().Status != 503 || header.Get("RateLimit") != "" {
			t.Errorf("a request that hung up: %+v, %v", call.Answer(), header)
		}
		if call, _ := begin(l, &fakeRequest{}); !call.Proceed() || time.Since(start) != 3*time.Second {
			t.Errorf("the next one: proceeds %v after %v, want 3s", call.Proceed(), time.Since(start))
		}
	})
}
