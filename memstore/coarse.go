package memstore

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// coarse is a clock that costs nothing to look at, since a timer reads it ahead
// now and then. What it shows is late, mostly by a tick and under load by as
// long as the timer is kept from running, of which there is no end: the system
// may stop a process for an hour. So that nothing depends on the timer being in
// time, the clock never runs ahead of what it shows by more than the lead:
//
//	shown <= now <= shown + lead
//
// holds at any instant, because who reads it and finds that it does not stops
// the clock for as long as the timer was late beyond the lead. A limiter whose
// clock stands still admits less, never more. (That is also what a monotonic
// clock does while the machine is suspended.)
//
// What can be told from both ends, that a charge fits and that it leaves the
// same behind wherever in between the time is, is told without reading the
// clock; see takeKnown.
//
// There is a timer only while the store is asked at least once a tick, so an
// idle process is not woken, and one that drops its store leaves nothing behind.
type coarse struct {
	clock *clock
	// shown is the time that was last read, notShown if there is no timer.
	shown atomic.Int64
	// bound is shown + lead, and math.MaxInt64 if there is no timer. No reading
	// is above it.
	bound atomic.Int64
	// lost is how long the clock has been stopped.
	lost atomic.Int64
	// used says that shown was looked at since the last tick.
	used atomic.Bool
	// asked is when the time was asked for last, if there is no timer.
	asked atomic.Int64

	mu    sync.Mutex
	timer *time.Timer
}

const (
	tick     = time.Millisecond
	lead     = 250_000 // microseconds
	notShown = math.MinInt64
)

func newCoarse(c *clock) *coarse {
	k := &coarse{clock: c}
	k.shown.Store(notShown)
	k.bound.Store(math.MaxInt64)
	k.asked.Store(notShown / 2)
	return k
}

// now is the present instant, read from the clock.
func (k *coarse) now() int64 {
	for {
		lost := k.lost.Load()
		now := k.clock.read() - lost
		if now > k.bound.Load() {
			k.mu.Lock()
			k.advance()
			k.mu.Unlock()
			continue
		}
		if k.lost.Load() == lost {
			return now
		}
	}
}

// between returns two instants that the present one lies between, the same one
// twice if the clock had to be read.
func (k *coarse) between() (earliest, latest int64) {
	if shown := k.shown.Load(); shown != notShown {
		if !k.used.Load() {
			k.used.Store(true)
		}
		return shown, shown + lead
	}
	now := k.now()
	if now-k.asked.Load() < tick.Microseconds() {
		k.start()
	}
	k.asked.Store(now)
	return now, now
}

// start makes the clock show the time, unless somebody else is about to.
func (k *coarse) start() {
	if !k.mu.TryLock() {
		return
	}
	defer k.mu.Unlock()
	if k.shown.Load() != notShown {
		return
	}
	// From when bound is stored no reading is above it, but those before may
	// be if this goroutine is held up in between.
	now := k.clock.read() - k.lost.Load()
	for {
		k.bound.Store(now + lead)
		again := k.clock.read() - k.lost.Load()
		if again <= now+lead {
			break
		}
		now = again
	}
	k.shown.Store(now)
	if k.clock.outside == nil { // in tests somebody else ticks
		k.timer = time.AfterFunc(tick, k.tick)
	}
}

// advance shows the time of now. The order matters: a late clock is stopped
// before anybody can take a later reading for good, and what is shown goes
// ahead before the readings may.
func (k *coarse) advance() {
	if k.shown.Load() == notShown {
		return
	}
	now := k.clock.read() - k.lost.Load()
	if late := now - k.bound.Load(); late > 0 {
		k.lost.Add(late)
		now -= late
	}
	k.shown.Store(now)
	k.bound.Store(now + lead)
}

// tick is the timer's.
func (k *coarse) tick() {
	if k.ticked() {
		k.timer.Reset(tick)
	}
}

// ticked shows the time, or stops doing so if nobody looks.
func (k *coarse) ticked() (goesOn bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.advance()
	if k.used.Swap(false) {
		return true
	}
	k.shown.Store(notShown)
	k.bound.Store(math.MaxInt64)
	return false
}
