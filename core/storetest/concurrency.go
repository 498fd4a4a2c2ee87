package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

func concurrencyCases() []testCase {
	return []testCase{
		{"instances_agree", anyClock, "what one instance charged, adjusted or reset is so for all others at once", caseInstances},
		{"concurrent_one_key", anyClock, "concurrent callers, on any number of instances, never get more than the limit, nor less", caseConcurrentOneKey},
		{"concurrent_policies", anyClock, "concurrent requests with several policies are each taken as one: no policy is charged for what another denied", caseConcurrentPolicies},
		{"concurrent_keys", anyClock, "concurrent callers with keys of their own don't get in each other's way", caseConcurrentKeys},
		{"concurrent_adjust", setClock, "no charge and no adjustment is lost between concurrent callers", caseConcurrentAdjust},
		{"concurrent_reset", anyClock, "Reset beside Take and Adjust leaves a key that works", caseConcurrentReset},
		{"no_goroutine_left", anyClock, "a store that is closed leaves no goroutine behind", caseGoroutines},
	}
}

// callers is how many goroutines a concurrent case lets loose at once.
const callers = 500

// instances is the store and, if the harness can open them, two more on the
// same backend.
func (s *suite) instances() []ratelimit.Store {
	s.Helper()
	all := []ratelimit.Store{s.store}
	for range 2 {
		if s.h.Share == nil {
			break
		}
		store := s.h.Share(s, s.store, s.clock)
		if store == nil {
			s.Fatal("Harness.Share returned nil")
		}
		all = append(all, store)
	}
	return all
}

// atOnce runs f n times at once, on each instance in turn, and reports the
// first error.
func (s *suite) atOnce(n int, f func(ctx context.Context, store ratelimit.Store, i int) error) {
	s.Helper()
	var (
		stores = s.instances()
		ctx    = s.Context()
		ready  = make(chan struct{})
		wait   sync.WaitGroup
		first  atomic.Pointer[error]
	)
	for i := range n {
		wait.Go(func() {
			<-ready
			if err := f(ctx, stores[i%len(stores)], i); err != nil {
				first.CompareAndSwap(nil, &err)
			}
		})
	}
	close(ready)
	wait.Wait()
	if err := first.Load(); err != nil {
		s.Fatalf("of %d concurrent calls at least one failed: %v", n, *err)
	}
}

// caseInstances goes from one instance to the next with every call.
func caseInstances(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		stores, call := s.instances(), 0
		next := func() {
			s.store = stores[call%len(stores)]
			call++
		}
		c := on("client", limit(10), 4)
		next()
		r := s.admit(c)
		next()
		s.admit(c)
		next()
		s.deny(c)
		next()
		s.adjust(changed(c, r, 1))
		next()
		s.left(5, c, "4 and 4 charged, the first adjusted to 1")
		next()
		s.reset(c.Key())
		next()
		s.left(10, c, "after Reset")
	})
}

func caseConcurrentOneKey(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		c := on("client", limit(100), 1)
		var admitted atomic.Int64
		s.atOnce(callers, func(ctx context.Context, store ratelimit.Store, _ int) error {
			results := make([]ratelimit.Result, 1)
			if err := store.Take(ctx, []ratelimit.Charge{c}, results); err != nil {
				return err
			}
			if results[0].Allowed {
				admitted.Add(1)
			}
			return nil
		})
		if n := admitted.Load(); n != 100 {
			s.Errorf("%d goroutines against a limit of 100: %d admitted, want exactly 100", callers, n)
		}
		s.left(0, c, "after it")
	})
}

func caseConcurrentPolicies(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		// Half of the callers name the policies the other way round, which must
		// not lock them up.
		client := limit(1).Algorithm.String()
		narrow := under("narrow", on(client, limit(100), 1))
		wide := under("wide", on(client, limitOf(ratelimit.AlgorithmSlidingWindow, 1000, s.window), 2))
		third := under("third", on(client, limitOf(ratelimit.AlgorithmTokenBucket, 200, s.window), 1))
		orders := [][]ratelimit.Charge{{narrow, third, wide}, {wide, third, narrow}}
		var admitted atomic.Int64
		s.atOnce(callers, func(ctx context.Context, store ratelimit.Store, i int) error {
			results := make([]ratelimit.Result, 3)
			if err := store.Take(ctx, orders[i/2%2], results); err != nil {
				return err
			}
			if results[0].Allowed && results[1].Allowed && results[2].Allowed {
				admitted.Add(1)
			}
			return nil
		})
		if n := admitted.Load(); n != 100 {
			s.Errorf("%d goroutines against limits of 100, 200 and 1000: %d admitted, want exactly 100", callers, n)
		}
		s.left(0, narrow, "after it")
		s.left(100, third, "after 100 admitted requests of cost 1")
		s.left(800, wide, "after 100 admitted requests of cost 2")
	})
}

func caseConcurrentKeys(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		key := func(i int) ratelimit.Charge { return on(fmt.Sprint("client", i%50), limit(7), 1) }
		admitted := make([]atomic.Int64, 50)
		s.atOnce(callers, func(ctx context.Context, store ratelimit.Store, i int) error {
			results := make([]ratelimit.Result, 1)
			if err := store.Take(ctx, []ratelimit.Charge{key(i)}, results); err != nil {
				return err
			}
			if results[0].Allowed {
				admitted[i%50].Add(1)
			}
			return nil
		})
		for i := range admitted {
			if n := admitted[i].Load(); n != 7 {
				s.Errorf("10 requests of client %d against a limit of 7: %d admitted", i, n)
			}
		}
	})
}

// caseConcurrentAdjust has each caller charge 2 and give 1 back.
func caseConcurrentAdjust(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		c := on("client", limit(10*callers), 2)
		s.atOnce(callers, func(ctx context.Context, store ratelimit.Store, _ int) error {
			results := make([]ratelimit.Result, 1)
			if err := store.Take(ctx, []ratelimit.Charge{c}, results); err != nil {
				return err
			}
			return store.Adjust(ctx, []ratelimit.Adjustment{changed(c, results[0], 1)})
		})
		s.left(9*callers, c, fmt.Sprintf("%d goroutines charged 2 and gave 1 back", callers))
	})
}

func caseConcurrentReset(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		c, other := on("client", limit(5), 1), on("other", limit(5), 1)
		s.take(other)
		s.atOnce(callers/5, func(ctx context.Context, store ratelimit.Store, i int) error {
			results := make([]ratelimit.Result, 1)
			if err := store.Take(ctx, []ratelimit.Charge{c}, results); err != nil {
				return err
			}
			if i%10 == 0 {
				return store.Reset(ctx, []ratelimit.Key{c.Key()})
			}
			return store.Adjust(ctx, []ratelimit.Adjustment{changed(c, results[0], 0)})
		})
		s.reset(c.Key())
		s.left(5, c, "after concurrent Resets and one more")
		s.left(4, other, "a key beside one that was reset concurrently")
		c.Cost = 5
		s.admit(c)
		s.deny(c)
	})
}

// caseGoroutines opens a store of its own, uses it and lets the harness close
// it.
func caseGoroutines(s *suite) {
	before := goroutines()
	s.sub("use", func(s *suite) {
		s.reopen()
		s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
			s.atOnce(50, func(ctx context.Context, store ratelimit.Store, i int) error {
				c := on(fmt.Sprint("client", i), limit(3), 1)
				results := make([]ratelimit.Result, 1)
				err := store.Take(ctx, []ratelimit.Charge{c}, results)
				return errors.Join(err, store.Adjust(ctx, []ratelimit.Adjustment{changed(c, results[0], 0)}), store.Reset(ctx, []ratelimit.Key{c.Key()}))
			})
		})
	})
	// One that has been told to end may need a moment.
	var left []string
	for deadline := time.Now().Add(3 * time.Second); ; time.Sleep(time.Millisecond) {
		left = left[:0]
		for id, stack := range goroutines() {
			if _, old := before[id]; !old {
				left = append(left, stack)
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			break
		}
	}
	s.Errorf("%d goroutines are left of a store that was closed; the first:\n%s", len(left), left[0])
}

// goroutines is every goroutine's stack by what names it ("goroutine 7").
func goroutines() map[string]string {
	buf := make([]byte, 1<<20)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			buf = buf[:n]
			break
		}
		buf = make([]byte, 2*len(buf))
	}
	all := make(map[string]string)
	for stack := range bytes.SplitSeq(buf, []byte("\n\n")) {
		id, _, _ := strings.Cut(string(stack), " [")
		all[id] = string(stack)
	}
	return all
}
