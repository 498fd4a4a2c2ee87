package answers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// after answers with tier after d, whatever happens.
func after(d time.Duration, tier string) question {
	return func() (plan, error) {
		time.Sleep(d)
		return plan{"ann", tier}, nil
	}
}

func never() (plan, error) { panic("nobody was to ask") }

func TestManyAskOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(config())
		var calls atomic.Int64
		var all sync.WaitGroup
		for range 200 {
			all.Go(func() {
				answer, ended, err := c.Get(t.Context(), func() (plan, error) {
					calls.Add(1)
					time.Sleep(time.Second)
					return plan{"ann", "gold"}, nil
				}, []byte("k"))
				if ended || err != nil || answer.tier != "gold" {
					t.Errorf("answer %v, ended %v, %v", answer, ended, err)
				}
			})
		}
		all.Wait()
		if n := calls.Load(); n != 1 {
			t.Errorf("%d calls, want 1", n)
		}
	})
}

// However they come together, a key that has just been answered is not asked
// about again.
func TestEveryKeyIsAskedAboutOnce(t *testing.T) {
	c := New(config())
	const keys = 500
	var calls [keys]atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range keys {
				_, _, _ = c.Get(t.Context(), func() (plan, error) {
					calls[i].Add(1)
					return plan{"ann", "gold"}, nil
				}, fmt.Append(nil, i))
			}
		})
	}
	all.Wait()
	for i := range calls {
		if n := calls[i].Load(); n != 1 {
			t.Errorf("key %d: %d calls", i, n)
		}
	}
}

func TestManyFailOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(config())
		var calls, told atomic.Int64
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				answer, ended, err := c.Get(t.Context(), func() (plan, error) {
					calls.Add(1)
					time.Sleep(time.Second)
					return plan{}, errDown
				}, []byte("k"))
				if ended || answer != nil {
					t.Errorf("answer %v, ended %v", answer, ended)
				}
				if err != nil {
					told.Add(1)
				}
			})
		}
		all.Wait()
		if calls.Load() != 1 || told.Load() != 1 {
			t.Errorf("%d calls, %d were told of the failure; want 1 and 1", calls.Load(), told.Load())
		}
	})
}

func TestOneWhoseContextEndsLeavesTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(config())
		leading, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		waiting, leaveToo := context.WithTimeout(t.Context(), 2*time.Second)
		defer leaveToo()
		var all sync.WaitGroup
		begun := time.Now()
		all.Go(func() { // the leader
			answer, ended, err := c.Get(leading, func() (plan, error) {
				<-leading.Done()
				return plan{}, fmt.Errorf("query: %w", leading.Err())
			}, []byte("k"))
			if answer != nil || !ended || err != nil {
				t.Errorf("the leader: %v, ended %v, %v", answer, ended, err)
			}
		})
		synctest.Wait()
		var calls atomic.Int64
		for range 10 {
			all.Go(func() {
				answer, ended, err := c.Get(t.Context(), func() (plan, error) {
					calls.Add(1)
					return after(2*time.Second, "gold")()
				}, []byte("k"))
				if ended || err != nil || answer == nil || answer.tier != "gold" {
					t.Errorf("a waiter: %v, ended %v, %v", answer, ended, err)
				}
				if took := time.Since(begun); took != 3*time.Second {
					t.Errorf("a waiter had its answer after %v, want 3s", took)
				}
			})
		}
		synctest.Wait()
		time.Sleep(1500 * time.Millisecond)
		all.Go(func() {
			answer, ended, err := c.Get(waiting, never, []byte("k"))
			if answer != nil || !ended || err != nil || time.Since(begun) != 2*time.Second {
				t.Errorf("a waiter whose context ended: %v, ended %v, %v after %v", answer, ended, err, time.Since(begun))
			}
		})
		all.Wait()
		if calls.Load() != 1 {
			t.Errorf("%d waiters asked, want 1", calls.Load())
		}
	})
}

// A panic, and a goroutine that ends, are the leader's own.
func TestWhoeverPanicsLeavesTheOthers(t *testing.T) {
	for name, fall := range map[string]func(){"panic": func() { panic("bug") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := New(config())
				var fell, answered atomic.Int64
				var all sync.WaitGroup
				for i := range 20 {
					all.Go(func() {
						finished := false
						defer func() {
							if !finished {
								_ = recover()
								fell.Add(1)
							}
						}()
						answer, _, err := c.Get(t.Context(), func() (plan, error) {
							time.Sleep(time.Millisecond)
							if fell.Load() < 3 {
								fall()
							}
							return plan{"ann", "gold"}, nil
						}, []byte("k"))
						finished = true
						if err != nil || answer == nil || answer.tier != "gold" {
							t.Errorf("caller %d: %v, %v", i, answer, err)
						}
						answered.Add(1)
					})
				}
				all.Wait()
				if fell.Load() != 3 || answered.Load() != 17 {
					t.Errorf("%d fell and %d were answered, want 3 and 17", fell.Load(), answered.Load())
				}
			})
		})
	}
}

func TestForgetInFlight(t *testing.T) {
	for _, name := range []string{"ann", "k"} {
		synctest.Test(t, func(t *testing.T) {
			c := New(config())
			var all sync.WaitGroup
			all.Go(func() {
				// It has read the old tier already.
				if answer, _, err := c.Get(t.Context(), after(2*time.Second, "free"), []byte("k")); err != nil || answer.tier != "free" {
					t.Errorf("a request that came before: %v, %v", answer, err)
				}
			})
			synctest.Wait()
			time.Sleep(time.Second)
			c.Forget(name)
			all.Go(func() {
				if answer, _, err := c.Get(t.Context(), after(0, "gold"), []byte("k")); err != nil || answer.tier != "gold" {
					t.Errorf("a request that came while the old answer was on its way: %v, %v", answer, err)
				}
			})
			all.Wait()
			if answer, _, err := c.Get(t.Context(), never, []byte("k")); err != nil || answer.tier != "gold" {
				t.Errorf("what is cached: %v, %v", answer, err)
			}
		})
	}
}

func TestWaitingHasAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(config())
		begun := time.Now()
		var all sync.WaitGroup
		all.Go(func() { _, _, _ = c.Get(t.Context(), after(10*time.Second, "old"), []byte("k")) })
		synctest.Wait()
		time.Sleep(2 * time.Second)
		answer, ended, err := c.Get(t.Context(), never, []byte("k"))
		if answer != nil || ended || !errors.Is(err, errSlow) || time.Since(begun) != 5*time.Second {
			t.Errorf("a waiter: %v, ended %v, %v after %v", answer, ended, err, time.Since(begun))
		}
		// The next one asks for himself, and the slow call changes nothing.
		if answer, _, err := c.Get(t.Context(), after(time.Second, "new"), []byte("k")); err != nil || answer.tier != "new" {
			t.Errorf("who comes after: %v, %v", answer, err)
		}
		all.Wait()
		if answer, _, err := c.Get(t.Context(), never, []byte("k")); err != nil || answer.tier != "new" {
			t.Errorf("when the slow call has returned: %v, %v", answer, err)
		}
	})
}

func TestWhoWaitsTooLongGetsTheOlderAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(config())
		_, _, _ = c.Get(t.Context(), after(0, "gold"), []byte("k"))
		time.Sleep(time.Minute)
		var all sync.WaitGroup
		all.Go(func() { _, _, _ = c.Get(t.Context(), after(10*time.Second, "free"), []byte("k")) })
		synctest.Wait()
		if answer, _, err := c.Get(t.Context(), never, []byte("k")); answer == nil || answer.tier != "gold" || !errors.Is(err, errSlow) {
			t.Errorf("a waiter: %v, %v", answer, err)
		}
		all.Wait()
	})
}

// Whoever asks after a change was told of has the change, and nobody reads what
// belongs to another key, however many ask and forget at once.
func TestAgainstChangesInParallel(t *testing.T) {
	c := config()
	c.MaxKnown, c.MaxUnknown, c.MaxAge, c.Pause = 8, 4, time.Millisecond, time.Microsecond
	type numbered struct {
		who string
		n   int64
	}
	var truth [16]atomic.Int64
	cache := New(Config[int, numbered]{
		Ask: func(i int) (numbered, error) {
			n := truth[i].Load()
			switch rand.IntN(20) {
			case 0:
				return numbered{}, errDown
			case 1:
				panic("bug")
			case 2:
				runtime.Gosched()
			}
			return numbered{fmt.Sprint("who", i), n}, nil
		},
		Subject:  func(a *numbered) string { return a.who },
		Known:    func(a *numbered) bool { return a.n%3 != 0 },
		MaxKnown: c.MaxKnown, MaxUnknown: c.MaxUnknown,
		MaxAge: c.MaxAge, MaxStale: c.MaxStale, Pause: c.Pause, MaxWait: c.MaxWait, Now: c.Now,
	})
	get := func(ctx context.Context, i int) {
		defer func() { _ = recover() }()
		least := truth[i].Load()
		answer, ended, _ := cache.Get(ctx, i, fmt.Append(nil, "key", i))
		switch {
		case ended && ctx.Err() == nil:
			t.Error("ended, but the context has not")
		case answer == nil:
		case answer.who != fmt.Sprint("who", i):
			t.Errorf("key %d has the answer of %s", i, answer.who)
		case answer.n < least-1:
			// The last change may not have been told of yet.
			t.Errorf("key %d: %d after %d was told of", i, answer.n, least-1)
		}
	}
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(g)))
			for range 3000 {
				i := r.IntN(len(truth))
				switch r.IntN(8) {
				case 0:
					ctx, cancel := context.WithCancel(t.Context())
					cancel()
					get(ctx, i)
				default:
					get(t.Context(), i)
				}
			}
		})
	}
	for i := range truth {
		all.Go(func() { // one who changes i, and tells
			for range 300 {
				truth[i].Add(1)
				cache.Forget(fmt.Sprint("who", i))
				runtime.Gosched()
			}
		})
	}
	all.Wait()
	if known, unknown := cache.Len(); known > c.MaxKnown || unknown > c.MaxUnknown {
		t.Errorf("%d known and %d unknown answers, want at most %d and %d", known, unknown, c.MaxKnown, c.MaxUnknown)
	}
}
