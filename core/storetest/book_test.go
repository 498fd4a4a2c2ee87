package storetest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// book is a correct store, as simple as can be: the model behind one lock.
type book struct {
	mu    sync.Mutex
	now   func() int64
	model model
}

func newBook(clock *Clock) *book {
	now := func() int64 { return time.Now().UnixMicro() }
	if clock != nil {
		now = clock.UnixMicro
	}
	return &book{now: now, model: make(model)}
}

func (b *book) Take(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
	if err := checkTake(ctx, charges, results); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.take(cloned(charges), results)
	return nil
}

// take is Take without its checks, for callers that hold the lock.
func (b *book) take(charges []ratelimit.Charge, results []ratelimit.Result) {
	now := make([]int64, len(charges))
	for i, at := 0, b.now(); i < len(now); i++ {
		now[i] = at
	}
	answers := b.model.take(now, charges)
	for i := range results {
		results[i] = answers[i].Result
	}
}

func (b *book) Adjust(ctx context.Context, adjustments []ratelimit.Adjustment) error {
	if err := checkAdjust(ctx, adjustments); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range adjustments {
		a.Policy, a.Partition = strings.Clone(a.Policy), ratelimit.Partition(strings.Clone(string(a.Partition)))
		b.model.adjust(b.now(), a)
	}
	return nil
}

func (b *book) Reset(ctx context.Context, keys []ratelimit.Key) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, key := range keys {
		delete(b.model, key)
	}
	return nil
}

func checkTake(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(charges) != len(results) {
		return errors.New("book: as many results as charges, please")
	}
	for _, c := range charges {
		if err := checkLimit(c.Limit); err != nil {
			return err
		}
		if c.Cost < 0 || c.Mode > ratelimit.ModePenalty {
			return errors.New("book: no such cost or mode")
		}
	}
	return nil
}

func checkAdjust(ctx context.Context, adjustments []ratelimit.Adjustment) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, a := range adjustments {
		if err := checkLimit(a.Limit); err != nil {
			return err
		}
		if a.Cost < 0 || a.NewCost < 0 {
			return errors.New("book: no such cost")
		}
	}
	return nil
}

func checkLimit(l ratelimit.Limit) error {
	if l.IsUnlimited() {
		return errors.New("book: nothing to count")
	}
	return l.Validate()
}

func cloned(charges []ratelimit.Charge) []ratelimit.Charge {
	own := make([]ratelimit.Charge, len(charges))
	for i, c := range charges {
		c.Policy, c.Partition = strings.Clone(c.Policy), ratelimit.Partition(strings.Clone(string(c.Partition)))
		own[i] = c
	}
	return own
}

// harnessOf opens stores made by wrapping books; instances share the book.
func harnessOf(wrap func(*book) ratelimit.Store) Harness {
	return Harness{New: func(_ testing.TB, clock *Clock) ratelimit.Store { return wrap(newBook(clock)) }}
}

func correct(b *book) ratelimit.Store { return b }
