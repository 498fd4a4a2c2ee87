package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The errors of [Limiter.Wait].
var (
	// ErrNeverAdmitted: the cost is above what a limit can ever admit.
	ErrNeverAdmitted = errors.New("ratelimit: the cost is above the limit's capacity: waiting does not help")
	// ErrStoreFailed: the store failed and a policy is FailClosed.
	ErrStoreFailed = errors.New("ratelimit: the store failed")
	// ErrDenyListed: the key is on a list given with [DenyList].
	ErrDenyListed = errors.New("ratelimit: the key is on a deny list: waiting does not help")
)

// Allow decides without HTTP: it charges 1 to key in every policy that has no
// Match. The key given replaces each policy's own; a policy with tiers uses its
// default tier, one with Endpoints its Limit. Policies with a Match are about
// HTTP requests and are left out, and so are those with Endpoints alone,
// exemptions, costs and outcomes.
func (l *Limiter) Allow(ctx context.Context, key Partition) Decision {
	return l.AllowN(ctx, key, 1)
}

// AllowN is [Limiter.Allow] with a cost of n, 0 or more; a negative n is taken
// as 1.
func (l *Limiter) AllowN(ctx context.Context, key Partition, n int64) Decision {
	return l.decideKey(ctx, key, n, ModeEnforce, true)
}

// Peek says what Allow would, and charges nothing.
func (l *Limiter) Peek(ctx context.Context, key Partition) Decision {
	return l.decideKey(ctx, key, 1, ModePeek, false)
}

// Wait waits until key is admitted, or ctx ends. It returns an error at once
// if ctx's deadline would come first. See [Limiter.WaitN].
func (l *Limiter) Wait(ctx context.Context, key Partition) error {
	return l.WaitN(ctx, key, 1)
}

// WaitN waits until a cost of n is admitted to key. The error is nil if it was;
// [ErrNeverAdmitted] if it can't be, [ErrDenyListed] if the key is on a deny
// list, [ErrStoreFailed] (with the store's error) if the store failed and a
// policy is FailClosed, else the context's. Waiters
// are not queued: who comes first when quota is back is admitted.
func (l *Limiter) WaitN(ctx context.Context, key Partition, n int64) error {
	for {
		d := l.decideKey(ctx, key, n, ModeEnforce, false)
		switch {
		case d.Allowed:
			return sleepBefore(ctx, d.Delay)
		case d.Reason == ReasonCanceled:
			return d.Err
		case d.Reason == ReasonFailedClosed:
			return fmt.Errorf("%w: %w", ErrStoreFailed, d.Err)
		case d.Reason == ReasonDenyListed:
			return ErrDenyListed
		case d.RetryAfter == Never:
			return ErrNeverAdmitted
		}
		if err := sleepBefore(ctx, d.RetryAfter); err != nil {
			return err
		}
	}
}

// sleepBefore sleeps for d, but not if ctx's deadline would come first.
func sleepBefore(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < d {
		return fmt.Errorf("ratelimit: waiting %v would exceed the context's deadline: %w", d, context.DeadlineExceeded)
	}
	return sleep(ctx, d)
}

// Reset forgets what key has used in every policy, tier and endpoint, those with
// a Match included, in the limiter's store and its fallback. Of limits that
// identities have of their own it knows those that this Limiter has applied
// lately.
func (l *Limiter) Reset(ctx context.Context, key Partition) error {
	var keys []Key
	for _, p := range l.policies {
		keys = p.appendKeys(keys, key)
	}
	err := l.store.Reset(ctx, keys)
	if err != nil && !callerEnded(ctx, err) {
		l.storeFailed(ctx, &StoreFailure{Operation: "reset", Err: err})
	}
	if l.fallback != nil {
		err = errors.Join(err, l.fallback.store.Reset(ctx, keys))
	}
	return err
}

// appendKeys appends what key may be counted under.
func (p *policy) appendKeys(keys []Key, key Partition) []Key {
	seen := make(map[Key]bool)
	add := func(part string, l Limit) {
		one := Key{Policy: p.Name, Partition: key + Partition(part), Algorithm: l.Algorithm, Window: l.Window}
		if !seen[one] {
			seen[one] = true
			keys = append(keys, one)
		}
	}
	for _, limit := range p.limits() {
		if limit.Limit.IsUnlimited() {
			continue
		}
		add(limit.part, limit.Limit)
		if p.penalty != nil {
			add(limit.part, p.penalty.Limit)
		}
	}
	return keys
}

func (l *Limiter) decideKey(ctx context.Context, key Partition, n int64, mode Mode, strikes bool) Decision {
	w := l.considerKey(ctx, key, n, mode, strikes)
	d := w.decision.alone()
	l.release(w)
	return d
}

// considerKey decides without HTTP. What it returns is to be released.
func (l *Limiter) considerKey(ctx context.Context, key Partition, n int64, mode Mode, strikes bool) *work {
	if n < 0 {
		l.diagnosis.once(CodeNegativeCost, "a negative cost was given, 1 is charged: give 0 or more")
		n = 1
	}
	w, reason := l.newWork(), ReasonNoPolicy
	if l.access.apply(l.access.ofPartition(key), &w.decision) {
		w.unbound()
		l.observe(ctx, w)
		return w
	}
	for _, p := range l.policies {
		if len(p.match.patterns) > 0 {
			continue
		}
		limit := &p.fixed
		if p.tiers != nil {
			limit = p.tiers.standard
		} else if !p.hasDefault() {
			continue
		}
		if limit.Limit.IsUnlimited() {
			reason = ReasonWithinLimits
			continue
		}
		limit = forKey(p, limit, key)
		chargeMode := mode
		if limit.Shadow && mode == ModeEnforce {
			chargeMode = ModeShadow
		}
		w.ask(p, limit, n, chargeMode).Partition = key
		w.guard(p, mode, strikes)
	}
	if len(w.charges) == 0 {
		w.decision.Allowed, w.decision.Reason = true, reason
	} else {
		w.sizeResults()
		l.take(ctx, w)
	}
	w.unbound()
	l.observe(ctx, w)
	return w
}
