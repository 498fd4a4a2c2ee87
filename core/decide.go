package ratelimit

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"time"
)

// consider decides one HTTP request into w.
func (l *Limiter) consider(ctx context.Context, w *work) {
	r := &w.request
	switch {
	case l.access.apply(l.access.ofClient(r), &w.decision):
	case exempt(l.exempt, r):
		w.decision.Allowed, w.decision.Reason = true, ReasonExempt
	default:
		l.considerPolicies(ctx, w)
	}
	if l.observers != nil {
		o, method, route := &w.observed, labelMethod(r.Method()), r.Route()
		if o.Method != method { // see work.reset
			o.Method = method
		}
		if o.Route != route {
			o.Route = route
		}
	}
}

// considerPolicies is consider for who is on no list and not exempt.
func (l *Limiter) considerPolicies(ctx context.Context, w *work) {
	reason, listed := l.ask(&w.request, w)
	switch {
	case reason == ReasonCanceled:
		w.seal(l.forgetful) // for what is logged
		w.cancel(ctx.Err())
	case l.access.apply(listed, &w.decision):
		w.seal(l.forgetful)
	case len(w.charges) == 0:
		w.decision.Allowed, w.decision.Reason = true, reason
	default:
		w.seal(l.forgetful)
		l.take(ctx, w)
	}
}

// ask adds the charges of every policy that applies to r. If there are none,
// it says why; if r's own context has ended it says so. It also says what lists
// have to say of their partitions.
func (l *Limiter) ask(r *Request, w *work) (reason Reason, listed verdict) {
	reason = ReasonNoPolicy
	for _, p := range l.policies {
		if p.plain && l.access == nil {
			keys, ok := p.Key.append(w.keys, r)
			if w.hold(keys); ok {
				w.ask(p, &p.fixed, 1, ModeEnforce)
			}
			continue
		}
		if !p.match.matches(r) {
			l.checkRoute(p, p.match.needsRoute, r)
			continue
		}
		if exempt(p.Exempt, r) {
			reason = ReasonExempt
			continue
		}
		start := len(w.keys)
		limit, left := l.appendKey(p, r, w)
		if limit == nil {
			if left == ReasonCanceled {
				return left, listed
			}
			if left != ReasonNoPolicy {
				reason = left
			}
			continue
		}
		listed = max(listed, l.access.ofKey(w.keys[start:], limit.part))
		if limit.Limit.IsUnlimited() {
			w.keys = w.keys[:start]
			reason = ReasonWithinLimits
			continue
		}
		limit = forKey(p, limit, w.keys[start:])
		mode := ModeEnforce
		if limit.Shadow {
			mode = ModeShadow
		}
		w.keys = append(w.keys, limit.part...)
		w.ask(p, limit, l.cost(p, r), mode)
		w.guard(p, mode, true)
	}
	return reason, listed
}

// appendKey appends the partition of r in p to w.keys and returns the limit
// that applies. If it is nil the policy is left out, and left says why.
func (l *Limiter) appendKey(p *policy, r *Request, w *work) (limit *PolicyLimit, left Reason) {
	if p.tiers != nil {
		return l.appendTier(p, r, w)
	}
	if limit = l.limitFor(p, r); limit == nil {
		return nil, ReasonNoPolicy
	}
	var ok bool
	w.keys, ok = p.Key.append(w.keys, r)
	l.checkRoute(p, p.keyNeedsRoute, r)
	if !ok {
		return nil, ReasonNoPolicy
	}
	return limit, 0
}

func (l *Limiter) cost(p *policy, r *Request) int64 {
	if cost, found := l.costByTable(p, r); found {
		return cost
	}
	if p.Cost == nil {
		return 1
	}
	cost := p.Cost(r)
	if cost < 0 {
		l.diagnosis.once(CodeNegativeCost, "a policy's Cost returned a negative number, 1 is charged: return 0 or more")
		return 1
	}
	return cost
}

// take asks the store and makes the decision.
func (l *Limiter) take(ctx context.Context, w *work) {
	var start time.Time
	if l.timed {
		start = time.Now()
	}
	w.took = ownStore
	err := l.store.Take(ctx, w.charges, w.results)
	if l.timed {
		w.storeTime = time.Since(start)
	}
	switch {
	case err == nil:
		w.conclude()
	case callerEnded(ctx, err):
		w.cancel(err)
	default:
		l.storeFailed(ctx, &StoreFailure{Operation: "take", Err: err})
		l.degrade(ctx, w, err)
	}
}

func (w *work) cancel(err error) {
	w.decision = Decision{Reason: ReasonCanceled, Err: err}
	w.took = nowhere
}

// degrade decides without the store: closed beats local beats open.
func (l *Limiter) degrade(ctx context.Context, w *work, cause error) {
	w.took = nowhere
	d := &w.decision
	var closed, local bool
	for i := range w.asked {
		if p := w.asked[i].policy; !w.asked[i].limit.Shadow {
			closed = closed || p.OnStoreFailure == FailClosed
			local = local || p.OnStoreFailure == FailLocal
		}
	}
	switch {
	case closed:
		d.Reason = ReasonFailedClosed
	case local:
		l.takeLocally(ctx, w)
		if d.Reason == ReasonCanceled {
			return
		}
	default:
		w.open()
	}
	d.Degraded, d.Err = true, cause
	if err := w.localErr; err != nil {
		d.Err = errors.Join(cause, err)
	}
}

// open lets the request pass, and keeps which policies would have applied.
func (w *work) open() {
	w.decision.Allowed, w.decision.Reason = true, ReasonFailedOpen
	for i := range w.charges {
		if w.guards(i) {
			continue
		}
		w.decision.add(w.asked[i].limit, w.charges[i].Cost, &Result{Allowed: true})
	}
}

// takeLocally asks the fallback store for the policies that fail to it.
func (l *Limiter) takeLocally(ctx context.Context, w *work) {
	all, charges := slices.Clone(w.asked), slices.Clone(w.charges)
	n := 0
	for i := range w.asked {
		if p := w.asked[i].policy; p.OnStoreFailure == FailLocal && !w.guards(i) {
			w.asked[n] = asked{policy: p, limit: w.asked[i].limit.local}
			w.charges[n] = w.charges[i]
			w.charges[n].Limit = w.asked[n].limit.Limit
			n++
		}
	}
	clear(w.charges[n:])
	clear(w.asked[n:])
	w.asked, w.charges = w.asked[:n], w.charges[:n]
	w.sizeResults()
	w.took = fallbackStore
	err := l.fallback.store.Take(ctx, w.charges, w.results)
	switch {
	case err == nil:
		w.conclude()
	case callerEnded(ctx, err):
		w.cancel(err)
	default:
		l.storeFailed(ctx, &StoreFailure{Operation: "take", Fallback: true, Err: err})
		w.took, w.localErr = nowhere, err
		w.asked, w.charges = all, charges
		w.open()
	}
}

// observe tells the observers of the decision in w.
func (l *Limiter) observe(ctx context.Context, w *work) {
	if l.offenders != nil && !w.decision.Allowed {
		l.offenders.count(ctx, w)
	}
	if l.refusals != nil {
		l.logRefusal(ctx, w)
	}
	if l.observers == nil {
		return
	}
	if w.observed.StoreTime = w.storeTime; w.observed.Decision == nil {
		w.observed.Decision = &w.decision
	}
	for i := range l.observers {
		if told := l.observers[i].Decision; told != nil {
			told(ctx, &w.observed)
		}
	}
}

// checkRoute reports a route that is needed but not known.
func (l *Limiter) checkRoute(p *policy, needed bool, r *Request) {
	if !needed {
		return
	}
	if _, known := r.knownRoute(); known {
		return
	}
	l.diagnosis.once(CodeRouteUnknown, "a policy needs the route, which isn't known where the limiter is mounted: "+
		"mount it on the routes, or tell the adapter's Config how to find it", slog.String("policy", p.Name))
}

// labelMethod bounds the methods that metrics see: a client may send any.
func labelMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions, http.MethodConnect, http.MethodTrace:
		return method
	}
	return "OTHER"
}
