package ratelimit

import (
	"math/bits"
	"time"
)

// fallback is the store that decides while the limiter's own fails.
type fallback struct {
	store    Store
	replicas int64
}

// divide prepares the limits that the fallback store decides with.
func (p *policy) divide(replicas int64) {
	p.replicas = replicas
	for _, whole := range p.limits() {
		p.share(whole)
	}
}

// share gives a limit the part of it that one replica's fallback store decides
// with, if that is ever asked.
func (p *policy) share(whole *PolicyLimit) {
	if p.replicas == 0 || whole.Limit.IsUnlimited() {
		return
	}
	divided := p.complete(PolicyLimit{Tier: whole.Tier, Endpoint: whole.Endpoint, part: whole.part, Limit: whole.Limit.dividedBy(p.replicas)})
	whole.local = &divided
	if whole.watched != nil {
		whole.watched.local = divided.watched
	}
}

// dividedBy is one replica's share of a limit: rounded down, but at least 1 of
// what was at least 1.
func (l Limit) dividedBy(replicas int64) Limit {
	portion := func(n int64) int64 {
		if n == 0 {
			return 0
		}
		return max(1, n/replicas)
	}
	l.Quota, l.Burst = portion(l.Quota), portion(l.Burst)
	// The quota loses more by the rounding than the burst, which then takes
	// longer to drain, perhaps longer than a limit may: the store would fail.
	switch {
	case l.LongestWait() > maxWait:
		l.Burst = l.drainedIn(maxWait)
	case l.Algorithm == AlgorithmTokenBucket && l.Quota > 0 && l.drainTime(l.Burst) > maxDrain:
		l.Burst = l.drainedIn(maxDrain)
	}
	return l
}

// drainedIn is how many whole units a bucket drains in a time in which it
// doesn't drain its burst.
func (l Limit) drainedIn(span time.Duration) int64 {
	hi, lo := bits.Mul64(uint64(l.Quota), uint64(span/time.Microsecond))
	units, _ := bits.Div64(hi, lo, uint64(l.Window/time.Microsecond))
	return int64(units)
}
