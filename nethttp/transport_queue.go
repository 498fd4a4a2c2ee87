package httplimit

import (
	"container/list"
	"context"
	"time"
)

// waiter is a request in a gate's queue.
type waiter struct {
	turn
	wake chan struct{}
}

// turn is when a request may go: in the order they came, but none before its
// earliest (that is, when a refusal of its own is over), and none waits longer
// than its patience, which is not before that.
type turn struct{ came, earliest, patience time.Time }

// enter waits for a request's turn, or until ctx ends.
func (g *gate) enter(ctx context.Context, t turn) (ticket, error) {
	if err := ctx.Err(); err != nil {
		return ticket{}, err
	}
	if g == nil {
		return ticket{}, sleep(ctx, time.Until(t.earliest))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if g.queue.Len() == 0 && !t.earliest.After(now) && g.delay(now) == 0 {
		return g.pass(now), nil
	}
	place := g.join(t)
	defer g.leave(place)
	return g.wait(ctx, place)
}

// join puts a request into the queue, behind those that came before it.
func (g *gate) join(t turn) *list.Element {
	w := &waiter{turn: t, wake: make(chan struct{}, 1)}
	for e := g.queue.Back(); e != nil; e = e.Prev() {
		if !e.Value.(*waiter).came.After(t.came) {
			return g.queue.InsertAfter(w, e)
		}
	}
	return g.queue.PushFront(w)
}

// leave takes a request out of the queue and tells the next one.
func (g *gate) leave(place *list.Element) {
	g.queue.Remove(place)
	g.wake()
}

// first is the first request in the queue that may go by itself, nil if there
// is none.
func (g *gate) first(now time.Time) *list.Element {
	e := g.queue.Front()
	for e != nil && e.Value.(*waiter).earliest.After(now) {
		e = e.Next()
	}
	return e
}

// wake makes the first in the queue look whether it is its turn.
func (g *gate) wake() {
	if g.queue.Len() == 0 {
		return
	}
	if first := g.first(time.Now()); first != nil {
		select {
		case first.Value.(*waiter).wake <- struct{}{}:
		default:
		}
	}
}

// wait lets go of g.mu while it waits. Only the first in the queue looks at the
// clock for its turn; the others wait to be first.
func (g *gate) wait(ctx context.Context, place *list.Element) (ticket, error) {
	w := place.Value.(*waiter)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		now := time.Now()
		longest := w.patience.Sub(now)
		if early := w.earliest.Sub(now); early > 0 {
			longest = early
		} else if longest <= 0 || g.hopeless(w.patience) {
			return g.pass(now), nil
		} else if g.first(now) == place {
			d := g.delay(now)
			if d == 0 || d > longest && g.underWay.Len() == 0 {
				return g.pass(now), nil // what waiting does not help need not wait
			}
			longest = min(longest, d)
		}
		timer.Reset(longest)
		g.mu.Unlock()
		select {
		case <-timer.C:
		case <-w.wake:
		case <-ctx.Done():
		}
		g.mu.Lock()
		if err := ctx.Err(); err != nil {
			return ticket{}, err
		}
	}
}

// hopeless reports whether no turn can come before patience ends.
func (g *gate) hopeless(patience time.Time) bool {
	return g.closedUntil.After(patience) || g.state == informed && g.left.units <= 0 && g.left.until.After(patience)
}
