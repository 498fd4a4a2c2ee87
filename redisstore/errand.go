package redisstore

import (
	"context"
	"sync"
	"time"
)

// errand is the context of calls to Redis. When it ends, so does what it is
// doing on a connection, if that is one of [Interruptible]'s.
type errand struct {
	timer *time.Timer
	done  chan struct{}

	mu       sync.Mutex
	deadline time.Time // unlike any other errand's
	err      error
	conn     *conn // the last one that it used

	// caller is to be watched from when the timer first ends, and rest is what
	// is left of the errand's time then; unwatch is set once it is watched.
	caller  context.Context
	rest    time.Duration
	unwatch func() bool
}

// unwatched is how long a call is not told that its caller has left. Most have
// their answer by then, and to watch a context takes longer than all else that
// an errand does.
const unwatched = 5 * time.Millisecond

var _ context.Context = (*errand)(nil)

// spareErrands are those that were closed before they ended.
var spareErrands = sync.Pool{New: func() any {
	e := &errand{done: make(chan struct{})}
	e.timer = time.AfterFunc(time.Hour, e.expire)
	e.timer.Stop()
	return e
}}

// newErrand makes one that ends after the time given, or is closed before.
func newErrand(in time.Duration) *errand {
	e := spareErrands.Get().(*errand)
	errands.add(e, time.Now().Add(in))
	e.timer.Reset(in)
	return e
}

// newErrandOf makes one that ends also when its caller leaves.
func newErrandOf(caller context.Context, in time.Duration) *errand {
	if caller.Done() == nil {
		return newErrand(in)
	}
	e := spareErrands.Get().(*errand)
	errands.add(e, time.Now().Add(in))
	first := min(unwatched, in/2)
	e.mu.Lock()
	e.caller, e.rest = caller, in-first
	e.mu.Unlock()
	e.timer.Reset(first)
	return e
}

// watch begins to watch the caller, and returns false if there is nothing to
// watch.
func (e *errand) watch() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	caller := e.caller
	if caller == nil {
		return false
	}
	e.caller = nil
	e.timer.Reset(e.rest)
	e.unwatch = context.AfterFunc(caller, func() { e.end(caller.Err()) })
	return true
}

func (e *errand) expire() {
	if e.watch() {
		return
	}
	e.end(context.DeadlineExceeded)
	errands.remove(e)
}

// end ends the errand, perhaps early.
func (e *errand) end(err error) {
	e.mu.Lock()
	if e.err != nil {
		e.mu.Unlock()
		return
	}
	e.err = err
	used := e.conn
	close(e.done)
	e.mu.Unlock()
	if used != nil {
		used.interrupt(e)
	}
}

// close lets go of an errand that is done with. It is used again unless it has
// ended or somebody may yet end it.
func (e *errand) close() {
	again := e.timer.Stop()
	errands.remove(e)
	e.mu.Lock()
	again = again && e.err == nil && e.unwatch == nil
	if e.unwatch != nil {
		e.unwatch()
		e.timer.Stop() // perhaps it was set after it was stopped
	}
	e.conn, e.caller = nil, nil
	e.mu.Unlock()
	if again {
		spareErrands.Put(e)
	}
}

// use notes the connection that the errand is now on, and returns whether it
// has ended.
func (e *errand) use(c *conn) (ended bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.conn = c
	return e.err != nil
}

// interruptible reports whether ending the errand ends what it does.
func (e *errand) interruptible() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.conn != nil
}

// Deadline implements [context.Context].
func (e *errand) Deadline() (time.Time, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.deadline, true
}

// Done implements [context.Context].
func (e *errand) Done() <-chan struct{} { return e.done }

// Err implements [context.Context].
func (e *errand) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// Value implements [context.Context].
func (*errand) Value(any) any { return nil }

// errands are those under way, by their deadlines.
var errands = errandTable{byDeadline: make(map[time.Time]*errand)}

type errandTable struct {
	mu         sync.Mutex
	byDeadline map[time.Time]*errand
}

// add gives an errand the deadline, or the next that is free.
func (t *errandTable) add(e *errand, deadline time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.byDeadline[deadline] != nil {
		deadline = deadline.Add(1)
	}
	t.byDeadline[deadline] = e
	e.mu.Lock()
	defer e.mu.Unlock()
	e.deadline = deadline
}

func (t *errandTable) remove(e *errand) {
	deadline, _ := e.Deadline()
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byDeadline, deadline)
}

// find finds an errand by its deadline as it was given to go-redis. It is the
// same time.Time with a monotonic reading, which go-redis' own have not: theirs
// are never taken for an errand's.
func (t *errandTable) find(deadline time.Time) *errand {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byDeadline[deadline]
}

// sharedErrand gives calls an errand that ends one to two budgets after they
// began. Calls that begin within one budget share one, which is cheaper than a
// timer for each; those who wait for them have timers of their own.
type sharedErrand struct {
	mu      sync.Mutex
	current *errand
	renew   time.Time
}

func (s *sharedErrand) get(now time.Time, budget time.Duration) *errand {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil || !now.Before(s.renew) {
		s.current = newErrand(2 * budget) // the one before ends by itself
		s.renew = now.Add(budget)
	}
	return s.current
}
