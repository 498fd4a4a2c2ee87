package ratelimit_test

import (
	"context"
	"errors"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

func TestOutcomes(t *testing.T) {
	odd := ratelimit.CountStatus(func(status int) bool { return status%2 == 1 })
	teapot := ratelimit.CountStatus(func(status int) bool { return status == 418 })
	tests := []struct {
		name                string
		outcome             ratelimit.Outcome
		status              int
		panicked, abandoned bool
		counts              bool
	}{
		{"everything", ratelimit.CountEverything, 200, false, false, true},
		{"failures: 200", ratelimit.CountFailures, 200, false, false, false},
		{"failures: 302", ratelimit.CountFailures, 302, false, false, false},
		{"failures: 400", ratelimit.CountFailures, 400, false, false, true},
		{"failures: 503", ratelimit.CountFailures, 503, false, false, true},
		{"failures: panic", ratelimit.CountFailures, 200, true, false, true},
		{"failures: abandoned", ratelimit.CountFailures, 200, false, true, true},
		{"successes: 200", ratelimit.CountSuccesses, 200, false, false, true},
		{"successes: 404", ratelimit.CountSuccesses, 404, false, false, false},
		{"successes: panic", ratelimit.CountSuccesses, 200, true, false, false},
		{"successes: abandoned", ratelimit.CountSuccesses, 404, false, true, true},
		{"status: odd", odd, 201, false, false, true},
		{"status: even", odd, 200, false, false, false},
		{"status: panic is 500", odd, 201, true, false, false},
		{"status: panic is no teapot", teapot, 418, true, false, false},
		{"status: abandoned", teapot, 200, false, true, true},
		{"no function", ratelimit.CountStatus(nil), 200, false, false, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			store := newModelStore()
			l := mustNew(t, store, ratelimit.Policy{Name: "p", Limit: ratelimit.SlidingLog(1, time.Hour), Counts: test.outcome})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			call, _ := begin(l, &fakeRequest{ctx: ctx})
			if refused, _ := begin(l, &fakeRequest{}); refused.Proceed() {
				t.Fatal("a second request passed while the first was under way")
			}
			if test.abandoned {
				cancel()
			}
			call.Finish(test.status, test.panicked)
			call.Finish(200, false) // a second Finish must change nothing
			if next, _ := begin(l, &fakeRequest{}); next.Proceed() == test.counts {
				t.Errorf("the next request proceeds: %v, but the first counts: %v", next.Proceed(), test.counts)
			}
		})
	}
}

func TestOnlyWhatSettlesIsSettled(t *testing.T) {
	store := newModelStore()
	l := mustNew(t, store,
		ratelimit.Policy{Name: "all", Limit: ratelimit.SlidingLog(9, time.Hour)},
		ratelimit.Policy{
			Name: "bad", Limit: ratelimit.SlidingLog(9, time.Hour), Counts: ratelimit.CountFailures,
			Cost: func(*ratelimit.Request) int64 { return 3 },
		})
	call, _ := begin(l, &fakeRequest{})
	if !call.Settles() {
		t.Fatal("a policy counts by outcome, but the call does not settle")
	}
	call.Finish(200, false)
	if len(store.adjustments) != 1 || store.adjustments[0].Policy != "bad" || store.adjustments[0].Cost != 3 || store.adjustments[0].NewCost != 0 {
		t.Errorf("adjustments %+v", store.adjustments)
	}
	plain := mustNew(t, store, ratelimit.Policy{Name: "all", Limit: ratelimit.SlidingLog(9, time.Hour)})
	if call, _ := begin(plain, &fakeRequest{}); call.Settles() {
		t.Error("nothing counts by outcome, but the call settles")
	}
}

func TestAdjustmentGoesToTheStoreThatCharged(t *testing.T) {
	store, fallback := newModelStore(), newModelStore()
	store.fails = errors.New("down")
	l := mustNew(t, store, ratelimit.Fallback(fallback, 1), ratelimit.Policy{
		Name: "p", Limit: ratelimit.SlidingLog(1, time.Hour), Counts: ratelimit.CountFailures, OnStoreFailure: ratelimit.FailLocal,
	})
	call, _ := begin(l, &fakeRequest{})
	store.fails = nil
	call.Finish(200, false)
	if len(fallback.adjustments) != 1 || len(store.adjustments) != 0 {
		t.Errorf("%d adjustments in the fallback, %d in the store", len(fallback.adjustments), len(store.adjustments))
	}
}

func TestFailedAdjustmentIsSeenAndKeepsTheCharge(t *testing.T) {
	store := newModelStore()
	var failures []ratelimit.StoreFailure
	l := mustNew(t, store, ratelimit.Policy{Name: "p", Limit: ratelimit.SlidingLog(1, time.Hour), Counts: ratelimit.CountFailures},
		ratelimit.Observe(ratelimit.Observer{StoreFailure: func(_ context.Context, f *ratelimit.StoreFailure) { failures = append(failures, *f) }}))
	call, _ := begin(l, &fakeRequest{})
	store.fails = errors.New("down")
	call.Finish(200, false)
	store.fails = nil
	if len(failures) != 1 || failures[0].Operation != "adjust" {
		t.Errorf("failures %+v", failures)
	}
	if next, _ := begin(l, &fakeRequest{}); next.Proceed() {
		t.Error("the charge is gone")
	}
}

func TestPresets(t *testing.T) {
	for name, preset := range map[string]ratelimit.Policies{"login": ratelimit.Login(), "password-reset": ratelimit.PasswordReset()} {
		t.Run(name, func(t *testing.T) {
			l := mustNew(t, newModelStore(), preset)
			attempt := func(peer, account string, status int) bool {
				call, _ := begin(l, &fakeRequest{peer: peer, account: account})
				if call.Proceed() {
					call.Finish(status, false)
				}
				return call.Proceed()
			}
			for range 20 {
				if !attempt("192.0.2.1:1", "ann", 200) {
					t.Fatal("a success was refused")
				}
			}
			for i := range 5 {
				if !attempt("192.0.2.1:1", "Ann ", 401) {
					t.Fatalf("failure %d was refused", i+1)
				}
			}
			if attempt("192.0.2.1:1", "bob", 401) {
				t.Error("the address was not stopped after 5 failures")
			}
			if attempt("192.0.2.2:1", "ann", 401) {
				t.Error("the account was not stopped after 5 failures")
			}
			if !attempt("192.0.2.2:1", "bob", 401) {
				t.Error("another address with another account was stopped")
			}
			if preset[0].Name != name+"-ip" || preset[1].Name != name+"-account" {
				t.Errorf("names %q and %q", preset[0].Name, preset[1].Name)
			}
		})
	}
	changed := ratelimit.Login(func(p *ratelimit.Policy) { p.Limit = ratelimit.SlidingLog(9, time.Minute) })
	if changed[0].Limit.Quota != 9 || changed[1].Limit.Quota != 9 {
		t.Errorf("a change was not applied: %+v", changed)
	}
}
