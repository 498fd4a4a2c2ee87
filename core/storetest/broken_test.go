package storetest

import (
	"context"
	"slices"
	"strings"
	"testing"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// brokenStore is a store with one fault, and the cases that must see it.
type brokenStore struct {
	name  string
	cases string
	store func(b *book) ratelimit.Store
}

// TestRejects proves the suite: it must see each fault, by the case that is
// there for it.
func TestRejects(t *testing.T) {
	all := allCases()
	seen := make(map[string]bool)
	for _, group := range [][]brokenStore{brokenCounts, brokenKeys, brokenModes, brokenPenalties, brokenTakes, brokenChanges, brokenCalls} {
		for _, broken := range group {
			t.Run(strings.ReplaceAll(broken.name, " ", "_"), func(t *testing.T) {
				for name := range strings.FieldsSeq(broken.cases) {
					seen[name] = true
					mustFail(t, harnessOf(broken.store), all, name)
				}
			})
		}
	}
	t.Run("instances_that_count_apart", func(t *testing.T) {
		for _, name := range []string{"instances_agree", "concurrent_one_key", "concurrent_policies", "concurrent_keys"} {
			seen[name] = true
			mustFail(t, sharing(func(b *book) *book { return &book{now: b.now, model: make(model)} }), all, name)
		}
	})
	t.Run("instances_that_settle_their_own", func(t *testing.T) {
		h := sharing(func(b *book) *book { return b })
		shared := h.Share
		h.Share = func(t testing.TB, store ratelimit.Store, clock *Clock) ratelimit.Store {
			b := shared(t, store, clock).(*instance).book
			return &twisted{book: b, adjust: checkAdjust}
		}
		for _, name := range []string{"settled_by_any", "settled_at_once"} {
			seen[name] = true
			mustFail(t, h, all, name)
		}
	})
	for _, c := range all {
		if !seen[c.name] {
			t.Errorf("case %s: no broken store shows that it can fail", c.name)
		}
	}
}

func mustFail(t *testing.T, h Harness, all []testCase, name string) {
	t.Helper()
	at := slices.IndexFunc(all, func(c testCase) bool { return c.name == name })
	if at < 0 {
		t.Fatalf("there is no case %q", name)
	}
	r := record(t, func(t tester) { runCases(t, h, all[at:at+1]) })
	switch {
	case !r.failed:
		t.Errorf("case %s passes", name)
	case strings.Contains(r.output(), "panic:"):
		t.Errorf("case %s does not fail but panics: %s", name, r.output())
	case !strings.Contains(r.output(), "why: "+all[at].why):
		t.Errorf("case %s does not say why it is there: %s", name, r.output())
	}
}

// twisted is a book of which some calls do something else.
type twisted struct {
	*book
	take   func(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error
	adjust func(ctx context.Context, adjustments []ratelimit.Adjustment) error
	reset  func(ctx context.Context, keys []ratelimit.Key) error
}

func (s *twisted) Take(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
	if s.take != nil {
		return s.take(ctx, charges, results)
	}
	return s.book.Take(ctx, charges, results)
}

func (s *twisted) Adjust(ctx context.Context, adjustments []ratelimit.Adjustment) error {
	if s.adjust != nil {
		return s.adjust(ctx, adjustments)
	}
	return s.book.Adjust(ctx, adjustments)
}

func (s *twisted) Reset(ctx context.Context, keys []ratelimit.Key) error {
	if s.reset != nil {
		return s.reset(ctx, keys)
	}
	return s.book.Reset(ctx, keys)
}

// onResults has change spoil what a correct store answers.
func onResults(change func(b *book, charges []ratelimit.Charge, results []ratelimit.Result)) func(*book) ratelimit.Store {
	return func(b *book) ratelimit.Store {
		return &twisted{book: b, take: func(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
			err := b.Take(ctx, charges, results)
			if err == nil {
				change(b, cloned(charges), results)
			}
			return err
		}}
	}
}

// onCharges has change spoil what a correct store is asked.
func onCharges(change func(c *ratelimit.Charge)) func(*book) ratelimit.Store {
	return func(b *book) ratelimit.Store {
		return &twisted{book: b, take: func(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
			if err := checkTake(ctx, charges, results); err != nil {
				return err
			}
			charges = cloned(charges)
			for i := range charges {
				change(&charges[i])
			}
			return b.Take(ctx, charges, results)
		}}
	}
}

// onKeys has change spoil the names under which a correct store counts.
func onKeys(change func(policy *string, partition *ratelimit.Partition, l *ratelimit.Limit)) func(*book) ratelimit.Store {
	return func(b *book) ratelimit.Store {
		store := onCharges(func(c *ratelimit.Charge) { change(&c.Policy, &c.Partition, &c.Limit) })(b).(*twisted)
		store.adjust = func(ctx context.Context, adjustments []ratelimit.Adjustment) error {
			adjustments = slices.Clone(adjustments)
			for i := range adjustments {
				change(&adjustments[i].Policy, &adjustments[i].Partition, &adjustments[i].Limit)
			}
			return b.Adjust(ctx, adjustments)
		}
		store.reset = func(ctx context.Context, keys []ratelimit.Key) error {
			keys = slices.Clone(keys)
			for i := range keys {
				l := ratelimit.Limit{Algorithm: keys[i].Algorithm, Window: keys[i].Window}
				change(&keys[i].Policy, &keys[i].Partition, &l)
				keys[i].Algorithm, keys[i].Window = l.Algorithm, l.Window
			}
			return b.Reset(ctx, keys)
		}
		return store
	}
}

// onAdjustments has change spoil what a correct store is to adjust.
func onAdjustments(change func(b *book, a *ratelimit.Adjustment)) func(*book) ratelimit.Store {
	return func(b *book) ratelimit.Store {
		return &twisted{book: b, adjust: func(ctx context.Context, adjustments []ratelimit.Adjustment) error {
			if err := checkAdjust(ctx, adjustments); err != nil {
				return err
			}
			adjustments = slices.Clone(adjustments)
			for i := range adjustments {
				change(b, &adjustments[i])
			}
			return b.Adjust(ctx, adjustments)
		}}
	}
}

// also takes more charges, whatever they are good for.
func (b *book) also(charges ...ratelimit.Charge) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range charges {
		b.take(charges[i:i+1], make([]ratelimit.Result, 1))
	}
}

// isDenied reports whether an enforcing charge was denied.
func isDenied(charges []ratelimit.Charge, results []ratelimit.Result) bool {
	for i, c := range charges {
		if c.Mode == ratelimit.ModeEnforce && !results[i].Allowed {
			return true
		}
	}
	return false
}
