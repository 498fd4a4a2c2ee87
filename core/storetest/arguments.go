package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unsafe"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

func argumentCases() []testCase {
	return []testCase{
		{"bad_arguments", anyClock, "what a store can't count is an error and charges nothing; it is never a denial, and never let through", caseBadArguments},
		{"nothing_to_do", anyClock, "a call without charges, adjustments or keys does nothing and is no error", caseNothing},
		{"cancelled", anyClock, "a request whose context has ended gets the context's error and is not charged", caseCancelled},
		{"arguments_kept", anyClock, "a store keeps no reference to its arguments: adapters reuse the memory of what a request said", caseReusedMemory},
		{"arguments_unchanged", anyClock, "the arguments are the caller's: a store doesn't write to them", caseArgumentsUnchanged},
	}
}

func caseBadArguments(s *suite) {
	good := on("good", limitOf(ratelimit.AlgorithmTokenBucket, 5, s.window), 1)
	with := func(change func(*ratelimit.Charge)) ratelimit.Charge {
		c := on("bad", limitOf(ratelimit.AlgorithmTokenBucket, 5, s.window), 1)
		change(&c)
		return c
	}
	bad := map[string]ratelimit.Charge{
		"cost -1":           with(func(c *ratelimit.Charge) { c.Cost = -1 }),
		"smallest cost":     with(func(c *ratelimit.Charge) { c.Cost = -1 << 63 }),
		"unknown mode":      with(func(c *ratelimit.Charge) { c.Mode = ratelimit.ModePenalty + 1 }),
		"no limit":          with(func(c *ratelimit.Charge) { c.Limit = ratelimit.Limit{} }),
		"unlimited":         with(func(c *ratelimit.Charge) { c.Limit = ratelimit.Unlimited }),
		"unknown algorithm": with(func(c *ratelimit.Charge) { c.Limit.Algorithm = 99 }),
		"negative quota":    with(func(c *ratelimit.Charge) { c.Limit.Quota = -1 }),
		"quota too large":   with(func(c *ratelimit.Charge) { c.Limit.Quota = ratelimit.MaxQuota + 1 }),
		"window 0":          with(func(c *ratelimit.Charge) { c.Limit.Window = 0 }),
		"negative window":   with(func(c *ratelimit.Charge) { c.Limit.Window = -time.Second }),
		"window too long":   with(func(c *ratelimit.Charge) { c.Limit.Window = 290 * 365 * 24 * time.Hour }),
		"half microsecond":  with(func(c *ratelimit.Charge) { c.Limit.Window = time.Second + 500 }),
		"burst 0":           with(func(c *ratelimit.Charge) { c.Limit.Burst = 0 }),
	}
	for what, c := range bad {
		if err := s.store.Take(s.Context(), []ratelimit.Charge{c}, make([]ratelimit.Result, 1)); err == nil {
			s.Errorf("Take with %s: no error", what)
		}
		if err := s.store.Take(s.Context(), []ratelimit.Charge{good, c, good}, make([]ratelimit.Result, 3)); err == nil {
			s.Errorf("Take with %s between good charges: no error", what)
		}
		if c.Mode > ratelimit.ModePenalty {
			continue // an adjustment has none
		}
		a := ratelimit.Adjustment{Policy: c.Policy, Partition: c.Partition, Limit: c.Limit, Cost: c.Cost, At: 1}
		if err := s.store.Adjust(s.Context(), []ratelimit.Adjustment{a}); err == nil {
			s.Errorf("Adjust with %s: no error", what)
		}
	}
	a := changed(good, ratelimit.Result{At: start}, -1)
	if err := s.store.Adjust(s.Context(), []ratelimit.Adjustment{a}); err == nil {
		s.Error("Adjust to a cost of -1: no error")
	}
	for _, n := range []int{0, 1, 3} {
		if err := s.store.Take(s.Context(), []ratelimit.Charge{good, good}, make([]ratelimit.Result, n)); err == nil {
			s.Errorf("Take of 2 charges with %d results: no error", n)
		}
	}
	s.left(5, good, "after calls that were errors")
}

func caseNothing(s *suite) {
	if err := s.store.Take(s.Context(), nil, nil); err != nil {
		s.Errorf("Take of no charge: %v", err)
	}
	if err := s.store.Adjust(s.Context(), nil); err != nil {
		s.Errorf("Adjust of nothing: %v", err)
	}
	if err := s.store.Reset(s.Context(), nil); err != nil {
		s.Errorf("Reset of no key: %v", err)
	}
}

func caseCancelled(s *suite) {
	cancelled, cancel := context.WithCancel(s.Context())
	cancel()
	late, cancelLate := context.WithDeadline(s.Context(), time.Unix(1, 0))
	defer cancelLate()
	for what, ctx := range map[string]context.Context{"cancelled": cancelled, "late": late} {
		s.sub(what, func(s *suite) {
			s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
				c := on("client "+what, limit(5), 2)
				r := s.admit(c)
				check := func(call string, err error) {
					s.Helper()
					if !errors.Is(err, ctx.Err()) {
						s.Errorf("%s with a context that has ended: error %v, want %v", call, err, ctx.Err())
					}
				}
				check("Take", s.store.Take(ctx, []ratelimit.Charge{c}, make([]ratelimit.Result, 1)))
				s.left(3, c, "Take with a context that has ended")
				check("Adjust", s.store.Adjust(ctx, []ratelimit.Adjustment{changed(c, r, 0)}))
				s.left(3, c, "Adjust with a context that has ended")
				check("Reset", s.store.Reset(ctx, []ratelimit.Key{c.Key()}))
				s.left(3, c, "Reset with a context that has ended")
			})
		})
	}
}

// caseReusedMemory names two clients by strings that lie in one buffer, as
// those of a framework with reused buffers do, and overwrites it after each
// call.
func caseReusedMemory(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		var buffer [32]byte
		// view is text for as long as nothing else is written to the buffer.
		view := func(at int, text string) string {
			copy(buffer[at:], text)
			return unsafe.String(&buffer[at], len(text))
		}
		charges, results := make([]ratelimit.Charge, 1), make([]ratelimit.Result, 1)
		adjustments, keys := make([]ratelimit.Adjustment, 1), make([]ratelimit.Key, 1)
		spoil := func() {
			copy(buffer[:], "################################")
			charges[0], adjustments[0] = on("spoilt", limit(1), 9), ratelimit.Adjustment{Policy: "spoilt", Cost: 9}
			results[0], keys[0] = ratelimit.Result{At: -1, Limit: -1}, ratelimit.Key{Policy: "spoilt"}
		}
		charge := func(policy, client string) ratelimit.Charge {
			return under(view(0, policy), on(view(16, client), limit(10), 1))
		}

		admitted := make(map[string]int)
		for range 12 {
			for _, policy := range []string{"login", "pages"} {
				for _, client := range []string{"alice", "bobby"} {
					charges[0] = charge(policy, client)
					if err := s.store.Take(s.Context(), charges, results); err != nil {
						s.Fatalf("Take: %v", err)
					}
					if results[0].Allowed {
						admitted[policy+" "+client]++
					}
					spoil()
				}
			}
		}
		for name, n := range admitted {
			if n != 10 {
				s.Errorf("12 requests under %q with names in a reused buffer: %d admitted, want 10 of each", name, n)
			}
		}

		if at := s.look(under("login", on("alice", limit(10), 0))).At; true {
			c := charge("login", "alice")
			adjustments[0] = ratelimit.Adjustment{Policy: c.Policy, Partition: c.Partition, Limit: c.Limit, At: at, Cost: 4, NewCost: 0}
			if err := s.store.Adjust(s.Context(), adjustments); err != nil {
				s.Fatalf("Adjust: %v", err)
			}
			spoil()
		}
		c := charge("pages", "bobby")
		keys[0] = c.Key()
		if err := s.store.Reset(s.Context(), keys); err != nil {
			s.Fatalf("Reset: %v", err)
		}
		spoil()
		if !s.h.RealTime {
			s.left(4, under("login", on("alice", limit(10), 0)), "10 of 10 used, 4 given back")
		}
		s.left(0, under("login", on("bobby", limit(10), 0)), "10 of 10 used")
		s.left(0, under("pages", on("alice", limit(10), 0)), "10 of 10 used")
		s.left(10, under("pages", on("bobby", limit(10), 0)), "10 of 10 used, then reset")
	})
}

func caseArgumentsUnchanged(s *suite) {
	var charges []ratelimit.Charge
	for i, a := range algorithms {
		charges = append(charges, as(ratelimit.Mode(i), on(fmt.Sprint("client", 9-i), limitOf(a, 5, s.window), int64(i%3))))
	}
	for _, denied := range []bool{false, true} {
		if denied {
			charges = append(charges, on("over", limitOf(ratelimit.AlgorithmFixedWindow, 1, s.window), 2))
		}
		before := slices.Clone(charges)
		results := s.take(charges...)
		if !slices.Equal(before, charges) {
			s.Errorf("Take changed its charges from %v to %v", before, charges)
		}
		var adjustments []ratelimit.Adjustment
		var keys []ratelimit.Key
		for i, c := range charges {
			adjustments, keys = append(adjustments, changed(c, results[i], 1)), append(keys, c.Key())
		}
		adjustmentsBefore, keysBefore := slices.Clone(adjustments), slices.Clone(keys)
		s.adjust(adjustments...)
		if !slices.Equal(adjustmentsBefore, adjustments) {
			s.Errorf("Adjust changed its adjustments from %v to %v", adjustmentsBefore, adjustments)
		}
		s.reset(keys...)
		if !slices.Equal(keysBefore, keys) {
			s.Errorf("Reset changed its keys from %v to %v", keysBefore, keys)
		}
	}
}
