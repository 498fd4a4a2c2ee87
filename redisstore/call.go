package redisstore

import (
	"sync"
	"sync/atomic"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

// item is one charge or adjustment as it travels: a copy, since a store keeps
// no reference to what it was given.
type item struct {
	key   string
	limit ratelimit.Limit
	// cost and mode are a charge's.
	cost int64
	mode ratelimit.Mode
	// at and change are an adjustment's; reset removes the key instead.
	at, change int64
	reset      bool
	// undo, if set, is what an adjustment goes back to rather.
	undo *undo
	// origin is where the item stood in what the caller gave.
	origin int
	// index is the number of the key in the program, from 1.
	index int32
	// limitIndex is the same of the limit.
	limitIndex int32
	// strikes is whether a penalty's charge is taken.
	strikes bool
	// released is, of a log, when the units were taken that are in the way.
	released int64
}

// call is what one caller asks of one place: the charges of a request whose
// keys lie together, or adjustments and resets. It is pooled; whoever gets hold of it
// last gives it back: the caller once it has the answer, or the runner if the
// caller has left.
type call struct {
	items   []item
	adjusts bool
	slot    uint16

	// Written by the runner before it finishes the call.
	results  []ratelimit.Result
	admitted bool
	// before and after are the states of the charges' keys, kept only of a
	// shared call, and the first also of a kept one.
	before, after []keyState
	now           int64
	err           error

	shared   bool // the request has other calls, and this one may be undone
	kept     bool // the states are wanted, to remember a denial by
	detached bool // nobody waits for it
	state    atomic.Int32
	done     chan struct{} // holds one token once finished
	timer    *time.Timer
}

// keyState is the state of a key as replay has it and, of a log, the stored
// time.
type keyState struct {
	algorithm.State
	stored int64
}

// undo is what a key should be, and what it is to become again.
type undo struct{ after, before keyState }

// The states of a call.
const (
	callWaiting int32 = iota
	callFinished
	callAbandoned // by its caller: nobody will read the answer
)

var calls = sync.Pool{New: func() any {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return &call{done: make(chan struct{}, 1), timer: timer}
}}

func newCall() *call { return calls.Get().(*call) }

func (c *call) release() {
	clear(c.items)
	c.items, c.results, c.before, c.after = c.items[:0], c.results[:0], c.before[:0], c.after[:0]
	c.adjusts, c.shared, c.kept, c.detached, c.admitted, c.err = false, false, false, false, false, nil
	c.state.Store(callWaiting)
	calls.Put(c)
}

// finish hands the answer to the caller, or drops it if nobody waits any more.
func (c *call) finish(err error) {
	c.err = err
	if !c.detached && c.state.CompareAndSwap(callWaiting, callFinished) {
		c.done <- struct{}{}
		return
	}
	c.release()
}

// abandon leaves the call to the runner. It returns false if the answer has
// just come.
func (c *call) abandon() bool {
	return c.state.CompareAndSwap(callWaiting, callAbandoned)
}

func (c *call) abandoned() bool { return c.state.Load() == callAbandoned }

func (c *call) sizeResults() {
	n := len(c.items)
	if cap(c.results) < n {
		c.results = make([]ratelimit.Result, n)
	}
	c.results = c.results[:n]
}
