package storetest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

var brokenTakes = []brokenStore{
	{"checks, then acts", "concurrent_one_key concurrent_policies concurrent_keys concurrent_adjust", func(b *book) ratelimit.Store {
		return &twisted{book: b, take: func(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
			if err := checkTake(ctx, charges, results); err != nil {
				return err
			}
			charges = cloned(charges)
			b.mu.Lock()
			before := &book{now: b.now, model: maps.Clone(b.model)}
			b.mu.Unlock()
			runtime.Gosched()
			before.take(charges, results)
			b.mu.Lock()
			defer b.mu.Unlock()
			for _, c := range charges {
				b.model[c.Key()] = before.model[c.Key()]
			}
			return nil
		}}
	}},
	{"a denial charges the others", "all_or_nothing several_denials mode_on_denial concurrent_policies", onResults(func(b *book, charges []ratelimit.Charge, results []ratelimit.Result) {
		if !isDenied(charges, results) {
			return
		}
		for i, c := range charges {
			if results[i].Allowed && c.Mode == ratelimit.ModeEnforce {
				b.also(c)
			}
		}
	})},
	{"a denial charges those before it", "all_or_nothing random_schedules", onResults(func(b *book, charges []ratelimit.Charge, results []ratelimit.Result) {
		if !isDenied(charges, results) {
			return
		}
		for i, c := range charges {
			if c.Mode == ratelimit.ModeEnforce {
				if !results[i].Allowed {
					return
				}
				b.also(c)
			}
		}
	})},
	{"a denial answers as if charged", "denial_answers_as_a_look same_key_twice", onResults(func(_ *book, charges []ratelimit.Charge, results []ratelimit.Result) {
		if isDenied(charges, results) {
			for i, c := range charges {
				if results[i].Allowed {
					results[i].Remaining = max(0, results[i].Remaining-c.Cost)
				}
			}
		}
	})},
	{"a denial denies all", "denial_answers_as_a_look", onResults(func(_ *book, charges []ratelimit.Charge, results []ratelimit.Result) {
		if isDenied(charges, results) {
			for i := range results {
				results[i].Allowed = false
			}
		}
	})},
	{"the longest wait is everybody's", "several_denials", onResults(func(_ *book, _ []ratelimit.Charge, results []ratelimit.Result) {
		longest := slices.MaxFunc(results, func(a, b ratelimit.Result) int { return cmp.Compare(a.RetryAfter, b.RetryAfter) }).RetryAfter
		for i := range results {
			if !results[i].Allowed {
				results[i].RetryAfter = longest
			}
		}
	})},
	{"results in the order of the keys", "results_in_order random_schedules", func(b *book) ratelimit.Store {
		return &twisted{book: b, take: func(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
			charges = cloned(charges)
			slices.SortStableFunc(charges, func(a, b ratelimit.Charge) int {
				return cmp.Compare(fmt.Sprintf("%+v", a.Key()), fmt.Sprintf("%+v", b.Key()))
			})
			return b.Take(ctx, charges, results)
		}}
	}},
	{"charges on one key don't see each other", "same_key_twice huge_sum", func(b *book) ratelimit.Store {
		return &twisted{book: b, take: func(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
			if err := checkTake(ctx, charges, results); err != nil {
				return err
			}
			for i, c := range charges {
				if c.Mode == ratelimit.ModeEnforce {
					c.Mode = ratelimit.ModePeek
				}
				if err := b.Take(ctx, []ratelimit.Charge{c}, results[i:i+1]); err != nil {
					return err
				}
			}
			if !isDenied(charges, results) {
				for i, c := range charges {
					b.also(as(force, c))
					results[i].Remaining -= c.Cost
				}
			}
			return nil
		}}
	}},
	{"the wait of the second charge alone", "same_key_retry same_key_twice huge_sum", onResults(func(b *book, charges []ratelimit.Charge, results []ratelimit.Result) {
		for i, c := range charges {
			if !results[i].Allowed && c.Mode == ratelimit.ModeEnforce {
				alone := make([]ratelimit.Result, 1)
				b.take([]ratelimit.Charge{as(peek, c)}, alone)
				results[i].RetryAfter = alone[0].RetryAfter
			}
		}
	})},
	{"a peek sees the key as it was before the request", "same_key_looks random_schedules", func(b *book) ratelimit.Store {
		return &twisted{book: b, take: func(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
			b.mu.Lock()
			before := &book{now: b.now, model: maps.Clone(b.model)}
			b.mu.Unlock()
			err := b.Take(ctx, charges, results)
			for i := range charges {
				if err == nil && charges[i].Mode == peek && !isDenied(charges, results) {
					before.take(charges[i:i+1], results[i:i+1])
				}
			}
			return err
		}}
	}},
	{"what was not taken is in the way", "same_key_twice", asMode(peek, force)},
	{"writes behind", "arguments_kept", func(b *book) ratelimit.Store {
		var behind []ratelimit.Charge
		return &twisted{book: b, take: func(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
			if err := checkTake(ctx, charges, results); err != nil {
				return err
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			if behind != nil {
				b.take(behind, make([]ratelimit.Result, len(behind)))
			}
			behind = charges
			(&book{now: b.now, model: maps.Clone(b.model)}).take(charges, results)
			return nil
		}}
	}},
}
