package ratelimit

import (
	"context"
	"net/http"
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
	context.Context
	limiter *Limiter
	outer   *Call
	// refused holds the decision until Finish, for a refused request only.
	refused  *work
	settling *settling
	// identity is what the request is known by, at place while its handler
	// runs; the Call keeps its address from becoming another's.
	identity any
	address  uintptr
	place    place
	proceed  bool
	marks    bool
}

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
// holds the request back if a leaky bucket says so. call must be a zero Call,
// but for [Call.KnownBy] or [Call.KnownByTurn].
//
// A request that has come through the same limiter already is let through
// uncharged.
func (l *Limiter) Begin(call *Call, source Source, header ResponseHeader) {
	ctx := source.Context()
	call.Context, call.limiter, call.proceed = ctx, l, true
	if call.again() {
		l.diagnosis.once(CodeMountedTwice, "a request came through the same limiter twice and was counted once: mount it once")
		return
	}
	w := l.newWork()
	l.consider(ctx, source, w)
	if w.decision.Allowed && w.decision.Delay > 0 {
		if err := sleep(ctx, w.decision.Delay); err != nil {
			w.cancel(err)
		} else {
			w.decision.elapse(w.decision.Delay)
		}
	}
	room := l.headers.apply(header, &w.decision)
	l.observe(ctx, w)
	if w.decision.Allowed {
		call.settling = w.settling(l)
		l.release(w)
		call.enter()
		return
	}
	call.proceed, call.refused = false, w
	a := &w.answer
	a.room = room
	a.ContentType, a.Body, a.Status = denialBody(a.Body[:0], &w.decision, source.Header("Accept"), &l.headers)
}

// Proceed reports whether the handler is to run.
func (c *Call) Proceed() bool { return c.proceed }

// Answer returns what to answer a request that is not to proceed, until
// [Call.Finish].
func (c *Call) Answer() Answer {
	if c.refused == nil {
		return Answer{}
	}
	return c.refused.answer
}

// Decision returns the decision on a request that is not to proceed, until
// [Call.Finish].
func (c *Call) Decision() Decision {
	if c.refused == nil {
		return Decision{Allowed: c.proceed}
	}
	return c.refused.decision
}

// Settles reports whether [Call.Finish] needs the handler's status, so that an
// adapter wraps nothing otherwise.
func (c *Call) Settles() bool { return c.settling != nil && c.settling.byOutcome }

// Finish says how the handler ended: with this status, or in a panic. It gives
// back what does not count. It is called once, before the request's context
// ends by itself; after a handler that ran it does nothing unless
// [Call.Settles].
func (c *Call) Finish(status int, panicked bool) {
	if c.refused != nil {
		c.limiter.release(c.refused)
		c.refused = nil
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
	if w.took == nil {
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
			s = &settling{store: w.took, local: w.took != l.store}
		}
		s.byOutcome = s.byOutcome || !p.Counts.everything()
		charged := Adjustment{
			Policy: charge.Policy, Partition: charge.Partition, Limit: charge.Limit,
			At: result.At, Cost: charge.Cost,
		}
		if p.Settles {
			s.reserved = append(s.reserved, l.reservation(w.took, p.Counts, charged))
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
