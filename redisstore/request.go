package redisstore

import (
	"context"
	"errors"
	"sync"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

// errNoServer says that a Ring has no shard that is up.
var errNoServer = errors.New("redisstore: no server of the ring is up")

// request is what a caller asks, on its way to one place or several. It is
// pooled and belongs to the caller's goroutine.
type request struct {
	store *Store
	names []byte
	probe []byte // what a denial is remembered by
	ends  []int
	keys  string
	parts []part
	// deadline is when the budget is over, set once some of it has gone on
	// waiting for another caller.
	deadline time.Time
}

// part is what a request asks of one place.
type part struct {
	call *call // nil once the answer has been read or the caller has left
	lane *lane
	slot uint16
}

var requests = sync.Pool{New: func() any { return new(request) }}

func newRequest(s *Store) *request {
	r := requests.Get().(*request)
	r.store = s
	return r
}

// release gives back the request and what of it was never sent.
func (r *request) release() {
	for i := range r.parts {
		if c := r.parts[i].call; c != nil {
			c.release()
		}
		r.parts[i] = part{}
	}
	r.names, r.probe, r.ends, r.parts, r.keys = r.names[:0], r.probe[:0], r.ends[:0], r.parts[:0], ""
	r.store, r.deadline = nil, time.Time{}
	requests.Put(r)
}

// addKey adds the next key; when all are there, sealKeys makes one string of
// them.
func (r *request) addKey(policy string, partition ratelimit.Partition, l *ratelimit.Limit) {
	r.names = r.store.keys.append(r.names, policy, partition, l.Algorithm, l.Window)
	r.ends = append(r.ends, len(r.names))
}

func (r *request) sealKeys() { r.keys = string(r.names) }

func (r *request) key(i int) string {
	from := 0
	if i > 0 {
		from = r.ends[i-1]
	}
	return r.keys[from:r.ends[i]]
}

// add adds an item under the key i to the call for the place of that key.
func (r *request) add(i int, adjusts bool) (*item, error) {
	key := r.key(i)
	l, slot := r.store.router.place(key)
	if l == nil {
		return nil, errNoServer
	}
	var c *call
	for j := range r.parts {
		if p := &r.parts[j]; p.lane == l && p.slot == slot {
			c = p.call
			break
		}
	}
	if c == nil {
		c = newCall()
		c.adjusts, c.slot = adjusts, slot
		r.parts = append(r.parts, part{call: c, lane: l, slot: slot})
	}
	c.items = append(c.items, item{key: key, origin: i})
	return &c.items[len(c.items)-1], nil
}

// forgo has the penalties of a request that is spread over several places veto
// only. For one round trip a place holds what others have charged and will give
// back, so that a charge may not fit there which later does: anybody could
// bring strikes upon a key by requests that are denied elsewhere.
func (r *request) forgo() {
	for i := range r.parts {
		items := r.parts[i].call.items
		for j := range items {
			if items[j].mode == ratelimit.ModePenalty {
				items[j].cost = 0
			}
		}
	}
}

// ask sends a request whose keys have been added, and fills in the results.
func (r *request) ask(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result, kept bool) error {
	r.sealKeys()
	for i := range charges {
		c := &charges[i]
		item, err := r.add(i, false)
		if err != nil {
			return err
		}
		item.limit, item.cost, item.mode = c.Limit, min(c.Cost, algorithm.MaxUnits), c.Mode
	}
	if len(r.parts) > 1 {
		r.forgo()
	}
	for i := range r.parts {
		r.parts[i].call.kept = kept
	}
	err := r.take(ctx, results)
	if !kept || err != nil || !denies(charges, results) || r.struck() {
		r.forgetDenials()
	}
	return err
}

// change sends adjustments or resets. Denials of the keys are forgotten even
// if it fails: nobody knows then what has become of them.
func (r *request) change(ctx context.Context) error {
	err := r.sendAll(ctx)
	r.forgetDenials()
	return err
}

// forgetDenials drops what is remembered of the keys, which have changed.
func (r *request) forgetDenials() {
	if d := r.store.denials; d != nil {
		d.forget(r)
	}
}

// take sends the request and reads its answer.
func (r *request) take(ctx context.Context, results []ratelimit.Result) error {
	if len(r.parts) > 1 {
		return r.takeSpread(ctx, results)
	}
	p := &r.parts[0]
	if err := r.call(ctx, p); err != nil {
		return err
	}
	copy(results, p.call.results)
	return nil
}

// call sends a part and waits for its answer. One that has little time left
// does not ask by itself: what it broke off would count as Redis' failure.
func (r *request) call(ctx context.Context, p *part) error {
	if r.deadline.IsZero() && p.lane.direct(ctx, p.call) {
		return r.answered(p)
	}
	if err := r.send(p); err != nil {
		return err
	}
	return r.wait(ctx, p, r.left())
}

// left is how long the request may still take.
func (r *request) left() time.Duration {
	if r.deadline.IsZero() {
		return r.store.budget
	}
	return time.Until(r.deadline)
}

// await waits until another caller is back, for no longer than the request may
// take. What it waits does not come on top of its budget.
func (r *request) await(ctx context.Context, flight chan struct{}) error {
	if r.deadline.IsZero() {
		r.deadline = time.Now().Add(r.store.budget)
	}
	timer := time.NewTimer(r.left())
	defer timer.Stop()
	select {
	case <-flight:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return ErrTimeout
	}
}

// sendAll sends adjustments and waits for all of them. The first error is
// returned; the others are tried all the same.
func (r *request) sendAll(ctx context.Context) error {
	var first error
	note := func(err error) {
		if first == nil {
			first = err
		}
	}
	if len(r.parts) == 1 {
		return r.call(ctx, &r.parts[0])
	}
	deadline := time.Now().Add(r.store.budget)
	for i := range r.parts {
		if err := r.send(&r.parts[i]); err != nil {
			note(err)
		}
	}
	for i := range r.parts {
		if p := &r.parts[i]; p.call != nil {
			note(r.wait(ctx, p, time.Until(deadline)))
		}
	}
	return first
}

// send sends a part. If it can't, the call is given back.
func (r *request) send(p *part) error {
	err := p.lane.send(p.call)
	if err != nil {
		r.store.counters.note(err)
		p.call.release()
		p.call = nil
	}
	return err
}

// wait waits for a part's answer, beside the call: for as long as the budget
// and the caller's context allow, whatever the client does.
func (r *request) wait(ctx context.Context, p *part, budget time.Duration) error {
	c := p.call
	c.timer.Reset(budget)
	var err error
	select {
	case <-c.done:
	case <-ctx.Done():
		if c.abandon() {
			err = ctx.Err()
		} else {
			<-c.done
		}
	case <-c.timer.C:
		if c.abandon() {
			err = p.lane.noAnswer()
		} else {
			<-c.done
		}
	}
	if err != nil {
		p.call = nil // the runner's now
		if errors.Is(err, ErrTimeout) {
			r.store.counters.note(err)
			p.lane.timedOut()
		}
		return err
	}
	c.timer.Stop()
	return r.answered(p)
}

// answered is the error of a part that has its answer.
func (r *request) answered(p *part) error {
	err := p.call.err
	if err != nil {
		r.store.counters.note(err)
		p.call.release()
		p.call = nil
	}
	return err
}
