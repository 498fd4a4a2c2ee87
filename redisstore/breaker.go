package redisstore

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
)

const (
	// failuresToOpen consecutive failed calls open the breaker.
	failuresToOpen = 5
	// probeAfter is how long the breaker stays open before one call probes
	// whether Redis is back.
	probeAfter = 500 * time.Millisecond
)

// breaker keeps calls from a server that is down.
type breaker struct {
	gate  *gobreaker.TwoStepCircuitBreaker[struct{}]
	state atomic.Uint32 // a BreakerState: what a decision looks at first

	// changes are told once the gate's lock is free.
	changed func(from, to BreakerState)
	mu      sync.Mutex
	changes [][2]BreakerState
	untold  atomic.Bool
}

func newBreaker(changed func(from, to BreakerState)) *breaker {
	b := &breaker{changed: changed}
	b.gate = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests: 1,
		Timeout:     probeAfter,
		ReadyToTrip: func(counts gobreaker.Counts) bool { return counts.ConsecutiveFailures >= failuresToOpen },
		OnStateChange: func(_ string, from, to gobreaker.State) {
			b.state.Store(uint32(breakerState(to)))
			b.mu.Lock()
			b.changes = append(b.changes, [2]BreakerState{breakerState(from), breakerState(to)})
			b.untold.Store(true)
			b.mu.Unlock()
		},
	})
	return b
}

// tell tells of changes, with no lock held.
func (b *breaker) tell() {
	if !b.untold.Load() {
		return
	}
	b.mu.Lock()
	changes := b.changes
	b.changes = nil
	b.untold.Store(false)
	b.mu.Unlock()
	for _, change := range changes {
		b.changed(change[0], change[1])
	}
}

func breakerState(s gobreaker.State) BreakerState {
	switch s {
	case gobreaker.StateClosed:
		return BreakerClosed
	case gobreaker.StateHalfOpen:
		return BreakerHalfOpen
	default:
		return BreakerOpen
	}
}

// refuses reports whether a request need not even queue. It costs an atomic
// load while all is well.
func (b *breaker) refuses() bool {
	if BreakerState(b.state.Load()) != BreakerOpen {
		return false
	}
	open := b.gate.State() == gobreaker.StateOpen
	b.tell()
	return open
}

// probes reports whether all depends on the call that is under way.
func (b *breaker) probes() bool { return BreakerState(b.state.Load()) == BreakerHalfOpen }

// enter asks to make a call; report takes its outcome, once.
func (b *breaker) enter() (report func(error), err error) {
	done, err := b.gate.Allow()
	b.tell()
	if err != nil {
		return nil, ErrBreakerOpen
	}
	return func(err error) {
		done(err)
		b.tell()
	}, nil
}
