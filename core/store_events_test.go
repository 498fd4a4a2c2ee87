package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// sorting is a store that knows its errors.
type sorting struct {
	*modelStore
	kind string
}

func (s sorting) ErrorKind(err error) string {
	if err == nil {
		return ""
	}
	return s.kind
}

// The kind of a failure is what the store that failed says of its error.
func TestFailuresHaveAKind(t *testing.T) {
	slow := fmt.Errorf("no answer: %w", context.DeadlineExceeded)
	failing := func(err error) *modelStore {
		s := newModelStore()
		s.fails = err
		return s
	}
	for _, test := range []struct {
		name            string
		store, fallback ratelimit.Store
		want            []string
	}{
		{"any error", failing(errors.New("down")), failing(errors.New("down")), []string{"other", "other"}},
		{"a deadline", failing(slow), failing(errors.New("down")), []string{"timeout", "other"}},
		{"stores that know", sorting{failing(slow), "network"}, sorting{failing(slow), "full"}, []string{"network", "full"}},
	} {
		var kinds []string
		l := mustNew(t, test.store, ratelimit.Fallback(test.fallback, 1),
			ratelimit.Policy{Name: "p", Limit: ratelimit.PerMinute(1), OnStoreFailure: ratelimit.FailLocal},
			ratelimit.Observe(ratelimit.Observer{
				StoreFailure: func(_ context.Context, f *ratelimit.StoreFailure) { kinds = append(kinds, f.Kind) },
			}))
		l.Allow(t.Context(), "k")
		if !slices.Equal(kinds, test.want) {
			t.Errorf("%s: kinds %q, want %q", test.name, kinds, test.want)
		}
	}
}

func TestBreakerStatesHaveStableNames(t *testing.T) {
	for state, want := range map[ratelimit.BreakerState]string{
		ratelimit.BreakerClosed: "closed", ratelimit.BreakerHalfOpen: "half-open", ratelimit.BreakerOpen: "open",
	} {
		if got := state.String(); got != want {
			t.Errorf("BreakerState(%d) is %q, want %q", state, got, want)
		}
	}
}

// Observers are told in the order in which they were given.
func TestObserversAreToldInOrder(t *testing.T) {
	store := newModelStore()
	store.fails = errors.New("down")
	var told []string
	observer := func(name string) ratelimit.Option {
		return ratelimit.Observe(ratelimit.Observer{
			Decision:     func(context.Context, *ratelimit.Observation) { told = append(told, name+" decision") },
			StoreFailure: func(context.Context, *ratelimit.StoreFailure) { told = append(told, name+" failure") },
		})
	}
	l := mustNew(t, store, observer("a"), ratelimit.Policy{Name: "p", Limit: ratelimit.FixedWindow(1, time.Hour)}, observer("b"))
	l.Allow(t.Context(), "k")
	if want := []string{"a failure", "b failure", "a decision", "b decision"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

// The store is timed only for those who want to know.
func TestUntimedObservers(t *testing.T) {
	for _, test := range []struct {
		name    string
		untimed [2]bool
		timed   bool
	}{
		{"both", [2]bool{true, true}, false},
		{"the first", [2]bool{true, false}, true},
		{"the second", [2]bool{false, true}, true},
	} {
		var times []time.Duration
		observer := func(untimed bool) ratelimit.Option {
			return ratelimit.Observe(ratelimit.Observer{Untimed: untimed, Decision: func(_ context.Context, o *ratelimit.Observation) {
				times = append(times, o.StoreTime)
			}})
		}
		l := mustNew(t, slowStore{newModelStore()}, ratelimit.Policy{Name: "p", Limit: ratelimit.PerMinute(1)},
			observer(test.untimed[0]), observer(test.untimed[1]))
		l.Allow(t.Context(), "k")
		if len(times) != 2 || (times[0] > 0) != test.timed || (times[1] > 0) != test.timed {
			t.Errorf("untimed: %s: times %v, want them known: %v", test.name, times, test.timed)
		}
	}
}

// slowStore takes a time that any clock sees.
type slowStore struct{ *modelStore }

func (s slowStore) Take(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
	start := time.Now()
	for time.Since(start) == 0 {
		runtime.Gosched()
	}
	return s.modelStore.Take(ctx, charges, results)
}
