package ratelimit_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

func TestSettleWhereNothingWasCharged(t *testing.T) {
	down := errors.New("down")
	for _, c := range []struct {
		name    string
		options []ratelimit.Option
		fails   error
		// proceeds is false for a request that is refused.
		proceeds bool
	}{
		{"exempt", []ratelimit.Option{tokens(), ratelimit.Exempt(ratelimit.ExemptIPs("192.0.2.0/24"))}, nil, true},
		{"exempt from the policy", []ratelimit.Option{tokens(func(p *ratelimit.Policy) {
			p.Exempt = []ratelimit.Exemption{ratelimit.ExemptIPs("192.0.2.0/24")}
		})}, nil, true},
		{"unlimited", []ratelimit.Option{tokens(func(p *ratelimit.Policy) { p.Limit = ratelimit.Unlimited })}, nil, true},
		{"another route", []ratelimit.Option{tokens(func(p *ratelimit.Policy) { p.Match = "/other" })}, nil, true},
		{"not even in shadow", []ratelimit.Option{ratelimit.Shadow(), tokens(func(p *ratelimit.Policy) { p.Limit = ratelimit.PerHour(9) })}, nil, true},
		{"refused", []ratelimit.Option{tokens(func(p *ratelimit.Policy) { p.Limit = ratelimit.PerHour(9) })}, nil, false},
		{"refused by another", []ratelimit.Option{tokens(), ratelimit.Policy{Name: "none", Limit: ratelimit.PerHour(0)}}, nil, false},
		{"failed open", []ratelimit.Option{tokens()}, down, true},
		{"failed closed", []ratelimit.Option{tokens(func(p *ratelimit.Policy) { p.OnStoreFailure = ratelimit.FailClosed })}, down, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			logger, log := newRecords()
			store := newModelStore()
			store.fails = c.fails
			l := mustNew(t, store, append(c.options, ratelimit.Logger(logger))...)
			call, _ := begin(l, &fakeRequest{})
			if call.Proceed() != c.proceeds {
				t.Fatalf("the request proceeds: %t", call.Proceed())
			}
			if ratelimit.ReservationOf(call, "tokens") != nil {
				t.Error("there is a reservation")
			}
			for _, cost := range []int64{50, 0} {
				if err := ratelimit.Settle(call, "tokens", cost); err != nil {
					t.Error(err)
				}
			}
			if len(store.adjustments) > 0 {
				t.Errorf("adjusted %+v", store.adjustments)
			}
			if slices.Contains(log.codes, ratelimit.CodeSettlesUnknown) {
				t.Error("it was logged as a mistake")
			}
		})
	}
	if err := ratelimit.Settle(t.Context(), "tokens", 5); err != nil {
		t.Errorf("without a limiter: %v", err)
	}
}

func TestSettlingUnderAnUnknownNameIsLogged(t *testing.T) {
	logger, log := newRecords()
	store := newModelStore()
	for _, name := range []string{"tokns", "plain"} {
		l := mustNew(t, store, ratelimit.Logger(logger), tokens(), ratelimit.Policy{Name: "plain", Limit: ratelimit.PerHour(9)})
		call, _ := begin(l, &fakeRequest{})
		for range 2 {
			if err := ratelimit.Settle(call, name, 5); err != nil {
				t.Error(err)
			}
		}
	}
	plain := mustNew(t, store, ratelimit.Logger(logger), ratelimit.Policy{Name: "plain", Limit: ratelimit.PerHour(9)})
	if _, r := plain.Reserve(t.Context(), "k", 1); r != nil {
		t.Error("Reserve without a policy that settles returns a reservation")
	}
	if want := slices.Repeat([]string{ratelimit.CodeSettlesUnknown}, 3); !slices.Equal(log.codes, want) {
		t.Errorf("logged %v, want %v: once for each limiter", log.codes, want)
	}
	if len(store.adjustments) > 0 {
		t.Errorf("adjusted %+v", store.adjustments)
	}
}

func TestSettlingANegativeCost(t *testing.T) {
	l := mustNew(t, newModelStore(), tokens())
	call, _ := begin(l, &fakeRequest{})
	for _, ctx := range []context.Context{call, t.Context()} {
		if err := ratelimit.Settle(ctx, "tokens", -1); err == nil || !strings.Contains(err.Error(), "-1 is negative") {
			t.Errorf("error %v", err)
		}
	}
	if got := used(t, l); got != 10 {
		t.Errorf("%d are used, want the estimate", got)
	}
}
