package storetest

import (
	"context"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// asMode gives the charges of one mode another.
func asMode(from, to ratelimit.Mode) func(*book) ratelimit.Store {
	return onCharges(func(c *ratelimit.Charge) {
		if c.Mode == from {
			c.Mode = to
		}
	})
}

var brokenModes = []brokenStore{
	{"shadow vetoes", "mode_shadow random_schedules same_key_twice", asMode(shadow, ratelimit.ModeEnforce)},
	{"shadow is taken past the limit", "mode_shadow same_key_twice", asMode(shadow, force)},
	{"shadow is never taken", "mode_shadow modes_mixed", asMode(shadow, peek)},
	{"shadow of a denied request is taken", "mode_shadow modes_mixed", onDenied(shadow)},
	{"peek writes", "mode_peek modes_mixed", asMode(peek, shadow)},
	{"peek vetoes", "mode_peek", asMode(peek, ratelimit.ModeEnforce)},
	{"peek does not ask for its cost", "mode_peek random_schedules", onCharges(func(c *ratelimit.Charge) {
		if c.Mode == peek {
			c.Cost = 0
		}
	})},
	{"force is denied", "mode_force adjust huge_debt", asMode(force, ratelimit.ModeEnforce)},
	{"force stops at the limit", "mode_force", onCharges(func(c *ratelimit.Charge) {
		if c.Mode == force {
			c.Cost = min(c.Cost, c.Limit.Capacity())
		}
	})},
	{"force of a denied request is taken", "mode_force modes_mixed", onDenied(force)},
	{"on-denial is taken on admission", "mode_on_denial modes_mixed", onResults(func(b *book, charges []ratelimit.Charge, results []ratelimit.Result) {
		for i, c := range charges {
			if c.Mode == onDenial && !isDenied(charges, results) {
				b.also(as(force, c))
				results[i].Remaining = max(0, results[i].Remaining-c.Cost)
			}
		}
	})},
	{"on-denial is never taken", "mode_on_denial modes_mixed", onCharges(func(c *ratelimit.Charge) {
		if c.Mode == onDenial {
			c.Mode, c.Cost = peek, 0
		}
	})},
	{"on-denial is taken by a shadow's denial", "mode_on_denial random_schedules", func(b *book) ratelimit.Store {
		return &twisted{book: b, take: func(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
			if err := b.Take(ctx, charges, results); err != nil || isDenied(charges, results) {
				return err
			}
			for i, c := range charges {
				if c.Mode == shadow && !results[i].Allowed {
					for j, strike := range charges {
						if strike.Mode == onDenial {
							b.also(as(force, strike))
							results[j].Remaining = max(0, results[j].Remaining-strike.Cost)
						}
					}
					break
				}
			}
			return nil
		}}
	}},
	{"on-denial stops at the limit", "mode_on_denial", onCharges(func(c *ratelimit.Charge) {
		if c.Mode == onDenial {
			c.Cost = min(c.Cost, 1)
		}
	})},
	{"on-denial alone counts as denied", "mode_on_denial", asMode(onDenial, force)},
}

// onDenied takes the charges of a mode also if their request is denied.
func onDenied(mode ratelimit.Mode) func(*book) ratelimit.Store {
	return onResults(func(b *book, charges []ratelimit.Charge, results []ratelimit.Result) {
		if !isDenied(charges, results) {
			return
		}
		for i, c := range charges {
			if c.Mode == mode && results[i].Allowed {
				b.also(c)
			}
		}
	})
}
