package ratelimit_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
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
