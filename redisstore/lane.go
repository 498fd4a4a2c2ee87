package redisstore

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// maxBatch bounds the requests of one call.
	maxBatch = 128
	// inFlight calls run at a time, inFlightFar to a server whose round trip
	// is long (farAway): a request that has to queue waits for most of one.
	inFlight, inFlightFar = 4, 12
	farAway               = 400 * time.Microsecond
	// maxAbandoned bounds the calls that nobody waits for any more and that
	// wait for the client's own timeouts.
	maxAbandoned = 64
)

// background is the context of what outlives the requests that began it.
var background = context.Background()

// sender is what a lane needs of a client.
type sender interface {
	Process(ctx context.Context, cmd redis.Cmder) error
	Pipeline() redis.Pipeliner
}

// lane is the way to one server. Requests that arrive while calls are under
// way wait for each other and go out together; a lone one goes at once. There
// is no timer, and no goroutine while there is nothing to do.
type lane struct {
	store   *Store
	server  string
	client  sender
	breaker *breaker

	mu        sync.Mutex
	queue     []*call
	active    []*batch // calls under way that somebody may wait for
	pending   int      // of them, those about to take from the queue
	abandoned int
	closed    bool
	idle      chan struct{} // closed when a closed lane has nothing under way

	roundTrip atomic.Int64 // the shortest of late, in nanoseconds

	// lone says that the last call carried a single request, steady that it was
	// answered and could have been interrupted: see direct.
	lone, steady bool

	shared sharedErrand
}

func newLane(s *Store, server string, client sender) *lane {
	l := &lane{store: s, server: server, client: client, idle: make(chan struct{})}
	l.breaker = newBreaker(func(from, to BreakerState) {
		s.observers.changed(server, from, to)
	})
	return l
}

// batch is one call to Redis under way. All of it is under lane.mu.
type batch struct {
	started time.Time // zero between two calls
	// report tells the breaker how the call went; it is called once.
	report func(error)
	// overdue says that the call was left behind.
	overdue bool
}

// send queues a call, and sees that somebody takes it to Redis.
func (l *lane) send(c *call) error {
	if l.breaker.refuses() {
		return ErrBreakerOpen
	}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return ErrClosed
	}
	l.queue = append(l.queue, c)
	l.startUnlock()
	return nil
}

// startUnlock starts one more call if something waits and there is room for
// it, and unlocks.
func (l *lane) startUnlock() {
	var late []func(error)
	// A half-open breaker waits for one call only, whose caller may have left
	// before its budget was over: then the next one to come sees to it.
	if len(l.active) >= l.mostInFlight() || l.breaker.probes() {
		late = l.leaveBehindLocked(time.Now())
	}
	var start *batch
	if len(l.queue) > l.pending*maxBatch && len(l.active) < l.mostInFlight() {
		start = new(batch)
		l.active = append(l.active, start)
		l.pending++
	}
	l.mu.Unlock()
	for _, report := range late {
		report(ErrTimeout)
	}
	if start != nil {
		go l.run(start)
	}
}

func (l *lane) mostInFlight() int {
	if time.Duration(l.roundTrip.Load()) > farAway {
		return inFlightFar
	}
	return inFlight
}

// leaveBehindLocked gives the place of calls that have taken longer than any
// request waits to others, and returns what is to be told of them.
func (l *lane) leaveBehindLocked(now time.Time) (late []func(error)) {
	for i := 0; i < len(l.active); {
		b := l.active[i]
		if b.started.IsZero() || now.Sub(b.started) < l.store.budget {
			i++
			continue
		}
		b.overdue = true
		l.abandoned++
		l.removeLocked(b)
		if b.report != nil {
			late = append(late, b.report)
			b.report = nil
		}
	}
	return late
}

func (l *lane) removeLocked(b *batch) {
	for i, other := range l.active {
		if other == b {
			last := len(l.active) - 1
			l.active[i], l.active[last] = l.active[last], nil
			l.active = l.active[:last]
			return
		}
	}
}

// timedOut is called by a request that has waited its whole budget.
func (l *lane) timedOut() {
	l.mu.Lock()
	late := l.leaveBehindLocked(time.Now())
	l.startUnlock()
	for _, report := range late {
		report(ErrTimeout)
	}
}

// run takes calls to Redis until none is left.
func (l *lane) run(b *batch) {
	r := runners.Get().(*runner)
	for {
		// Callers that are ready to run, among them those who have just got
		// their answers, may queue first: a larger batch for no wait.
		runtime.Gosched()
		if !l.fill(b, r) {
			break
		}
		l.exchange(background, l.shared.get(time.Now(), l.store.budget), b, r)
		if l.wasLeftBehind(b) {
			break
		}
	}
	r.reset()
	runners.Put(r)
}

// fill takes what waits, and ends the run if nothing does.
func (l *lane) fill(b *batch, r *runner) bool {
	r.reset()
	l.mu.Lock()
	l.pending--
	n := 0
	for n < len(l.queue) && len(r.calls) < maxBatch {
		c := l.queue[n]
		l.queue[n] = nil
		n++
		if c.abandoned() {
			c.release()
			continue
		}
		r.calls = append(r.calls, c)
	}
	rest := copy(l.queue, l.queue[n:])
	for i := rest; i < len(l.queue); i++ {
		l.queue[i] = nil
	}
	l.queue = l.queue[:rest]
	if len(r.calls) == 0 {
		l.removeLocked(b)
		l.checkIdleLocked()
		l.mu.Unlock()
		return false
	}
	b.started = time.Now()
	l.lone = len(r.calls) == 1
	l.startUnlock() // for what is left
	return true
}

// wasLeftBehind reports whether the run has to end because another has its
// place.
func (l *lane) wasLeftBehind(b *batch) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b.overdue {
		l.abandoned--
		l.checkIdleLocked()
		return true
	}
	b.started = time.Time{}
	l.pending++
	return false
}

// exchange makes one call, as an errand. That its caller left early is not
// Redis' failure; that of calls which several wait for is nobody. A half-open
// breaker is told all the same, since it lets nobody in before it knows.
func (l *lane) exchange(caller context.Context, e *errand, b *batch, r *runner) {
	if err := l.enter(b); err != nil {
		r.fail(err)
		return
	}
	started := time.Now()
	err := r.exchange(e, l)
	took := time.Since(started)
	if err == nil {
		l.measure(took)
	}
	left := err != nil && caller.Err() != nil
	l.mu.Lock()
	report, late := b.report, b.overdue
	b.report = nil
	l.steady = err == nil && e.interruptible()
	l.mu.Unlock()
	if report != nil && (!left || l.breaker.probes()) {
		report(err)
	}
	if left {
		err = caller.Err()
	}
	l.store.called(Call{Server: l.server, Requests: len(r.calls), Duration: took, Late: late, Err: err})
	r.finish()
}

// enter asks the breaker.
func (l *lane) enter(b *batch) error {
	report, err := l.breaker.enter()
	if err != nil {
		return err
	}
	l.mu.Lock()
	full := l.abandoned >= maxAbandoned
	if !full {
		b.report = report
	}
	l.mu.Unlock()
	if full {
		report(ErrOverloaded)
		return ErrOverloaded
	}
	return nil
}

// measure keeps the shortest of the round trips of late: what is longer waited
// for something else.
func (l *lane) measure(took time.Duration) {
	shortest := l.roundTrip.Load()
	if slower := shortest + shortest/32 + 1; shortest != 0 && int64(took) > slower {
		took = time.Duration(slower)
	}
	l.roundTrip.Store(int64(took))
}

// close lets no more calls in and returns a channel that is closed when the
// last one is done.
func (l *lane) close() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed = true
		l.checkIdleLocked()
	}
	return l.idle
}

func (l *lane) checkIdleLocked() {
	if !l.closed || len(l.active) > 0 || l.abandoned > 0 || len(l.queue) > 0 {
		return
	}
	select {
	case <-l.idle:
	default:
		close(l.idle)
	}
}
