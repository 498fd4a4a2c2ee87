package redisstore

import (
	"context"
	"time"
)

// direct makes a call on its caller's own goroutine, and returns false if it
// has not. To hand a call to another goroutine and get the answer back from it
// costs a process that is otherwise idle as much again as the call (see
// BenchmarkLone): each hand wakes a thread, which then has the processor that
// Redis or the answer is in need of.
//
// It is for callers that are alone, since those that are not travel together,
// and only on a connection that can be taken from them, so that they still
// leave when their budget is over, or a few milliseconds after their context.
// Nothing of this is a promise that go-redis makes: that the last call met such
// a connection is what shows it. And that call was answered: what is to be found
// out of a server that fails, a call finds out that is not in a hurry to leave.
func (l *lane) direct(ctx context.Context, c *call) bool {
	b := l.alone()
	if b == nil {
		return false
	}
	r := runners.Get().(*runner)
	r.calls = append(r.calls, c)
	e := newErrandOf(ctx, l.store.budget)
	l.exchange(ctx, e, b, r)
	e.close()
	r.reset()
	runners.Put(r)
	l.mu.Lock()
	if b.overdue {
		l.abandoned--
	} else {
		l.removeLocked(b)
	}
	l.checkIdleLocked()
	l.startUnlock() // for those who came meanwhile
	<-c.done        // the answer is there
	if c.err != nil && ctx.Err() != nil {
		c.err = ctx.Err()
	}
	return true
}

// alone starts a call of a caller that has the lane for itself, if all is well.
func (l *lane) alone() *batch {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.lone || !l.steady || l.closed || len(l.active) > 0 || len(l.queue) > 0 || l.abandoned > 0 {
		return nil
	}
	b := &batch{started: time.Now()}
	l.active = append(l.active, b)
	return b
}
