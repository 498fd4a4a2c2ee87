package ratelimit_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

func TestPenalty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mustNew(t, newModelStore(),
			ratelimit.Policy{Name: "p", Key: ratelimit.ByUser(), Limit: ratelimit.SlidingLog(2, time.Second), Penalty: &ratelimit.Penalty{Base: time.Minute, Tolerate: 1}},
			ratelimit.Policy{Name: "wide", Key: ratelimit.ByConstant("all"), Limit: ratelimit.SlidingLog(100, time.Hour)})
		ask := func(user string, allowed bool, reason ratelimit.Reason, wait time.Duration) {
			t.Helper()
			call, _ := begin(l, &fakeRequest{user: user})
			d := call.Decision()
			if call.Proceed() != allowed || !allowed && (d.Reason != reason || d.RetryAfter != wait || d.Policy != "p") {
				t.Fatalf("proceed %t, reason %v, wait %v, policy %q; want %t, %v, %v", call.Proceed(), d.Reason, d.RetryAfter, d.Policy, allowed, reason, wait)
			}
			call.Finish(0, false)
		}
		ask("ann", true, 0, 0)
		ask("ann", true, 0, 0)
		ask("ann", false, ratelimit.ReasonRateLimited, time.Second) // tolerated
		ask("ann", false, ratelimit.ReasonBlocked, time.Minute)
		time.Sleep(30 * time.Second)
		ask("ann", false, ratelimit.ReasonBlocked, 30*time.Second)
		ask("bob", true, 0, 0)
		if d := l.Peek(t.Context(), ratelimit.UserKey("ann")); d.Allowed || d.Reason != ratelimit.ReasonBlocked || d.Result.Remaining != 0 || d.RetryAfter != 30*time.Second {
			t.Errorf("a peek at a blocked key: %+v", d)
		}
		time.Sleep(30 * time.Second)
		ask("ann", true, 0, 0)
		ask("ann", true, 0, 0)
		ask("ann", false, ratelimit.ReasonBlocked, 2*time.Minute)
		if err := l.Reset(t.Context(), ratelimit.UserKey("ann")); err != nil {
			t.Fatal(err)
		}
		ask("ann", true, 0, 0)
		// Refused and blocked requests cost the other policy nothing.
		if d := l.Peek(t.Context(), "another"); d.Policies()[1].Result.Remaining != 100 || len(d.Policies()) != 2 {
			t.Errorf("policies %+v", d.Policies())
		}
		if d := l.Allow(t.Context(), ratelimit.NamedKey("all")); d.Policies()[1].Result.Remaining != 93 {
			t.Errorf("%d left of the other policy, want 93", d.Policies()[1].Result.Remaining)
		}
	})
}

// One policy's refusals are no strikes of another: a stranger who is over his
// own limit must not get an account blocked.
func TestPenaltyIsThePolicysOwn(t *testing.T) {
	penalty := &ratelimit.Penalty{Base: time.Hour}
	l := mustNew(t, newModelStore(), ratelimit.Login(func(p *ratelimit.Policy) { p.Penalty = penalty }))
	for i := range 20 {
		call, _ := begin(l, &fakeRequest{account: string(rune('a' + i))})
		if call.Proceed() != (i < 5) {
			t.Fatalf("attempt %d: proceed %t", i, call.Proceed())
		}
		call.Finish(http.StatusUnauthorized, false)
	}
	for i := range 20 {
		call, _ := begin(l, &fakeRequest{account: string(rune('a' + i)), peer: "198.51.100.7:1"})
		if i < 5 && !call.Proceed() {
			t.Errorf("account %d is blocked for another client", i)
		}
		call.Finish(http.StatusOK, false)
	}
}

func TestPenaltyFreesNobodyElse(t *testing.T) {
	shadowed := ratelimit.Policy{Name: "s", Limit: ratelimit.PerHour(1), Shadow: true, Penalty: &ratelimit.Penalty{}}
	zero := ratelimit.Policy{Name: "z", Match: "POST", Limit: ratelimit.PerHour(0), Penalty: &ratelimit.Penalty{}}
	l := mustNew(t, newModelStore(), shadowed, zero)
	for range 3 {
		if call, _ := begin(l, &fakeRequest{}); !call.Proceed() {
			t.Fatal("a shadow's penalty refuses")
		}
		if call, _ := begin(l, &fakeRequest{method: "POST"}); call.Proceed() || call.Decision().Reason != ratelimit.ReasonRateLimited {
			t.Fatalf("a quota of 0: %+v", call.Decision())
		}
	}
}

func TestPenaltyErrors(t *testing.T) {
	for want, p := range map[string]ratelimit.Penalty{
		"Penalty.Base":        {Base: time.Microsecond},
		"Penalty.Cap":         {Base: time.Hour, Cap: time.Minute},
		"Penalty.Factor":      {Factor: -1},
		"Penalty.ForgetAfter": {ForgetAfter: -time.Second},
		"Penalty.Tolerate":    {Tolerate: -1},
		"whole number":        {Base: time.Second + 1},
	} {
		_, err := ratelimit.New(newModelStore(), ratelimit.Policy{Name: "p", Limit: ratelimit.PerMinute(1), Penalty: &p})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `policy "p"`) {
			t.Errorf("%+v: error %v, want one that names %s", p, err, want)
		}
	}
	l, err := ratelimit.Penalty{}.Limit()
	if err != nil {
		t.Fatal(err)
	}
	if got := l.String(); got != "penalty 0/d base 1min factor 2 cap 1d" && got != "penalty 0/d base min factor 2 cap d" {
		t.Errorf("the defaults are %q", got)
	}
	if _, err := ratelimit.New(newModelStore(), ratelimit.Policy{Name: "p", Limit: l}); err == nil || !strings.Contains(err.Error(), "Policy.Penalty") {
		t.Errorf("a penalty as a limit: error %v", err)
	}
	if _, err := l.MarshalText(); err == nil {
		t.Error("a penalty has a text form that can't be read back")
	}
	if _, err := ratelimit.ParseLimit(l.String()); err == nil {
		t.Error("a penalty is read as a limit")
	}
}

func TestBlockAfter(t *testing.T) {
	b := ratelimit.Block{Base: time.Minute, Factor: 3, Cap: 20 * time.Minute}
	for n, want := range []time.Duration{0, time.Minute, 3 * time.Minute, 9 * time.Minute, 20 * time.Minute, 20 * time.Minute} {
		if got := b.After(int64(n)); got != want {
			t.Errorf("block %d is %v, want %v", n, got, want)
		}
	}
	steady := ratelimit.Block{Base: time.Second, Factor: 1, Cap: ratelimit.MaxWindow}
	if got := steady.After(1 << 62); got != time.Second {
		t.Errorf("a factor of 1: %v", got)
	}
	huge := ratelimit.Block{Base: ratelimit.MaxWindow - time.Hour, Factor: 1000, Cap: ratelimit.MaxWindow}
	if got := huge.After(1 << 62); got != ratelimit.MaxWindow {
		t.Errorf("a huge block: %v", got)
	}
}

// What a limiter itself does, or gives for nothing, is no strike.
func TestNoStrikes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		penalty := &ratelimit.Penalty{Base: time.Hour}
		key := ratelimit.UserKey("ann")

		l := mustNew(t, newModelStore(), ratelimit.Policy{Name: "p", Limit: ratelimit.SlidingLog(1, time.Second), Penalty: penalty})
		start := time.Now()
		for range 5 {
			if err := l.Wait(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		}
		if waited := time.Since(start); waited != 4*time.Second {
			t.Errorf("five waits took %v, want 4s", waited)
		}

		free := mustNew(t, newModelStore(), ratelimit.Policy{
			Name: "p", Key: ratelimit.ByUser(), Limit: ratelimit.SlidingLog(1, time.Minute), Penalty: penalty, Settles: true,
			Costs: map[string]int64{"/health": 0},
		})
		call, _ := begin(free, &fakeRequest{user: "ann"})
		if err := ratelimit.Settle(call, "p", 5); err != nil {
			t.Fatal(err)
		}
		call.Finish(http.StatusOK, false)
		for range 2 {
			call, _ := begin(free, &fakeRequest{user: "ann", route: "/health"})
			if d := call.Decision(); call.Proceed() || d.Reason != ratelimit.ReasonRateLimited {
				t.Fatalf("a look at a key in debt: proceed %t, %v", call.Proceed(), d.Reason)
			}
			call.Finish(0, false)
		}

		down := newModelStore()
		down.fails = errors.New("down")
		local := mustNew(t, down, ratelimit.Policy{Name: "p", Limit: ratelimit.SlidingLog(4, time.Minute), Penalty: penalty, OnStoreFailure: ratelimit.FailLocal},
			ratelimit.Fallback(newModelStore(), 4), ratelimit.Logger(nil))
		for range 3 {
			if d := local.AllowN(t.Context(), key, 2); d.Allowed || d.Reason != ratelimit.ReasonRateLimited {
				t.Fatalf("a share of the limit: %+v", d)
			}
		}
		if d := local.Allow(t.Context(), key); !d.Allowed {
			t.Errorf("who exceeded one replica's share is blocked: %v", d.Reason)
		}
	})
}

// The reason is that of the policy which is named.
func TestReasonIsTheBindingPolicys(t *testing.T) {
	l := mustNew(t, newModelStore(),
		ratelimit.Policy{Name: "secret", Limit: ratelimit.SlidingLog(1, time.Minute), Hidden: true, Penalty: &ratelimit.Penalty{Base: time.Minute}},
		ratelimit.Policy{Name: "long", Limit: ratelimit.SlidingLog(1, time.Hour)})
	for i := range 3 {
		call, _ := begin(l, &fakeRequest{})
		if d := call.Decision(); i > 0 && (d.Policy != "long" || d.Reason != ratelimit.ReasonRateLimited) {
			t.Errorf("policy %q, reason %v", d.Policy, d.Reason)
		}
		call.Finish(http.StatusOK, false)
	}
}
