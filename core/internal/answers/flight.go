package answers

import (
	"context"
	"errors"
	"time"
)

// flight is a call of Ask that is under way. Its leader makes it, others wait
// for it.
type flight[A any] struct {
	began   time.Duration
	version uint64
	// done is closed when the call has ended. entry is then what it brought;
	// nil is nothing: the leader's context ended, or Ask panicked.
	done  chan struct{}
	entry *entry[A]
}

// errSlow is why a caller waits no longer for another's call.
var errSlow = errors.New("a call for the same key, which others wait for, takes too long")

// join makes the call for key, or waits for the one that is under way.
func (c *Cache[Q, A]) join(ctx context.Context, question Q, key string, hash uint64) (answer *A, ended bool, failed error) {
	latest := c.Now() + c.MaxWait
	for {
		f, e, lead := c.board(key, hash)
		switch {
		case e != nil:
			return e.answer, false, nil
		case lead:
			return c.lead(ctx, question, key, hash, f)
		}
		ended, slow := wait(ctx, f, min(latest, f.began+c.MaxWait)-c.Now())
		switch {
		case ended:
			return nil, true, nil
		case slow:
			if e := c.older(key, hash, c.Now()); e != nil {
				answer = e.answer
			}
			return answer, false, errSlow
		case f.entry != nil && !c.isForgotten(f.entry, hash):
			return f.entry.answer, false, nil
		}
	}
}

// board returns the call that is under way for key, or the entry that one has
// just left, or begins a call for the caller to lead.
func (c *Cache[Q, A]) board(key string, hash uint64) (f *flight[A], e *entry[A], lead bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.Now()
	f = c.flights[key]
	if f != nil && now-f.began < c.MaxWait {
		return f, nil, false
	}
	if e, ok := c.entries.Get(hash, key); ok && c.current(e, hash, now) {
		return nil, e, false
	}
	f = &flight[A]{began: now, version: c.forgotten.version(), done: make(chan struct{})}
	c.flights[key] = f
	return f, nil, true
}

// lead makes the call. However it ends, the others get to know.
func (c *Cache[Q, A]) lead(ctx context.Context, question Q, key string, hash uint64, f *flight[A]) (answer *A, ended bool, failed error) {
	defer c.land(key, hash, f)
	given, err := c.Ask(question)
	switch {
	case err == nil:
		f.entry = c.answered(f, &given, hash)
	case ctx.Err() != nil:
		return nil, true, nil
	default:
		f.entry = c.failed(f, key, hash)
	}
	return f.entry.answer, false, err
}

// land ends a call. What it brought is kept, unless it took so long that
// another was begun, which knows better.
func (c *Cache[Q, A]) land(key string, hash uint64, f *flight[A]) {
	c.mu.Lock()
	if c.flights[key] == f {
		delete(c.flights, key)
		if f.entry != nil {
			c.entries.Put(hash, key, f.entry, f.entry.part)
		}
	}
	c.mu.Unlock()
	close(f.done)
}

// wait waits for a call, but not longer than patience or beyond the end of
// ctx.
func wait[A any](ctx context.Context, f *flight[A], patience time.Duration) (ended, slow bool) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-f.done:
		return false, false
	case <-ctx.Done():
		return true, false
	case <-timer.C:
		return false, true
	}
}
