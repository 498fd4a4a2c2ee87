package ratelimit

import (
	"context"
	"net/http"
	"strings"
	"time"
)

// Call is one request on its way through one limiter. It is for the authors of
// adapters, who take one per request (best as part of what they use
// anyway), hand it to [Limiter.Begin], and act on what it says:
//
//	call.KnownBy(header)
//	defer call.Leave()
//	l.Begin(&call, source, header)
//	if !call.Proceed() {
//		// answer with call.Answer(), then
//		call.Finish(0, false)
//		return
//	}
//	// run the handler, with call as its context if call.Marks(), then
//	call.Finish(status, panicked)
//
// Its methods are called by one goroutine, the request's. If Leave says that
// nothing refers to it any more, it may be used for another request.
type Call struct {
	// Context is set if it may be needed when the request has been decided.
	context.Context
	limiter *Limiter
	outer   *Call
	// work holds the decision on a refused request until Finish. A Call that is
	// kept has it for itself.
	work     *work
	settling *settling
	// identity is what the request is known by, at place until it leaves; the
	// Call keeps its address from becoming another's.
	identity any
	address  uintptr
	place    place
	proceed  bool
	marks    bool
	refused  bool
	kept     bool
	// deciding is set while Begin runs, which calls functions of the program's.
	deciding bool
}

// Keep says that the Call will be used for one request after another, always
// with the same limiter and source, as often as [Call.Leave] says that it is
// free. It keeps the memory that a decision takes.
func (c *Call) Keep() { c.kept = true }

// Answer is what a refused request is answered with, beside the header fields
// that [Limiter.Begin] has set.
type Answer struct {
	// Status is 429, 403 or 503; see [Decision.Status].
	Status int
	// ContentType and Body are the answer's representation. An answer to HEAD
	// has the Content-Length of Body, but no body. The memory of Body is used
	// again after [Call.Finish].
	ContentType string
	Body        []byte
	// room is for the lines of SetFields, if there is some.
	room []string
}

// answerFields is how many fields [Answer.SetFields] sets.
const answerFields = 2

// SetFields sets the Content-Type and Content-Length of the answer.
func (a Answer) SetFields(header http.Header) {
	room := a.room
	if len(room) < answerFields {
		room = make([]string, answerFields)
	}
	room[0], room[1] = a.ContentType, textOfNumber(len(a.Body))
	header["Content-Type"], header["Content-Length"] = room[:1:1], room[1:2:2]
}

// settling is what may have to be changed after the charge.
type settling struct {
	store Store
	local bool
	// charged are the charges that are given back if the request doesn't
	// count; outcomes say whether it does.
	charged  []Adjustment
	outcomes []Outcome
	// reserved are those whose cost the handler tells.
	reserved []*Reservation
	// byOutcome is whether Finish has something to do.
	byOutcome bool
}

type callKey struct{}

// callOf is the nearest Call that ctx is below of, nil if there is none.
func callOf(ctx context.Context) *Call {
	call, _ := ctx.Value(callKey{}).(*Call)
	return call
}

// Value makes the Call findable in the contexts below it.
func (c *Call) Value(key any) any {
	if key == (callKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// Begin decides a request, sets the rate-limit fields of the response, and
// holds the request back if a leaky bucket says so. call must be a zero Call or a
// free one, but for [Call.Keep] and [Call.KnownBy] or [Call.KnownByTurn].
//
// A request that has come through the same limiter already is let through
// uncharged.
func (l *Limiter) Begin(call *Call, source Source, header ResponseHeader) {
	if call.limiter != l {
		call.limiter = l
	}
	ctx := source.Context()
	if call.proceed = true; call.enter(ctx) {
		call.Context, call.outer = ctx, callOf(ctx)
		l.diagnosis.once(CodeMountedTwice, "a request came through the same limiter twice and was counted once: mount it once")
		return
	}
	call.deciding = true
	w := call.memory(source)
	l.consider(ctx, w)
	w.unbound()
	if w.decision.Allowed && w.decision.Delay > 0 {
		if err := sleep(ctx, w.decision.Delay); err != nil {
			w.cancel(err)
		} else {
			w.decision.elapse(w.decision.Delay)
		}
	}
	if w.decision.Allowed {
		l.headers.apply(header, &w.decision, &w.room)
	} else {
		l.answer(source, header, w)
	}
	l.observe(ctx, w)
	call.deciding = false
	if w.decision.Allowed {
		if l.settling {
			if settling := w.settling(l); settling != nil {
				call.Context, call.settling = ctx, settling
			}
		}
		if call.place == 0 {
			call.mark(ctx)
		}
		call.done()
		return
	}
	call.proceed, call.refused = false, true
	call.unknown()
}

// answer sets the fields of a refusal and makes its body.
func (l *Limiter) answer(source Source, header ResponseHeader, w *work) {
	a, accept := &w.answer, source.Header("Accept")
	if native, ok := header.(http.Header); ok && l.headers.refuseUsual(native, &w.decision, accept, a, &w.room) {
		return
	}
	a.room = l.headers.apply(header, &w.decision, &w.room)
	a.ContentType, a.Body, a.Status = denialBody(a.Body[:0], &w.decision, accept, &l.headers)
}

// memory returns what the decision is made in.
func (c *Call) memory(source Source) *work {
	if c.work == nil {
		c.work = c.limiter.newWork()
	}
	if r := &c.work.request; r.limiter != c.limiter {
		*r = Request{source: source, limiter: c.limiter}
	}
	return c.work
}

// done says that the decision is not needed any more.
func (c *Call) done() {
	if c.kept && !c.marks && c.settling == nil {
		c.work.reset()
		return
	}
	c.limiter.release(c.work)
	c.work = nil
}

// Proceed reports whether the handler is to run.
func (c *Call) Proceed() bool { return c.proceed }

// Answer returns what to answer a request that is not to proceed, until
// [Call.Finish].
func (c *Call) Answer() Answer {
	if !c.refused {
		return Answer{}
	}
	return c.work.answer
}

// Decision returns the decision on a request that is not to proceed, until
// [Call.Finish].
func (c *Call) Decision() Decision {
	if !c.refused {
		return Decision{Allowed: c.proceed}
	}
	return c.work.decision.alone()
}

// Settles reports whether [Call.Finish] needs the handler's status, so that an
// adapter wraps nothing otherwise.
func (c *Call) Settles() bool { return c.settling != nil && c.settling.byOutcome }

// Finish says how the handler ended: with this status, or in a panic. It gives
// back what does not count. It is called once, before the request's context
// ends by itself; after a handler that ran it does nothing unless
// [Call.Settles].
func (c *Call) Finish(status int, panicked bool) {
	if c.refused {
		c.refused = false
		c.done()
	}
	s := c.settling
	if !c.Settles() {
		return
	}
	s.byOutcome = false
	ctx := context.WithoutCancel(c.Context)
	end := ending{status: status, panicked: panicked, abandoned: c.Context.Err() != nil}
	for _, r := range s.reserved {
		if !r.counts.count(end) {
			r.forgo(ctx)
		}
	}
	back := s.charged[:0]
	for i, charged := range s.charged {
		if !s.outcomes[i].count(end) {
			back = append(back, charged)
		}
	}
	if len(back) == 0 {
		return
	}
	if err := s.store.Adjust(ctx, back); err != nil {
		c.limiter.storeFailed(ctx, &StoreFailure{Operation: "adjust", Fallback: s.local, Err: err})
	}
}

// settling returns what may have to be changed, nil if nothing may.
func (w *work) settling(l *Limiter) *settling {
	if w.took == nowhere {
		return nil
	}
	var s *settling
	for i := range w.charges {
		charge, result := &w.charges[i], &w.results[i]
		p := w.asked[i].policy
		if !charge.Settles || !result.Allowed || charge.Cost == 0 && !p.Settles {
			continue
		}
		if s == nil {
			s = &settling{store: l.store, local: w.took == fallbackStore}
			if s.local {
				s.store = l.fallback.store
			}
		}
		s.byOutcome = s.byOutcome || !p.Counts.everything()
		// The partition may lie in the memory of the decision.
		charged := Adjustment{
			Policy: charge.Policy, Partition: Partition(strings.Clone(string(charge.Partition))), Limit: charge.Limit,
			At: result.At, Cost: charge.Cost,
		}
		if p.Settles {
			s.reserved = append(s.reserved, l.reservation(s.store, p.Counts, charged))
			continue
		}
		s.charged = append(s.charged, charged)
		s.outcomes = append(s.outcomes, p.Counts)
	}
	return s
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
