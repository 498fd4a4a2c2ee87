package ratelimit

import (
	"math/bits"
	"time"
)

// mostSeconds stands for every wait that has more seconds than an Integer of a
// structured field has digits.
const mostSeconds = MaxQuota

// ceilSeconds is d in whole seconds, rounded up, never below 0.
func ceilSeconds(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return int64((d-1)/time.Second) + 1
}

// ceilMicros is d in whole microseconds, rounded up, never below 0.
func ceilMicros(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return int64((d-1)/time.Microsecond) + 1
}

// retrySeconds is the Retry-After of a denied request. It is at least 1: a
// client told 0 would be back at once. It is unknown if waiting does not help.
func retrySeconds(wait time.Duration) (seconds int64, known bool) {
	if wait == Never {
		return 0, false
	}
	return max(1, ceilSeconds(wait)), true
}

// resetUnix is the Unix second by which the key is as good as new, unknown if
// it never is.
func (r *Result) resetUnix() (seconds int64, known bool) {
	if r.ResetAfter == Never {
		return 0, false
	}
	micros := uint64(max(0, r.At)) + uint64(ceilMicros(r.ResetAfter))
	return min(int64(ceilDiv(micros, 1e6)), mostSeconds), true
}

// effectiveWindow is t of a policy's RateLimit member: within that many
// seconds the client can count on what remains. For a violated policy
// it is the wait for the same request. It is unknown if no wait brings the
// client anything: a quota of 0, or a cost above the capacity.
//
// It is the exact time rounded up to a second, except that a bucket's time to
// the next unit is calculated from a result in whole microseconds and may be
// rounded up from one microsecond more.
func (p *PolicyResult) effectiveWindow() (seconds int64, known bool) {
	r, l := &p.Result, &p.Limit
	switch {
	case !r.Allowed:
		return retrySeconds(r.RetryAfter)
	case l.Quota <= 0 || r.ResetAfter == Never:
		return 0, false
	case !l.Algorithm.Bucket():
		return ceilSeconds(r.ResetAfter), true
	case r.Remaining > 0:
		return l.refillSeconds(r.Remaining), true
	default:
		return l.nextUnitSeconds(r.ResetAfter), true
	}
}

// refillSeconds is the time a bucket takes to get units back, rounded up: so
// units per that time is never more than quota per window.
func (l *Limit) refillSeconds(units int64) int64 {
	hi, lo := bits.Mul64(uint64(units), uint64(ceilMicros(l.Window)))
	return secondsOf(hi, lo, uint64(l.Quota))
}

// nextUnitSeconds is the time until an empty bucket that is full again after
// reset has its next unit: until what it owes has fallen to capacity - 1
// units, reset - (capacity-1)*window/quota.
func (l *Limit) nextUnitSeconds(reset time.Duration) int64 {
	quota := uint64(l.Quota)
	hi, lo := bits.Mul64(uint64(ceilMicros(reset)), quota)
	keepHi, keepLo := bits.Mul64(uint64(max(0, l.Capacity()-1)), uint64(ceilMicros(l.Window)))
	lo, borrow := bits.Sub64(lo, keepLo, 0)
	hi, borrow = bits.Sub64(hi, keepHi, borrow)
	if borrow != 0 {
		return 1
	}
	return max(1, secondsOf(hi, lo, quota))
}

// secondsOf is the microseconds (hi, lo) / divisor in whole seconds, rounded
// up, at most [mostSeconds].
func secondsOf(hi, lo, divisor uint64) int64 {
	if hi >= divisor {
		return mostSeconds
	}
	micros, rest := bits.Div64(hi, lo, divisor)
	seconds := micros / 1e6
	if micros%1e6 > 0 || rest > 0 {
		seconds++
	}
	return int64(min(seconds, mostSeconds))
}

// ceilDiv is n / divisor, rounded up.
func ceilDiv(n, divisor uint64) uint64 {
	q := n / divisor
	if n%divisor > 0 {
		q++
	}
	return q
}
