package ratelimit

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
)

// Settle says what the request that ctx belongs to has really cost under the
// policy of this name, which has Settles set. It is [Reservation.Settle] of
// [ReservationOf]:
//
//	if err := ratelimit.Settle(r.Context(), "tokens", answer.Tokens); err != nil {
//		slog.WarnContext(r.Context(), "the estimate stays charged", slog.Any("error", err))
//	}
//
// ctx is the request's context as the framework hands it to the handler, or one
// made of it: r.Context() in net/http and chi, c.Request.Context() in Gin,
// c.Request().Context() in Echo, c.UserContext() in Fiber v2 and c.Context() in
// Fiber v3.
func Settle(ctx context.Context, policy string, cost int64) error {
	return ReservationOf(ctx, policy).Settle(ctx, cost)
}

// ReservationOf returns what the request that ctx belongs to was charged under
// the policy of this name, for work that goes on after the handler has
// returned. It refers to nothing of the request.
//
// It is nil, which settles to nothing, if nothing was charged: the policy does
// not apply to the request, is exempt or unlimited, or would have refused it in
// shadow; the store failed open; or there is no limiter that has a policy with
// Settles. So a handler need not ask. A name that is none of such a limiter's is
// logged. If several have it, it is that of the innermost.
func ReservationOf(ctx context.Context, policy string) *Reservation {
	nearest, known := callOf(ctx), false
	for call := nearest; call != nil; call = call.outer {
		if r := call.settling.reservation(policy); r != nil {
			return r
		}
		known = known || call.limiter.settles(policy)
	}
	if nearest != nil && !known {
		nearest.limiter.settlesUnknown(slog.String("policy", policy))
	}
	return nil
}

// Reserve is [Limiter.AllowN] for a cost that is known only afterwards: it
// charges the estimate, and what it returns says later what it has come to, in
// the policies that have Settles set. The others keep the estimate. The
// reservation is nil, which settles to nothing, if nothing of the kind was
// charged.
//
//	d, reserved := jobs.Reserve(ctx, tenant, 1000)
//	if !d.Allowed {
//		return errLater
//	}
//	rows, err := export(ctx)
//	return errors.Join(err, reserved.Settle(ctx, rows))
func (l *Limiter) Reserve(ctx context.Context, key Partition, estimate int64) (Decision, *Reservation) {
	w := l.considerKey(ctx, key, estimate, ModeEnforce, true)
	defer l.release(w)
	d := w.decision.alone()
	if !slices.ContainsFunc(l.policies, func(p *policy) bool { return p.Settles }) {
		l.settlesUnknown()
	}
	if !d.Allowed {
		return d, nil
	}
	var reserved *Reservation
	if s := w.settling(l); s != nil {
		for _, one := range s.reserved {
			if reserved == nil {
				reserved = one
			} else {
				reserved.charged = append(reserved.charged, one.charged...)
			}
		}
	}
	return d, reserved
}

// Reservation is what was charged ahead for something whose cost is known only
// afterwards. Until it is settled, and if it never is, the estimate counts. It
// may be settled at any time, by any number of goroutines. A nil Reservation
// settles to nothing.
type Reservation struct {
	limiter *Limiter
	store   Store
	local   bool
	counts  Outcome

	// turn is taken by who changes the rest, and given back when the store has
	// answered: what is settled next goes out from there.
	turn chan struct{}
	// charged has in Cost what the store counts, at least as far as is known.
	charged []Adjustment
	// forgone is whether the request doesn't count after all.
	forgone bool
}

// reservation makes a Reservation of a charge.
func (l *Limiter) reservation(store Store, counts Outcome, charged Adjustment) *Reservation {
	return &Reservation{
		limiter: l, store: store, local: store != l.store, counts: counts,
		turn: make(chan struct{}, 1), charged: []Adjustment{charged},
	}
}

// Settle makes the cost what it has come to, 0 or more, in the place where the
// estimate was charged: in the window of the charge while it is in view, later
// not at all; of a bucket's debt, what has not drained meanwhile. What is given
// back never leaves more than the limit; what is beyond it is debt, and no
// further request passes until it is gone.
//
// It may be called again with a newer figure, which takes the place of the one
// before. If the figure is expected to grow, settle upwards as it grows: a
// bucket gives back what has not drained since the charge at each step down.
//
// If the policy counts by outcome and the request turns out not to count, it
// costs nothing in the end, whatever was or will be settled.
//
// A cost above [MaxQuota] is taken as that. If the key was reset in the
// meantime, what is given back is taken off what has been used since.
//
// The error is the store's, or says that the cost is negative; a failed store
// is reported to observers as well. Since it can't be known what has become of
// that call, a later one goes out from the lower of the two figures: in doubt
// the client is charged more, never less. ctx gives its values; its end doesn't
// keep a cost from being settled, for which the store has its own time budget.
func (r *Reservation) Settle(ctx context.Context, cost int64) error {
	switch {
	case cost < 0:
		return fmt.Errorf("ratelimit: Settle: the cost %d is negative: give 0 or more", cost)
	case r == nil:
		return nil
	}
	// What a store saturates at could not be taken off again.
	return r.change(ctx, min(cost, MaxQuota), false)
}

// forgo gives everything back for good.
func (r *Reservation) forgo(ctx context.Context) { _ = r.change(ctx, 0, true) }

// change goes from what was settled last to cost.
func (r *Reservation) change(ctx context.Context, cost int64, forgo bool) error {
	ctx = context.WithoutCancel(ctx)
	err := r.inTurn(ctx, cost, forgo)
	if err == nil {
		return nil
	}
	r.limiter.storeFailed(ctx, &StoreFailure{Operation: "adjust", Fallback: r.local, Err: err})
	return fmt.Errorf("ratelimit: settling: %w", err)
}

func (r *Reservation) inTurn(ctx context.Context, cost int64, forgo bool) error {
	r.turn <- struct{}{}
	defer func() { <-r.turn }()
	if r.forgone {
		return nil
	}
	r.forgone = forgo
	changes := false
	for i := range r.charged {
		r.charged[i].NewCost = cost
		changes = changes || r.charged[i].Cost != cost
	}
	if !changes {
		return nil
	}
	err := r.store.Adjust(ctx, r.charged)
	for i := range r.charged {
		if charged := &r.charged[i]; err == nil || cost < charged.Cost {
			charged.Cost = cost
		}
	}
	return err
}

// reservation returns the one of a policy, nil if there is none.
func (s *settling) reservation(policy string) *Reservation {
	if s == nil {
		return nil
	}
	for _, r := range s.reserved {
		if r.charged[0].Policy == policy {
			return r
		}
	}
	return nil
}

// settles reports whether a policy of this name settles.
func (l *Limiter) settles(name string) bool {
	return slices.ContainsFunc(l.policies, func(p *policy) bool { return p.Settles && p.Name == name })
}

func (l *Limiter) settlesUnknown(attrs ...slog.Attr) {
	l.diagnosis.once(CodeSettlesUnknown, "a cost is settled, but no policy of this name has Settles set, so that nothing changes: "+
		"name one, and set its Settles", attrs...)
}
