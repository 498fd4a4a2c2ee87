package memstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

// openCoarse is a store on a fake clock that it reads ahead of time, with no
// timer that would ever do it again.
func openCoarse(maxKeys int) (*Store, *fakeClock) {
	clock := newFakeClock()
	s := New(WithMaxKeys(maxKeys), WithSteadyClock(clock.now), WithCoarseClock())
	s.clock.coarse.start()
	return s, clock
}

// instant is what the store's clock stands at, without telling the store that
// it is late.
func (k *coarse) instant() int64 { return min(k.clock.read()-k.lost.Load(), k.bound.Load()) }

func (k *coarse) onTime() {
	k.mu.Lock()
	k.advance()
	k.mu.Unlock()
}

var coarseLimits = append([]ratelimit.Limit{
	ratelimit.TokenBucket(100, time.Second, 100),
	ratelimit.TokenBucket(1000, time.Second, 3000),
	ratelimit.LeakyBucket(100, time.Second, 300),
	ratelimit.FixedWindow(100, time.Second),
	ratelimit.FixedWindow(10, 100*time.Millisecond),
	ratelimit.SlidingWindow(1000, time.Second),
	ratelimit.SlidingWindow(100, 300*time.Millisecond),
	ratelimit.SlidingLog(50, time.Second),
}, oddLimits...)

// TestCoarseClockAdmitsTheSame has random requests decided by a store with a
// coarse clock and, at the instant that its clock stands at, by package
// algorithm: whatever the clock shows, neither admits one that the other does
// not, a denial says the same to the last microsecond, and an admission is
// never told too much. In one round the clock is always read in time, in one
// often not, in one never again.
func TestCoarseClockAdmitsTheSame(t *testing.T) {
	for name, lateness := range map[string]lateness{"in time": inTime, "late": late, "never": never} {
		for _, l := range coarseLimits {
			t.Run(fmt.Sprint(name, l.Algorithm, l.Quota, l.Window, l.Burst), func(t *testing.T) {
				admitsTheSame(t, l, lateness)
			})
		}
	}
}

type lateness uint8

const (
	inTime lateness = iota
	late
	never
)

func admitsTheSame(t *testing.T, l ratelimit.Limit, lateness lateness) {
	random := rand.New(rand.NewPCG(uint64(l.Quota), uint64(l.Window)))
	s, clock := openCoarse(100)
	k := s.clock.coarse
	var model algorithm.State
	unread := 0
	for range 6000 {
		c := on("client", l, costOf(random, l.Capacity()))
		c.Mode = [...]ratelimit.Mode{
			ratelimit.ModeEnforce, ratelimit.ModeEnforce, ratelimit.ModeEnforce, ratelimit.ModeShadow, ratelimit.ModePeek, ratelimit.ModeForce,
		}[random.IntN(6)]
		if c.Mode == ratelimit.ModeForce {
			c.Cost = min(c.Cost, 1)
		}
		now := k.instant()
		if lateness == inTime && now != clock.us.Load() {
			t.Fatal("the clock was stopped, although it was read in time")
		}
		var want ratelimit.Result
		algorithm.Apply(actions[c.Mode], &model, now, &l, c.Cost, &want)
		got := take(t, s, c)[0]
		if got != want {
			unread++
			best := want.At + want.ResetAfter.Microseconds()
			if !got.Allowed || !want.Allowed || c.Cost == 0 || c.Mode > ratelimit.ModeShadow || l.Algorithm == ratelimit.AlgorithmLeakyBucket ||
				got.At > now || got.At < now-lead || got.Remaining > want.Remaining || got.At+got.ResetAfter.Microseconds() != best || got.Limit != want.Limit {
				t.Fatalf("%d units in mode %d: %+v, want %+v", c.Cost, c.Mode, got, want)
			}
		}

		wait := min(want.RetryAfter, 3*l.Window)
		step := min([...]time.Duration{
			0, 0, 0, time.Microsecond, wait, max(wait-time.Microsecond, 0), l.Window / time.Duration(max(l.Quota, 1)),
			time.Duration(random.Int64N(int64(l.Window))), time.Duration(random.Int64N(int64(3 * l.Window))),
			lead * time.Microsecond, time.Duration(random.Int64N(3*lead)) * time.Microsecond,
		}[min(random.IntN(30), 10)], time.Minute)
		before, was := k.instant(), clock.us.Load()
		for lateness == inTime && step > 0 && clock.us.Load()+step.Microseconds() > k.bound.Load() {
			part := min(time.Duration(k.bound.Load()-clock.us.Load())*time.Microsecond, step)
			clock.advance(part)
			step -= part
			k.onTime()
		}
		clock.advance(step)
		if lateness < never && random.IntN(4) == 0 {
			k.onTime()
		}
		if k.instant()-before > clock.us.Load()-was {
			t.Fatalf("%d microseconds have passed in %d", k.instant()-before, clock.us.Load()-was)
		}
	}
	if l == ratelimit.TokenBucket(1000, time.Second, 3000) || l == ratelimit.SlidingWindow(1000, time.Second) || l == ratelimit.FixedWindow(100, time.Second) {
		if unread < 50 {
			t.Errorf("all but %d of 6000 requests had the clock read", unread)
		}
	}
}

// TestCoarseClockLeavesTheSame charges a bucket that has, at the time that is
// shown, a little left of its debt, and of now nothing any more. Its debt
// afterwards begins now, or it would be as good as new too early.
func TestCoarseClockLeavesTheSame(t *testing.T) {
	l := ratelimit.TokenBucket(1000, time.Second, 3000)
	s, clock := openCoarse(10)
	admit(t, s, on("client", l, 100)) // the debt of a tenth of a second
	clock.advance(200 * time.Millisecond)
	admit(t, s, on("client", l, 3000))
	if r := deny(t, s, on("client", l, 1)); r.RetryAfter != time.Millisecond {
		t.Errorf("%+v, want a wait of a millisecond", r)
	}
}

// TestCoarseClockAtTheEndOfAWindow charges a window that is not over at the time
// that is shown, and is now.
func TestCoarseClockAtTheEndOfAWindow(t *testing.T) {
	for _, l := range []ratelimit.Limit{ratelimit.FixedWindow(10, time.Second), ratelimit.SlidingWindow(10, time.Second)} {
		s, clock := openCoarse(10)
		k := s.clock.coarse
		start := k.instant() // a whole second
		for range 9 {
			clock.advance(100 * time.Millisecond)
			k.onTime()
		}
		admit(t, s, on("client", l, 1))
		clock.advance(200 * time.Millisecond)
		if r := admit(t, s, on("client", l, 1)); r.At != start+1_100_000 {
			t.Errorf("%v: decided at %d, %d before now", l, r.At, start+1_100_000-r.At)
		}
	}
}

// TestCoarseClockNeverRunsAhead has readers of a clock that is stopped for long,
// now and then, while a timer starts, ticks and stops: no reading is before one
// that was there before, and what is shown is never further behind than it may
// be.
func TestCoarseClockNeverRunsAhead(t *testing.T) {
	var base atomic.Int64
	c := newClock(func() time.Time { return time.UnixMicro(base.Load()) }, true)
	k := newCoarse(&c)
	c.coarse = k
	var latest atomic.Int64
	read := func() int64 {
		now := k.now()
		for {
			was := latest.Load()
			if was >= now || latest.CompareAndSwap(was, now) {
				return now
			}
		}
	}
	var done atomic.Bool
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() {
			for !done.Load() {
				before := latest.Load()
				if now := read(); now < before {
					t.Errorf("%d after %d", now, before)
					return
				}
				before = latest.Load()
				from, to := k.between()
				if to < before || from > read() {
					t.Errorf("between %d and %d, from %d on", from, to, before)
					return
				}
				runtime.Gosched()
			}
		})
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		step := random.Int64N(2 * tick.Microseconds())
		if random.IntN(20) == 0 {
			step = random.Int64N(4 * lead)
		}
		base.Add(step)
		if random.IntN(3) == 0 {
			k.used.CompareAndSwap(false, random.IntN(2) == 0)
			k.ticked()
		}
		runtime.Gosched()
	}
	done.Store(true)
	wait.Wait()
	if k.lost.Load() == 0 {
		t.Error("it was never late")
	}
}

// TestCoarseClockHeldUp has the clock read by others, late, while a goroutine is
// held up just after it has read it itself.
func TestCoarseClockHeldUp(t *testing.T) {
	base, meanwhile := int64(1_800_000_000_000_000), func() {}
	c := newClock(func() time.Time {
		was := base
		does := meanwhile
		meanwhile = func() {}
		does()
		return time.UnixMicro(was)
	}, true)

	// Who starts it: a reading from before must not be ahead of the bound.
	k := newCoarse(&c)
	start := base
	var read int64
	meanwhile = func() {
		base += 2 * lead
		read = k.now()
	}
	k.start()
	if now := k.now(); now < read || read != start+2*lead {
		t.Errorf("%d after %d", now-start, read-start)
	}

	// Who reads it: the clock has been stopped for 10 microseconds meanwhile.
	k = newCoarse(&c)
	k.start()
	start = base
	base += lead + 10
	meanwhile = k.onTime
	if now := k.now(); now != start+lead {
		t.Errorf("%d after the start, want %d", now-start, lead)
	}
}

// TestCoarseClockStopsByItself: the timer runs only while the store is asked
// more than once a tick.
func TestCoarseClockStopsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(WithCoarseClock())
		shows := func() bool { return s.clock.coarse.shown.Load() != notShown }
		c := on("client", ratelimit.FixedWindow(1_000_000, time.Hour), 1)
		for range 10 {
			admit(t, s, c)
			if shows() {
				t.Fatal("a timer runs for somebody who asks once in two ticks")
			}
			time.Sleep(2 * tick)
		}
		for range 30 {
			admit(t, s, c)
			time.Sleep(tick / 10)
		}
		if !shows() {
			t.Fatal("no timer runs for somebody who asks ten times a tick")
		}
		before := time.Now().UnixMicro()
		if r := admit(t, s, c); r.At > before || r.At < before-tick.Microseconds() {
			t.Errorf("decided %d before now, want at most a tick", before-r.At)
		}
		time.Sleep(2 * tick)
		if shows() {
			t.Fatal("the timer goes on for nobody")
		}
		if r := admit(t, s, c); r.At != time.Now().UnixMicro() {
			t.Errorf("at %d, want %d: without a timer the clock is read", r.At, time.Now().UnixMicro())
		}
		if s.clock.coarse.lost.Load() != 0 {
			t.Error("the clock was stopped")
		}
	})
}

// TestCoarseClockAtOnce asks for one key from many goroutines, by the real
// clock: as many are admitted as the limit has, no more and no less.
func TestCoarseClockAtOnce(t *testing.T) {
	const workers, quota = 8, 20_000
	s := New(WithCoarseClock())
	for _, l := range []ratelimit.Limit{
		ratelimit.FixedWindow(quota, ratelimit.MaxWindow), ratelimit.SlidingWindow(quota, ratelimit.MaxWindow), ratelimit.TokenBucket(1, ratelimit.MaxWindow, quota/200),
	} {
		var admitted atomic.Int64
		var wait sync.WaitGroup
		for range workers {
			wait.Go(func() {
				charges, results := []ratelimit.Charge{on("client", l, 1)}, make([]ratelimit.Result, 1)
				for range l.Capacity() / workers * 2 {
					if err := s.Take(context.Background(), charges, results); err != nil {
						t.Error(err)
						return
					}
					if results[0].Allowed {
						admitted.Add(1)
					}
				}
			})
		}
		wait.Wait()
		if got := admitted.Load(); got != l.Capacity() {
			t.Errorf("%v: %d admitted, want %d", l, got, l.Capacity())
		}
	}
}

// TestCoarseClockAllocatesNothing, whether the clock is read or not.
func TestCoarseClockAllocatesNothing(t *testing.T) {
	s, _ := openCoarse(10)
	for _, l := range []ratelimit.Limit{ratelimit.FixedWindow(1000, time.Hour), ratelimit.TokenBucket(1000, time.Hour, 1000), ratelimit.TokenBucket(2, time.Hour, 2)} {
		charges, results := []ratelimit.Charge{on("client", l, 1)}, make([]ratelimit.Result, 1)
		call := func() {
			if err := s.Take(t.Context(), charges, results); err != nil {
				t.Fatal(err)
			}
		}
		call()
		call()
		if n := testing.AllocsPerRun(200, call); n != 0 {
			t.Errorf("%v: %v allocations", l, n)
		}
	}
}

// TestCoarseClockOfItsOwnOnly: a clock from outside may be anything.
func TestCoarseClockOfItsOwnOnly(t *testing.T) {
	if s := New(WithCoarseClock(), WithClock(newFakeClock().now)); s.clock.coarse != nil {
		t.Error("a clock from outside is read ahead")
	}
}
