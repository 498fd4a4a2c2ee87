package ratelimit

import (
	"sync/atomic"
	"time"
)

// recurring thins out messages. The zero value lets one pass in ten seconds.
type recurring struct {
	// interval is how long an interval is, and most how many messages pass in
	// each; 0 are ten seconds and one.
	interval time.Duration
	most     int64
	// rest, if set, is told how many messages did not pass if for an interval
	// after theirs none comes that could tell.
	rest func(suppressed int64)

	began      atomic.Int64 // when the interval under way began, in Unix nanoseconds
	passed     atomic.Int64 // messages in it
	suppressed atomic.Int64
	waiting    atomic.Bool // for an interval without messages
}

const recurringInterval = 10 * time.Second

func (r *recurring) span() time.Duration {
	if r.interval > 0 {
		return r.interval
	}
	return recurringInterval
}

// due reports whether a message is to be logged now, and how many were not.
func (r *recurring) due() (suppressed int64, due bool) {
	now, began := time.Now().UnixNano(), r.began.Load()
	if over := began == 0 || now-began >= int64(r.span()) || now < began; over && r.began.CompareAndSwap(began, now) {
		r.passed.Store(1)
		return r.suppressed.Swap(0), true
	}
	if r.most > 1 && r.passed.Add(1) <= r.most {
		return r.suppressed.Swap(0), true
	}
	r.suppressed.Add(1)
	if r.rest != nil && r.waiting.CompareAndSwap(false, true) {
		r.wait()
	}
	return 0, false
}

// wait has the rest told when the interval after the one under way is over, if
// there is one then. It is a timer, which ends by itself.
func (r *recurring) wait() {
	end := r.began.Load() + 2*int64(r.span())
	time.AfterFunc(time.Duration(end-time.Now().UnixNano()), func() {
		if r.began.Load()+2*int64(r.span()) > end {
			r.wait() // a message has passed
			return
		}
		r.waiting.Store(false)
		r.flush()
	})
}

// flush tells the rest at once.
func (r *recurring) flush() {
	if n := r.suppressed.Swap(0); n > 0 {
		r.rest(n)
	}
}
