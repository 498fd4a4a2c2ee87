package redisstore

import (
	"context"
	"sync"
	"time"
)

// errand is the context of calls to Redis. When it ends, so does what it is
// doing on a connection, if that is one of [Interruptible]'s.
type errand struct {
	deadline time.Time // unlike any other errand's
	timer    *time.Timer
	done     chan struct{}

	mu   sync.Mutex
	err  error
	conn *conn // the last one that it used
}

var _ context.Context = (*errand)(nil)

// newErrand makes one that ends after the time given, or is closed before.
func newErrand(in time.Duration) *errand {
	e := &errand{deadline: time.Now().Add(in), done: make(chan struct{})}
	errands.add(e)
	e.timer = time.AfterFunc(in, e.expire)
	return e
}

func (e *errand) expire() {
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

// close lets go of an errand that is done with.
func (e *errand) close() {
	e.timer.Stop()
	errands.remove(e)
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
func (e *errand) Deadline() (time.Time, bool) { return e.deadline, true }

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

func (t *errandTable) add(e *errand) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.byDeadline[e.deadline] != nil {
		e.deadline = e.deadline.Add(1)
	}
	t.byDeadline[e.deadline] = e
}

func (t *errandTable) remove(e *errand) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byDeadline, e.deadline)
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
