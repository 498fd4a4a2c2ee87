package storetest

import (
	"context"
	"maps"
	"path"
	"runtime"
	"strings"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

var brokenChanges = []brokenStore{
	{"adjusts the current window", "adjust_late adjust_vectors random_schedules settled_by_any", onAdjustments(func(b *book, a *ratelimit.Adjustment) { a.At = b.now() })},
	{"adjusts whatever is left of the charge", "adjust_late", onAdjustments(func(b *book, a *ratelimit.Adjustment) {
		// Gives back in full, also what has drained.
		if a.Limit.Algorithm.Bucket() && a.NewCost < a.Cost {
			a.At = b.now()
		}
	})},
	{"gives back more than there is", "adjust_not_below_zero", func(b *book) ratelimit.Store {
		return &twisted{book: b, adjust: func(ctx context.Context, adjustments []ratelimit.Adjustment) error {
			if err := checkAdjust(ctx, adjustments); err != nil {
				return err
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			for _, a := range adjustments {
				s := b.model[a.Key()]
				next := algorithm.Adjust(s, b.now(), a.Limit, a.At, a.Cost, a.NewCost)
				if a.Limit.Algorithm == ratelimit.AlgorithmFixedWindow && next.Level == 0 && s.Level > 0 {
					next.Level = s.Level + a.NewCost - a.Cost
				}
				b.model[a.Key()] = next
			}
			return nil
		}}
	}},
	{"never adjusts upwards", "adjust adjust_several settled_at_once", onAdjustments(func(_ *book, a *ratelimit.Adjustment) { a.NewCost = min(a.NewCost, a.Cost) })},
	{"adjusts only up to the limit", "adjust", onAdjustments(func(_ *book, a *ratelimit.Adjustment) { a.NewCost = min(a.NewCost, a.Limit.Capacity()) })},
	{"adjusts only what was charged", "adjust", onAdjustments(func(_ *book, a *ratelimit.Adjustment) {
		if a.Cost == 0 {
			a.NewCost = 0
		}
	})},
	{"gives back all or nothing", "adjust adjust_vectors", onAdjustments(func(_ *book, a *ratelimit.Adjustment) {
		if a.NewCost < a.Cost {
			a.NewCost = 0
		}
	})},
	{"adjusts the first only", "adjust_several", func(b *book) ratelimit.Store {
		return &twisted{book: b, adjust: func(ctx context.Context, adjustments []ratelimit.Adjustment) error {
			if err := checkAdjust(ctx, adjustments); err != nil {
				return err
			}
			return b.Adjust(ctx, adjustments[:min(1, len(adjustments))])
		}}
	}},
	{"adjusts every key of the policy", "adjust_one_key", func(b *book) ratelimit.Store {
		return &twisted{book: b, adjust: func(ctx context.Context, adjustments []ratelimit.Adjustment) error {
			b.mu.Lock()
			var all []ratelimit.Adjustment
			for _, a := range adjustments {
				all = append(all, a)
				for key := range b.model {
					if other := a; key.Policy == a.Policy && key.Algorithm == a.Limit.Algorithm && key.Partition != a.Partition && key.Window == a.Limit.Window {
						other.Partition = key.Partition
						all = append(all, other)
					}
				}
			}
			b.mu.Unlock()
			return b.Adjust(ctx, all)
		}}
	}},
	{"adjusts what it read before", "concurrent_adjust", func(b *book) ratelimit.Store {
		return &twisted{book: b, adjust: func(ctx context.Context, adjustments []ratelimit.Adjustment) error {
			if err := checkAdjust(ctx, adjustments); err != nil {
				return err
			}
			b.mu.Lock()
			before := &book{now: b.now, model: maps.Clone(b.model)}
			b.mu.Unlock()
			for range 10 {
				runtime.Gosched()
			}
			err := before.Adjust(ctx, adjustments)
			b.mu.Lock()
			defer b.mu.Unlock()
			for _, a := range adjustments {
				b.model[a.Key()] = before.model[a.Key()]
			}
			return err
		}}
	}},
	{"resets by prefix", "reset_one_key", resetting(func(asked, stored ratelimit.Key) bool {
		return stored.Policy == asked.Policy && stored.Algorithm == asked.Algorithm && stored.Window == asked.Window &&
			strings.HasPrefix(string(stored.Partition), string(asked.Partition))
	})},
	{"resets by pattern", "reset_one_key", resetting(func(asked, stored ratelimit.Key) bool {
		matches, _ := path.Match(string(asked.Partition), string(stored.Partition))
		return stored.Policy == asked.Policy && stored.Algorithm == asked.Algorithm && stored.Window == asked.Window &&
			(matches || stored.Partition == asked.Partition)
	})},
	{"resets every algorithm and window", "reset_one_key", resetting(func(asked, stored ratelimit.Key) bool {
		return stored.Policy == asked.Policy && stored.Partition == asked.Partition
	})},
	{"resets every policy", "reset_one_key", resetting(func(asked, stored ratelimit.Key) bool {
		return stored.Partition == asked.Partition && stored.Algorithm == asked.Algorithm && stored.Window == asked.Window
	})},
	{"resets everything", "reset_one_key concurrent_reset", resetting(func(_, _ ratelimit.Key) bool { return true })},
	{"resets nothing", "reset concurrent_reset adjust_not_below_zero arguments_kept", resetting(func(_, _ ratelimit.Key) bool { return false })},
	{"resets the default algorithm only", "reset", resetting(func(asked, stored ratelimit.Key) bool {
		return stored == asked && asked.Algorithm == ratelimit.AlgorithmSlidingWindow
	})},
	{"resets the first key only", "reset", func(b *book) ratelimit.Store {
		return &twisted{book: b, reset: func(ctx context.Context, keys []ratelimit.Key) error {
			return b.Reset(ctx, keys[:min(1, len(keys))])
		}}
	}},
}

// resetting removes what is told to belong to a key.
func resetting(belongs func(asked, stored ratelimit.Key) bool) func(*book) ratelimit.Store {
	return func(b *book) ratelimit.Store {
		return &twisted{book: b, reset: func(ctx context.Context, keys []ratelimit.Key) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			for _, key := range keys {
				maps.DeleteFunc(b.model, func(stored ratelimit.Key, _ algorithm.State) bool { return belongs(key, stored) })
			}
			return nil
		}}
	}
}
