package redisstore

import (
	"context"
	"errors"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

// takeSpread decides a request whose keys lie in several places, which no
// script can reach together. All are asked at once, each decides its part, and
// if one denies, what the others have taken is given back, which takes one
// more round trip. Between the two the others' keys are charged for a request
// that is not admitted.
func (r *request) takeSpread(ctx context.Context, results []ratelimit.Result) error {
	deadline := time.Now().Add(r.left())
	var failure error
	for i := range r.parts {
		p := &r.parts[i]
		p.call.shared = true
		if err := r.send(p); err != nil {
			failure = err
		}
	}
	admitted := true
	for i := range r.parts {
		p := &r.parts[i]
		if p.call == nil {
			continue
		}
		if err := r.wait(ctx, p, time.Until(deadline)); err != nil {
			// The end of the caller's own context is the one that counts.
			if failure == nil || errors.Is(err, ctx.Err()) {
				failure = err
			}
			continue
		}
		admitted = admitted && p.call.admitted
	}
	if failure != nil {
		r.giveBack(nil)
		return failure
	}
	for i := range r.parts {
		c := r.parts[i].call
		for j := range c.items {
			results[c.items[j].origin] = c.results[j]
		}
	}
	if admitted {
		return nil
	}
	return r.denySpread(ctx, deadline, results)
}

// denySpread undoes what some places have taken of a request that another has
// denied, and takes there what is due on a denial.
func (r *request) denySpread(ctx context.Context, deadline time.Time, results []ratelimit.Result) error {
	r.store.counters.givenBack.Add(1)
	strikes := r.strikes()
	undone := r.giveBack(results)
	for i := range undone {
		p := &undone[i]
		// What can't be given back stays charged; the answer is a denial all
		// the same.
		if err := r.wait(ctx, p, time.Until(deadline)); err == nil {
			p.call.release()
		}
	}
	// Only now, so that what is taken back is found as it was left.
	var failure error
	for i := range strikes {
		p := &strikes[i]
		if err := r.send(p); err != nil {
			failure = err
		}
	}
	for i := range strikes {
		p := &strikes[i]
		if p.call == nil {
			continue
		}
		if err := r.wait(ctx, p, time.Until(deadline)); err != nil {
			failure = err
			continue
		}
		for j := range p.call.items {
			results[p.call.items[j].origin] = p.call.results[j]
		}
		p.call.release()
	}
	return failure
}

// giveBack sends adjustments for what was taken in the places that admitted
// their part. With results, the charges there answer as looks, and the calls
// are returned to be waited for; else nobody waits for them.
func (r *request) giveBack(results []ratelimit.Result) []part {
	var undone []part
	for i := range r.parts {
		p := &r.parts[i]
		c := p.call
		if c == nil || !c.admitted {
			continue
		}
		back := newCall()
		back.adjusts, back.slot = true, p.slot
		for j := range c.items {
			item := c.items[j]
			if item.taken(&c.results[j]) && item.cost > 0 {
				back.undo(c, j)
			}
			if results != nil {
				results[item.origin] = item.denied(&c.before[j], c.now, c.results[j])
			}
		}
		if len(back.items) == 0 {
			back.release()
			continue
		}
		back.detached = results == nil
		undo := part{call: back, lane: p.lane, slot: p.slot}
		if err := r.send(&undo); err == nil && results != nil {
			undone = append(undone, undo)
		}
	}
	return undone
}

// undo adds that what c took for its charge i is given back.
func (back *call) undo(c *call, i int) {
	item := c.items[i]
	for j := range back.items {
		if other := &back.items[j]; other.key == item.key {
			other.change = max(other.change-item.cost, -algorithm.MaxUnits)
			return
		}
	}
	item.at, item.change = c.results[i].At, -item.cost
	item.undo = &undo{after: c.after[i], before: c.before[i]}
	back.items = append(back.items, item)
}

// taken reports whether an admitted request has taken the item.
func (i *item) taken(result *ratelimit.Result) bool {
	return i.mode == ratelimit.ModeForce || i.mode <= ratelimit.ModeShadow && result.Allowed
}

// denied is the answer of a charge that its own place would have admitted.
func (i *item) denied(before *keyState, now int64, result ratelimit.Result) ratelimit.Result {
	if i.mode == ratelimit.ModePenalty {
		return result
	}
	allowed := result.Allowed || i.mode == ratelimit.ModeForce
	if i.mode == ratelimit.ModePeek || !allowed {
		look := lookAt(before, now, &i.limit, i.cost, i.released)
		look.Allowed = result.Allowed
		return look
	}
	look := lookAt(before, now, &i.limit, 0, 0)
	look.Allowed, look.RetryAfter = true, 0
	return look
}

// strikes are the on-denial charges of places that knew of no denial, to be
// taken as they are.
func (r *request) strikes() []part {
	var strikes []part
	for i := range r.parts {
		p := &r.parts[i]
		if !p.call.admitted {
			continue
		}
		var strike *call
		for j := range p.call.items {
			item := p.call.items[j]
			if item.mode != ratelimit.ModeOnDenial {
				continue
			}
			if strike == nil {
				strike = newCall()
				strike.slot = p.slot
			}
			item.mode = ratelimit.ModeForce
			strike.items = append(strike.items, item)
		}
		if strike != nil {
			strikes = append(strikes, part{call: strike, lane: p.lane, slot: p.slot})
		}
	}
	return strikes
}
