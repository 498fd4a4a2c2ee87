package ratelimit_test

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// keeping keeps the partitions that it is given, which it may, and lets all pass.
type keeping struct{ partitions []ratelimit.Partition }

func (k *keeping) Take(_ context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
	for i := range charges {
		k.partitions = append(k.partitions, charges[i].Partition)
		results[i] = ratelimit.Result{Allowed: true, Limit: 9, Remaining: 9}
	}
	return nil
}
func (*keeping) Adjust(context.Context, []ratelimit.Adjustment) error { return nil }
func (*keeping) Reset(context.Context, []ratelimit.Key) error         { return nil }

// forgetful says of itself that it doesn't keep them, around of the one within.
type (
	forgetful struct{ keeping }
	around    struct{ *forgetful }
	byValue   struct {
		*forgetful
		_ []int
	}
)

func (f *forgetful) Forgets() ratelimit.Store { return f }

// Forgets of a store that can't be compared is no reason to panic.
func (f byValue) Forgets() ratelimit.Store { return f }

// TestForgetful uses the memory of partitions again only if the store itself says
// that it keeps none, and so does the fallback.
func TestForgetful(t *testing.T) {
	policy := ratelimit.Policy{Name: "p", Limit: ratelimit.PerHour(9)}
	var want []ratelimit.Partition
	for n := range 40 {
		want = append(want, ratelimit.Partition(fmt.Sprintf("ip:192.0.2.%d", n+1)))
	}
	seen := func(store ratelimit.Store, of *keeping, options ...ratelimit.Option) []ratelimit.Partition {
		t.Helper()
		l := mustNew(t, store, append([]ratelimit.Option{policy}, options...)...)
		call := new(ratelimit.Call)
		call.Keep()
		r := &fakeRequest{}
		for n := range want {
			r.peer = fmt.Sprintf("192.0.2.%d:4711", n+1)
			l.Begin(call, r, http.Header{})
			if !call.Proceed() || !call.Leave() {
				call = new(ratelimit.Call)
				call.Keep()
			}
		}
		return of.partitions
	}
	plain, inner, outer := new(keeping), new(forgetful), around{new(forgetful)}
	if got := seen(plain, plain); !slices.Equal(got, want) {
		t.Errorf("a store that may keep partitions has %q", got)
	}
	if got := seen(outer, &outer.keeping); !slices.Equal(got, want) {
		t.Errorf("a store around a forgetful one has %q", got)
	}
	if got := seen(byValue{forgetful: inner}, &inner.keeping); !slices.Equal(got, want) {
		t.Errorf("a store that can't be compared has %q", got)
	}
	inner = new(forgetful)
	if got := seen(inner, &inner.keeping, ratelimit.Fallback(new(keeping), 1)); !slices.Equal(got, want) {
		t.Errorf("with a fallback that may keep partitions there are %q", got)
	}
	inner = new(forgetful)
	if got := seen(inner, &inner.keeping); slices.Equal(got, want) {
		t.Error("no memory is used again for a forgetful store")
	}
}

// copies is a forgetful modelStore.
type copies struct{ *modelStore }

func (c copies) Forgets() ratelimit.Store { return c }

func (c copies) Take(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
	own := slices.Clone(charges)
	for i := range own {
		own[i].Partition = ratelimit.Partition(strings.Clone(string(own[i].Partition)))
	}
	return c.modelStore.Take(ctx, own, results)
}

// TestGivesBackToWhomItWasCharged gives a charge back when the memory that its
// partition lay in has long been another request's.
func TestGivesBackToWhomItWasCharged(t *testing.T) {
	store := copies{newModelStore()}
	l := mustNew(t, store, ratelimit.Policy{Name: "p", Limit: ratelimit.PerHour(9), Counts: ratelimit.CountFailures})
	calls := make([]*ratelimit.Call, 8)
	peer := func(n int) string { return fmt.Sprintf("192.0.2.%d:4711", n) }
	for n := range calls {
		calls[n] = new(ratelimit.Call)
		calls[n].Keep()
		l.Begin(calls[n], &fakeRequest{peer: peer(n)}, http.Header{})
	}
	for n, call := range calls {
		call.Finish(http.StatusOK, false)
		got := store.adjustments[len(store.adjustments)-1].Partition
		if want := ratelimit.IPKey(netip.MustParseAddrPort(peer(n)).Addr()); got != want {
			t.Errorf("the charge of %s is given back to %s", want, got)
		}
	}
}

// TestPanicWhileDeciding uses a Call again when a function of the program's has
// panicked in the midst of a decision.
func TestPanicWhileDeciding(t *testing.T) {
	panics, store := false, newModelStore()
	l := mustNew(t, store, ratelimit.Policy{Name: "first", Limit: ratelimit.PerHour(1)}, ratelimit.Policy{
		Name: "second", Limit: ratelimit.PerHour(9), Cost: func(*ratelimit.Request) int64 {
			if panics {
				panic("the program's")
			}
			return 1
		},
	})
	call := new(ratelimit.Call)
	call.Keep()
	header, r := http.Header{}, new(fakeRequest)
	serve := func(n int) bool {
		r.peer = fmt.Sprintf("192.0.2.%d:4711", n)
		call.KnownByHeader(header)
		func() {
			defer func() { _ = recover() }()
			l.Begin(call, r, header)
		}()
		proceeds := call.Proceed()
		call.Finish(http.StatusOK, false)
		if !call.Leave() || l.UnderWay() != 0 {
			t.Errorf("request %d: the call is not free, or %d are under way", n, l.UnderWay())
		}
		clear(header)
		return proceeds
	}
	panics = true
	serve(1)
	panics = false
	for n := 1; n < 4; n++ {
		before := len(store.charges)
		if !serve(n) {
			t.Errorf("client %d is refused its first request", n)
		}
		charged := store.charges[before:]
		if key := ratelimit.Partition(fmt.Sprintf("ip:192.0.2.%d", n)); len(charged) != 2 || charged[0].Partition != key || charged[1].Partition != key {
			t.Errorf("client %d is charged %v", n, charged)
		}
		if serve(n) {
			t.Errorf("client %d is not refused its second request", n)
		}
	}
}
