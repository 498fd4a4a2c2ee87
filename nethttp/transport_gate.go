package httplimit

import (
	"container/list"
	"sync"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// gate holds requests to one host (and key) back. A nil gate holds none back.
type gate struct {
	mu    sync.Mutex
	queue list.List // of *waiter, by when their requests came

	state state
	// sent numbers the requests that went through; underWay are the tickets of
	// those that have no response yet, by number.
	sent     uint64
	underWay list.List
	lastSent time.Time

	// closedUntil is until when the server refuses. What was sent up to
	// closedAt has nothing to say about the time after; row is how many
	// refusals there were in a row, those of requests sent together being one.
	closedUntil time.Time
	closedAt    uint64
	row         int

	left  left
	doubt doubt
	// each is how many units go for one request: its cost, and what others use
	// meanwhile.
	each float64
	// pace is a window's share for each of its quota, 0 if that isn't known.
	pace time.Duration

	users int // requests that hold the gate; guarded by gates.mu
}

// state is what a gate goes by.
type state uint8

const (
	// doubting: nothing is known, so that one request goes first.
	doubting state = iota
	// informed: a response said how much is left, and that still holds.
	informed
	// silent: the server says nothing of quotas.
	silent
)

// left is what a response says of what is left.
type left struct {
	by       uint64 // the number of its request
	heard    uint64 // the number of the last request sent before it came
	units    int64
	until    time.Time     // when it no longer holds
	interval time.Duration // between requests, 0 if there is enough
	pace     time.Duration // a window's share for each of its quota, 0 if unknown
}

// doubt is what a doubting gate goes by.
type doubt struct {
	from       uint64    // requests up to this one were sent before
	first      time.Time // when the first one after it was sent
	underWay   int64     // how many of those have no response yet
	most       int64     // how many there may be; doubles as time passes
	afterClose bool      // whether it was a refusal that brought it
}

// ticket is a request's passage through a gate.
type ticket struct {
	number uint64
	sentAt time.Time
	place  *list.Element // in underWay
}

const (
	// doubling is how long a doubting gate waits for a response before twice
	// as many requests may go.
	doubling = 250 * time.Millisecond
	// manyInDoubt is how many requests are no longer few.
	manyInDoubt = 64
	// smallShare is the share of a limit from which on what is left is small,
	// and smallUnits the number, if that is no more than half the limit.
	smallShare, smallUnits = 8, 4
	// mostEach bounds how many units go for one request.
	mostEach = 64
	// decidedAfter is how long a server takes at most, as far as is assumed,
	// to decide a request that it then may take long to answer.
	decidedAfter = time.Second
)

// pass lets a request through.
func (g *gate) pass(now time.Time) ticket {
	g.sent++
	g.lastSent = now
	k := ticket{number: g.sent, sentAt: now}
	k.place = g.underWay.PushBack(k)
	if g.state == doubting {
		if g.doubt.first.IsZero() {
			g.doubt.first = now
		}
		g.doubt.underWay++
	}
	return k
}

// delay is how long no request may go if no response changes that, 0 if one may
// now.
func (g *gate) delay(now time.Time) time.Duration {
	if d := g.closedUntil.Sub(now); d > 0 {
		return d
	}
	if g.state == informed && !now.Before(g.left.until) {
		g.startDoubt(false)
	}
	switch g.state {
	case informed:
		d := g.delayForUnits(now)
		if d == 0 {
			interval := time.Duration(float64(g.left.interval) * g.each)
			d = max(0, g.lastSent.Add(interval).Sub(now))
		}
		return min(d, g.left.until.Sub(now))
	case doubting:
		return g.delayInDoubt(now)
	}
	return 0
}

// delayForUnits is how long to wait because those under way may use up half of
// what is left: the ones sent after the one that told, and those before it that
// the server may have decided after it. Half, since others may go by the same
// news.
func (g *gate) delayForUnits(now time.Time) time.Duration {
	if g.left.units <= 0 {
		return ratelimit.Never
	}
	most := max(1, int64(float64(g.left.units)/g.each/2))
	if most > int64(g.underWay.Len()) {
		return 0
	}
	users, next := int64(0), ratelimit.Never
	for e := g.underWay.Back(); e != nil; e = e.Prev() {
		k := e.Value.(ticket)
		if k.number < g.left.by {
			age := now.Sub(k.sentAt)
			if age >= decidedAfter {
				break
			}
			next = decidedAfter - age
		}
		users++
	}
	if most > users {
		return 0
	}
	return next
}

// delayInDoubt lets one request go first, and others at the server's own pace
// if that is known, else more and more of them.
func (g *gate) delayInDoubt(now time.Time) time.Duration {
	d := &g.doubt
	if d.underWay == 0 {
		return 0
	}
	if pace := g.pace; pace > 0 {
		return max(0, g.lastSent.Add(time.Duration(float64(pace)*g.each)).Sub(now))
	}
	most, since := d.most, now.Sub(d.first)
	for since >= doubling && most < manyInDoubt {
		most, since = most*2, since-doubling
	}
	if d.underWay < most || most >= manyInDoubt {
		return 0
	}
	return doubling - since
}

func (g *gate) startDoubt(afterClose bool) {
	g.state, g.doubt = doubting, doubt{from: g.sent, most: 1, afterClose: afterClose}
}
