package storetest

import (
	"context"
	"math"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

var brokenCounts = []brokenStore{
	{"counts denied requests", "denied_changes_nothing cost random_schedules random_counts", onResults(func(b *book, charges []ratelimit.Charge, results []ratelimit.Result) {
		for i, c := range charges {
			if !results[i].Allowed && c.Mode == ratelimit.ModeEnforce {
				b.also(as(force, c))
			}
		}
	})},
	{"admits one more", "count random_counts never", func(b *book) ratelimit.Store {
		grown := onCharges(func(c *ratelimit.Charge) {
			if c.Limit.Algorithm.Bucket() {
				c.Limit.Burst++
			} else {
				c.Limit.Quota++
			}
		})(b)
		return onResultsOf(grown, func(r *ratelimit.Result) { r.Limit--; r.Remaining = max(0, r.Remaining-1) })
	}},
	{"denies the last", "count never", onCharges(func(c *ratelimit.Charge) {
		if c.Mode == ratelimit.ModeEnforce && c.Cost > 0 {
			c.Cost++
		}
	})},
	{"retry after in whole milliseconds, down", "boundary random_counts", onResult(func(r *ratelimit.Result) { r.RetryAfter = r.RetryAfter.Truncate(time.Millisecond) })},
	{"retry after in whole seconds, up", "random_counts random_schedules", onResult(func(r *ratelimit.Result) {
		if r.RetryAfter != ratelimit.Never {
			r.RetryAfter = (r.RetryAfter + time.Second - 1).Truncate(time.Second)
		}
	})},
	{"retry after is the reset", "boundary", onResult(func(r *ratelimit.Result) {
		if !r.Allowed && r.RetryAfter != ratelimit.Never {
			r.RetryAfter = r.ResetAfter
		}
	})},
	{"a finite wait for what can never pass", "never huge_numbers huge_sum quota_0", onResult(func(r *ratelimit.Result) {
		if r.RetryAfter == ratelimit.Never {
			r.RetryAfter = r.ResetAfter
		}
	})},
	{"never for the whole capacity", "never", onResults(func(_ *book, charges []ratelimit.Charge, results []ratelimit.Result) {
		for i, c := range charges {
			if !results[i].Allowed && c.Cost >= c.Limit.Capacity() {
				results[i].RetryAfter = ratelimit.Never
			}
		}
	})},
	{"no delay", "boundary vectors", onResult(func(r *ratelimit.Result) { r.Delay = 0 })},
	{"reset after in whole milliseconds, down", "as_good_as_new", onResult(func(r *ratelimit.Result) { r.ResetAfter = r.ResetAfter.Truncate(time.Millisecond) })},
	{"a clock in whole seconds", "boundary random_schedules random_counts short_window", func(b *book) ratelimit.Store {
		now := b.now
		b.now = func() int64 { return now() / 1e6 * 1e6 }
		return b
	}},
	{"looks cost one", "cost_0_looks mode_force", onCharges(func(c *ratelimit.Charge) {
		if c.Cost == 0 {
			c.Cost = 1
		}
	})},
	{"looks are always allowed", "cost_0_looks", onResults(func(_ *book, charges []ratelimit.Charge, results []ratelimit.Result) {
		for i, c := range charges {
			results[i].Allowed = results[i].Allowed || c.Cost == 0
		}
	})},
	{"a clock that goes back mints quota", "clock_back vectors random_schedules", func(b *book) ratelimit.Store {
		return &twisted{book: b, take: func(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
			b.mu.Lock()
			for _, c := range charges {
				if s := b.model[c.Key()]; s.Time > b.now() {
					s.Time = b.now()
					b.model[c.Key()] = s
				}
			}
			b.mu.Unlock()
			return b.Take(ctx, charges, results)
		}}
	}},
	{"one window ends all", "windows_of_others", func(b *book) ratelimit.Store {
		return &twisted{book: b, take: func(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
			b.mu.Lock()
			for _, c := range charges {
				for key, s := range b.model {
					if b.now()-s.Time >= 2*c.Limit.Window.Microseconds() {
						delete(b.model, key)
					}
				}
			}
			b.mu.Unlock()
			return b.Take(ctx, charges, results)
		}}
	}},
	{"forgets what was idle for half a window", "random_counts random_schedules", func(b *book) ratelimit.Store {
		return &twisted{book: b, take: func(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
			b.mu.Lock()
			for _, c := range charges {
				if s := b.model[c.Key()]; b.now()-s.Time >= c.Limit.Window.Microseconds()/2 {
					delete(b.model, c.Key())
				}
			}
			b.mu.Unlock()
			return b.Take(ctx, charges, results)
		}}
	}},
	{"tokens in floating point", "vectors random_counts no_rounding", floats},
	{"refills with whole tokens and drops the rest", "denied_changes_nothing random_counts", restless},
	{"products of 64 bits", "long_idle", func(b *book) ratelimit.Store {
		return onTokens(b, func(s *algorithm.State, now int64, l ratelimit.Limit) {
			window := l.Window.Microseconds()
			debt := s.Level*window + s.Rest - (now-s.Time)*l.Quota
			*s = algorithm.State{Time: now, Level: max(0, debt/window), Rest: max(0, debt%window)}
		})
	}},
	{"at most one unit per microsecond", "high_rates", func(b *book) ratelimit.Store {
		return onTokens(b, func(s *algorithm.State, now int64, l ratelimit.Limit) {
			if l.Quota > l.Window.Microseconds() {
				*s = algorithm.State{Time: now, Level: max(0, s.Level-(now-s.Time))}
			}
		})
	}},
	{"counts in 31 bits", "huge_numbers", onCharges(func(c *ratelimit.Charge) {
		c.Cost = min(c.Cost, math.MaxInt32)
		if c.Limit.Quota > math.MaxInt32 {
			c.Limit.Quota = math.MaxInt32
		}
	})},
	{"debt wraps round", "huge_debt", func(b *book) ratelimit.Store {
		return &twisted{book: b, take: func(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
			err := b.Take(ctx, charges, results)
			b.mu.Lock()
			defer b.mu.Unlock()
			for _, c := range charges {
				if s := b.model[c.Key()]; s.Level == algorithm.MaxUnits {
					delete(b.model, c.Key())
				}
			}
			return err
		}}
	}},
	{"forgets whom a new quota meets", "changed_quota changed_quota_drains", func(b *book) ratelimit.Store {
		last := make(map[ratelimit.Key]ratelimit.Limit)
		return &twisted{book: b, take: func(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
			b.mu.Lock()
			for _, c := range cloned(charges) {
				if l, ok := last[c.Key()]; ok && l != c.Limit {
					delete(b.model, c.Key())
				}
				last[c.Key()] = c.Limit
			}
			b.mu.Unlock()
			return b.Take(ctx, charges, results)
		}}
	}},
	{"keeps the first quota", "changed_quota", func(b *book) ratelimit.Store {
		first := make(map[ratelimit.Key]ratelimit.Limit)
		return onCharges(func(c *ratelimit.Charge) {
			b.mu.Lock()
			defer b.mu.Unlock()
			if l, ok := first[c.Key()]; ok {
				c.Limit = l
			}
			first[c.Key()] = c.Limit
		})(b)
	}},
	{"the quota 0 is no limit", "quota_0", onCharges(func(c *ratelimit.Charge) {
		if c.Limit.Quota == 0 {
			c.Limit = limitOf(c.Limit.Algorithm, 1000, c.Limit.Window)
		}
	})},
}

// onResult spoils every result alike.
func onResult(change func(r *ratelimit.Result)) func(*book) ratelimit.Store {
	return func(b *book) ratelimit.Store { return onResultsOf(b, change) }
}

func onResultsOf(store ratelimit.Store, change func(r *ratelimit.Result)) ratelimit.Store {
	return &resultSpoiler{store, change}
}

type resultSpoiler struct {
	ratelimit.Store
	change func(r *ratelimit.Result)
}

func (s *resultSpoiler) Take(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
	err := s.Store.Take(ctx, charges, results)
	for i := range results {
		s.change(&results[i])
	}
	return err
}

// onTokens has drain spoil a bucket's state before each call.
func onTokens(b *book, drain func(s *algorithm.State, now int64, l ratelimit.Limit)) ratelimit.Store {
	return &twisted{book: b, take: func(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
		b.mu.Lock()
		for _, c := range cloned(charges) {
			if s := b.model[c.Key()]; c.Limit.Algorithm.Bucket() && b.now() > s.Time && s.Time > 0 {
				drain(&s, b.now(), c.Limit)
				b.model[c.Key()] = s
			}
		}
		b.mu.Unlock()
		return b.Take(ctx, charges, results)
	}}
}

// restless moves a bucket's clock on each call, also if no whole token came.
func restless(b *book) ratelimit.Store {
	return onTokens(b, func(s *algorithm.State, now int64, l ratelimit.Limit) {
		whole := (now - s.Time) * min(l.Quota, 1e9) / l.Window.Microseconds()
		*s = algorithm.State{Time: now, Level: max(0, s.Level-whole)}
	})
}

// floats keeps tokens as a floating-point number of seconds, as many do.
func floats(b *book) ratelimit.Store {
	return onTokens(b, func(s *algorithm.State, now int64, l ratelimit.Limit) {
		rate := float32(l.Quota) / float32(l.Window.Seconds())
		debt := float32(s.Level) + float32(s.Rest)/float32(l.Window.Microseconds()) - float32(now-s.Time)/1e6*rate
		whole := float32(math.Floor(float64(max(debt, 0))))
		*s = algorithm.State{Time: now, Level: int64(whole), Rest: int64((max(debt, 0) - whole) * float32(l.Window.Microseconds()))}
	})
}
