package storetest

import (
	"context"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// onPenalties has change spoil the charges of penalties.
func onPenalties(change func(c *ratelimit.Charge)) func(*book) ratelimit.Store {
	return onCharges(func(c *ratelimit.Charge) {
		if c.Mode == penalty {
			change(c)
		}
	})
}

var brokenPenalties = []brokenStore{
	{"penalty is never struck", "penalty_blocks penalty_guards penalty_schedules", onPenalties(func(c *ratelimit.Charge) { c.Cost = 0 })},
	{"penalty does not veto", "penalty_costs_nothing", asMode(penalty, shadow)},
	{"penalty is struck by any denial", "penalty_guards", asMode(penalty, onDenial)},
	{"blocks do not grow", "penalty_blocks penalty_schedules", onPenalties(func(c *ratelimit.Charge) { c.Limit.Block.Factor = 1 })},
	{"blocks grow past the cap", "penalty_blocks", onPenalties(func(c *ratelimit.Charge) { c.Limit.Block.Cap = time.Hour })},
	{"strikes are not tolerated", "penalty_blocks penalty_guards", onPenalties(func(c *ratelimit.Charge) { c.Limit.Quota = 0 })},
	{"strikes in a block count", "penalty_blocks penalty_costs_nothing", func(b *book) ratelimit.Store {
		return &twisted{book: b, take: func(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
			for i, c := range charges {
				if c.Mode == penalty && i > 0 {
					look := make([]ratelimit.Result, 1)
					b.mu.Lock()
					b.take(charges[i:i+1], look)
					b.mu.Unlock()
					if !look[0].Allowed {
						c.Limit.Block.Base = time.Millisecond // only what is stored matters
						b.also(as(force, c), as(force, charges[0]))
					}
				}
			}
			return b.Take(ctx, charges, results)
		}}
	}},
	{"who is blocked strikes others", "penalty_costs_nothing", func(b *book) ratelimit.Store {
		return &twisted{book: b, take: func(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
			err := b.Take(ctx, charges, results)
			if err != nil || len(charges) != 4 {
				return err
			}
			if results[1].Allowed && !results[0].Allowed && !results[3].Allowed {
				b.also(as(force, charges[1]))
			}
			return nil
		}}
	}},
	{"a blocked client's requests are charged", "penalty_costs_nothing", onResults(func(b *book, charges []ratelimit.Charge, results []ratelimit.Result) {
		for i, c := range charges {
			if c.Mode == penalty && !results[i].Allowed && i > 0 && results[i-1].Allowed {
				b.also(as(force, charges[i-1]))
			}
		}
	})},
	{"reset leaves the penalty", "penalty_reset", func(b *book) ratelimit.Store {
		return &twisted{book: b, reset: func(ctx context.Context, keys []ratelimit.Key) error {
			for _, key := range keys {
				if key.Algorithm != ratelimit.AlgorithmPenalty {
					if err := b.Reset(ctx, []ratelimit.Key{key}); err != nil {
						return err
					}
				}
			}
			return nil
		}}
	}},
	{"reset frees everybody", "penalty_reset", func(b *book) ratelimit.Store {
		return &twisted{book: b, reset: func(context.Context, []ratelimit.Key) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			clear(b.model)
			return nil
		}}
	}},
}
