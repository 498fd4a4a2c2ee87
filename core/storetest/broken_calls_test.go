package storetest

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

var brokenCalls = []brokenStore{
	{"keeps the strings it was given", "arguments_kept", func(b *book) ratelimit.Store {
		return &twisted{book: b, take: func(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
			if err := checkTake(ctx, charges, results); err != nil {
				return err
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			b.take(charges, results)
			return nil
		}}
	}},
	{"sorts the charges in place", "arguments_unchanged", func(b *book) ratelimit.Store {
		return &twisted{book: b, take: func(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
			slices.SortFunc(charges, func(a, b ratelimit.Charge) int { return cmp.Compare(a.Partition, b.Partition) })
			return b.Take(ctx, charges, results)
		}}
	}},
	{"takes from the adjustments in place", "arguments_unchanged", func(b *book) ratelimit.Store {
		return &twisted{book: b, adjust: func(ctx context.Context, adjustments []ratelimit.Adjustment) error {
			err := b.Adjust(ctx, adjustments)
			for i := range adjustments {
				adjustments[i].Cost = adjustments[i].NewCost
			}
			return err
		}}
	}},
	{"does not look at the context", "cancelled random_schedules", withoutContext(func(context.Context, error) error { return nil })},
	{"charges, then looks at the context", "cancelled", withoutContext(func(ctx context.Context, err error) error { return errors.Join(err, ctx.Err()) })},
	{"an error of its own for an ended context", "cancelled", func(b *book) ratelimit.Store {
		return &twisted{book: b, take: func(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
			if ctx.Err() != nil {
				return errors.New("too late")
			}
			return b.Take(ctx, charges, results)
		}}
	}},
	{"an ended context is a denial", "cancelled", func(b *book) ratelimit.Store {
		return &twisted{book: b, take: func(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
			if ctx.Err() != nil {
				clear(results)
				return nil
			}
			return b.Take(ctx, charges, results)
		}}
	}},
	{"any cost below 0 is 0", "bad_arguments random_schedules", func(b *book) ratelimit.Store {
		return &twisted{book: b, take: func(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
			charges = cloned(charges)
			for i := range charges {
				charges[i].Cost = max(0, charges[i].Cost)
			}
			return b.Take(ctx, charges, results)
		}}
	}},
	{"a bad charge is a denial", "bad_arguments", func(b *book) ratelimit.Store {
		return &twisted{book: b, take: func(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
			err := b.Take(ctx, charges, results)
			if err != nil && ctx.Err() == nil {
				clear(results)
				return nil
			}
			return err
		}}
	}},
	{"checks charges one by one", "bad_arguments", func(b *book) ratelimit.Store {
		return &twisted{book: b, take: func(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
			if len(charges) != len(results) || checkTake(ctx, charges, results) == nil {
				return b.Take(ctx, charges, results)
			}
			for i := range charges {
				if err := b.Take(ctx, charges[i:i+1], results[i:i+1]); err != nil {
					return err
				}
			}
			return nil
		}}
	}},
	{"answers as many as it has room for", "bad_arguments", func(b *book) ratelimit.Store {
		return &twisted{book: b, take: func(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
			n := min(len(charges), len(results))
			return b.Take(ctx, charges[:n], results[:n])
		}}
	}},
	{"adjusts to less than nothing", "bad_arguments", func(b *book) ratelimit.Store {
		return &twisted{book: b, adjust: func(ctx context.Context, adjustments []ratelimit.Adjustment) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			for _, a := range adjustments {
				if checkLimit(a.Limit) == nil {
					a.Cost, a.NewCost = max(a.Cost, 0), max(a.NewCost, 0)
					if err := b.Adjust(ctx, []ratelimit.Adjustment{a}); err != nil {
						return err
					}
				}
			}
			return nil
		}}
	}},
	{"nothing to do is an error", "nothing_to_do", func(b *book) ratelimit.Store {
		return &twisted{book: b, take: func(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
			if len(charges) == 0 {
				return errors.New("nothing to do")
			}
			return b.Take(ctx, charges, results)
		}}
	}},
	{"fills in what is not zero", "count cost_0_looks", func(b *book) ratelimit.Store {
		return &twisted{book: b, take: func(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
			own := make([]ratelimit.Result, len(results))
			err := b.Take(ctx, charges, own)
			for i, r := range own {
				results[i].Allowed, results[i].Limit, results[i].At = r.Allowed, r.Limit, r.At
				if r.Remaining != 0 {
					results[i].Remaining = r.Remaining
				}
				if r.RetryAfter != 0 {
					results[i].RetryAfter = r.RetryAfter
				}
				if r.ResetAfter != 0 {
					results[i].ResetAfter = r.ResetAfter
				}
				if r.Delay != 0 {
					results[i].Delay = r.Delay
				}
			}
			return err
		}}
	}},
	{"leaves a goroutine behind", "no_goroutine_left", func(b *book) ratelimit.Store {
		go func() { <-make(chan struct{}) }()
		return b
	}},
	{"fails under load", "concurrent_one_key no_goroutine_left", func(b *book) ratelimit.Store {
		free := make(chan struct{}, 1)
		return &twisted{book: b, take: func(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
			select {
			case free <- struct{}{}:
				defer func() { <-free }()
				for range 100 {
					runtime.Gosched()
				}
				return b.Take(ctx, charges, results)
			default:
				return errors.New("busy")
			}
		}}
	}},
}

// withoutContext runs every call to its end and only then asks err.
func withoutContext(err func(ctx context.Context, err error) error) func(*book) ratelimit.Store {
	return func(b *book) ratelimit.Store {
		return &twisted{
			book: b,
			take: func(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
				return err(ctx, b.Take(context.WithoutCancel(ctx), charges, results))
			},
			adjust: func(ctx context.Context, adjustments []ratelimit.Adjustment) error {
				return err(ctx, b.Adjust(context.WithoutCancel(ctx), adjustments))
			},
			reset: func(ctx context.Context, keys []ratelimit.Key) error {
				return err(ctx, b.Reset(context.WithoutCancel(ctx), keys))
			},
		}
	}
}
