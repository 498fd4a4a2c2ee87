package ratelimit

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"time"
)

// What a limit may be. They keep every stored number below 2^52, so that a
// store which calculates in doubles is exact as well.
const (
	// MaxQuota is the largest quota and burst: the largest integer of a
	// structured field (RFC 9651, section 3.3.1).
	MaxQuota = 999_999_999_999_999
	// MaxLogQuota is the largest quota of a sliding log, which remembers
	// every admitted unit.
	MaxLogQuota = 1_000_000
	// MinWindow and MaxWindow bound a window; it is a whole number of
	// microseconds between them.
	MinWindow = time.Millisecond
	MaxWindow = 366 * 24 * time.Hour
	// maxDrain bounds how long a full bucket takes to drain.
	maxDrain = 100 * 366 * 24 * time.Hour
)

// Limit is an algorithm, a quota per window and, for buckets, a burst. It is
// a comparable value: two limits are the same limit if they are ==.
//
// Make one with [SlidingWindow], [FixedWindow], [SlidingLog], [TokenBucket],
// [LeakyBucket], the shorthands [PerSecond] to [PerDay], or [ParseLimit]. The
// zero Limit means "not set" and is refused by [New]; a quota of 0 denies
// every request that costs something; [Unlimited] is a value of its own.
type Limit struct {
	// Algorithm says how requests are counted.
	Algorithm Algorithm
	// Quota is how many units a client gets per Window, 0 to [MaxQuota].
	Quota int64
	// Window is the span the quota is for, [MinWindow] to [MaxWindow], a
	// whole number of microseconds.
	Window time.Duration
	// Burst belongs to the buckets and is 0 for the others. For a token
	// bucket it is the number of tokens a full bucket holds, at least 1; for
	// a leaky bucket the number of requests that may wait in its queue, the
	// one being served not counted, at least 0.
	Burst int64
	// Block belongs to [AlgorithmPenalty], whose Quota is how many strikes are
	// tolerated and whose Window is how long they are remembered; it is zero
	// for the others. [Penalty.Limit] makes such a limit.
	Block Block
}

// Unlimited admits everything, counts nothing and advertises nothing.
var Unlimited = Limit{Algorithm: algorithmUnlimited}

// SlidingWindow limits to quota per window with two counters: the previous
// window's count is weighed by the share of it that is still in view. O(1),
// no double burst at a window's edge; the default of [PerMinute] and its like.
func SlidingWindow(quota int64, window time.Duration) Limit {
	return Limit{Algorithm: AlgorithmSlidingWindow, Quota: quota, Window: window}
}

// FixedWindow limits to quota per window, windows aligned to the Unix epoch.
// The cheapest counter, with a reset at a known instant; up to twice the quota
// passes around a window's edge.
func FixedWindow(quota int64, window time.Duration) Limit {
	return Limit{Algorithm: AlgorithmFixedWindow, Quota: quota, Window: window}
}

// SlidingLog limits to quota in every span of one window, exactly, by
// remembering each admitted unit. For strict small limits: the quota is at
// most [MaxLogQuota].
func SlidingLog(quota int64, window time.Duration) Limit {
	return Limit{Algorithm: AlgorithmSlidingLog, Quota: quota, Window: window}
}

// TokenBucket holds burst tokens, starts full and is refilled continuously at
// quota per window. Over any span it admits at most burst + quota*span/window.
func TokenBucket(quota int64, window time.Duration, burst int64) Limit {
	return Limit{Algorithm: AlgorithmTokenBucket, Quota: quota, Window: window, Burst: burst}
}

// LeakyBucket lets requests go on at a spacing of window/quota. Up to queue
// requests wait for their turn (their [Result] has a Delay), more are denied.
func LeakyBucket(quota int64, window time.Duration, queue int64) Limit {
	return Limit{Algorithm: AlgorithmLeakyBucket, Quota: quota, Window: window, Burst: queue}
}

// PerSecond is [SlidingWindow] with a window of one second.
func PerSecond(quota int64) Limit { return SlidingWindow(quota, time.Second) }

// PerMinute is [SlidingWindow] with a window of one minute.
func PerMinute(quota int64) Limit { return SlidingWindow(quota, time.Minute) }

// PerHour is [SlidingWindow] with a window of one hour.
func PerHour(quota int64) Limit { return SlidingWindow(quota, time.Hour) }

// PerDay is [SlidingWindow] with a window of 24 hours.
func PerDay(quota int64) Limit { return SlidingWindow(quota, 24*time.Hour) }

// IsUnlimited reports whether l is [Unlimited].
func (l Limit) IsUnlimited() bool { return l.Algorithm == algorithmUnlimited }

// Capacity is what a fresh key can take at once and what a [Result] reports as
// its limit: the quota, a token bucket's burst, a leaky bucket's queue + 1, the
// strikes that block under a penalty. It is 0 if the quota of a limit is: such
// a limit denies all, whatever its burst.
func (l Limit) Capacity() int64 {
	switch {
	case l.Algorithm == AlgorithmPenalty:
		return l.Quota + 1
	case l.Quota == 0:
		return 0
	case l.Algorithm == AlgorithmTokenBucket:
		return l.Burst
	case l.Algorithm == AlgorithmLeakyBucket:
		return l.Burst + 1
	default:
		return l.Quota
	}
}

// Times is l with its quota and its burst (or queue) multiplied by n, such as a
// plan that a client has bought n times. Times(0) denies all; [Unlimited] stays
// as it is. Whether the product is still a limit, [Limit.Validate] says: it is
// none if n is negative or the product too large.
func (l Limit) Times(n int64) Limit {
	l.Quota = multiplied(l.Quota, n)
	if n != 0 {
		l.Burst = multiplied(l.Burst, n)
	}
	return l
}

// multiplied is a*n, or the largest number if that is too large.
func multiplied(a, n int64) int64 {
	product := a * n
	if n != 0 && product/n != a {
		return math.MaxInt64
	}
	return product
}

// Validate returns nil if a store can work with l, else an error that names
// the field and the mend.
func (l Limit) Validate() error {
	if l.IsUnlimited() {
		if l != Unlimited {
			return errors.New("ratelimit: Unlimited takes no quota, window or burst: use the value ratelimit.Unlimited as it is")
		}
		return nil
	}
	if l.Algorithm == 0 {
		return errors.New("ratelimit: Limit is not set: use a constructor such as ratelimit.PerMinute(100), or ratelimit.Unlimited")
	}
	if l.Algorithm > algorithmUnlimited {
		return fmt.Errorf("ratelimit: Limit.Algorithm %d is unknown: use a constructor such as ratelimit.PerMinute", l.Algorithm)
	}
	if l.Algorithm == AlgorithmPenalty {
		return l.validatePenalty()
	}
	if l.Block != (Block{}) {
		return fmt.Errorf("ratelimit: Limit.Block has no meaning for %v: leave it zero, and use Policy.Penalty", l.Algorithm)
	}
	if err := l.validateQuota(); err != nil {
		return err
	}
	if l.Window < MinWindow || l.Window > MaxWindow {
		return fmt.Errorf("ratelimit: Limit.Window %v is out of range: use %v to %d days", l.Window, MinWindow, MaxWindow/(24*time.Hour))
	}
	if l.Window%time.Microsecond != 0 {
		return fmt.Errorf("ratelimit: Limit.Window %v is not a whole number of microseconds: round it", l.Window)
	}
	return l.validateBurst()
}

func (l Limit) validateQuota() error {
	most := int64(MaxQuota)
	if l.Algorithm == AlgorithmSlidingLog {
		most = MaxLogQuota
	}
	switch {
	case l.Quota < 0:
		return fmt.Errorf("ratelimit: Limit.Quota %d is negative: use 0 to deny all, or ratelimit.Unlimited", l.Quota)
	case l.Quota > most && l.Algorithm == AlgorithmSlidingLog:
		return fmt.Errorf("ratelimit: Limit.Quota %d is too large for a sliding log: use at most %d, or SlidingWindow", l.Quota, most)
	case l.Quota > most:
		return fmt.Errorf("ratelimit: Limit.Quota %d is too large: use at most %d, or ratelimit.Unlimited", l.Quota, most)
	}
	return nil
}

func (l Limit) validateBurst() error {
	switch {
	case !l.Algorithm.Bucket():
		if l.Burst != 0 {
			return fmt.Errorf("ratelimit: Limit.Burst %d has no meaning for %v: leave it 0, or use TokenBucket", l.Burst, l.Algorithm)
		}
		return nil
	case l.Algorithm == AlgorithmTokenBucket && l.Burst < 1:
		return fmt.Errorf("ratelimit: Limit.Burst %d is below 1: a token bucket must hold at least one token", l.Burst)
	case l.Burst < 0:
		return fmt.Errorf("ratelimit: Limit.Burst %d is negative: use 0 for a leaky bucket without a queue", l.Burst)
	case l.Capacity() > MaxQuota || l.Burst > MaxQuota:
		return fmt.Errorf("ratelimit: Limit.Burst %d is too large: use at most %d", l.Burst, int64(MaxQuota-1))
	case l.Quota > 0 && l.drainTime(l.Capacity()) > maxDrain:
		return fmt.Errorf("ratelimit: Limit.Burst %d takes over 100 years to come back at %d per %v: use a smaller burst", l.Burst, l.Quota, l.Window)
	}
	return nil
}

// drainTime is how long a bucket takes to drain units, rounded up to a
// microsecond and capped at the largest Duration.
func (l Limit) drainTime(units int64) time.Duration {
	hi, lo := bits.Mul64(uint64(units), uint64(l.Window/time.Microsecond))
	const most = uint64(1<<63-1) / 1000
	quota := uint64(l.Quota)
	if hi >= quota {
		return 1<<63 - 1
	}
	q, r := bits.Div64(hi, lo, quota)
	if r > 0 {
		q++
	}
	if q > most {
		return 1<<63 - 1
	}
	return time.Duration(q) * time.Microsecond
}

// LongestWait is the longest a request admitted by l is held back: the time a
// leaky bucket's full queue takes to drain, 0 for every other algorithm.
func (l Limit) LongestWait() time.Duration {
	if l.Algorithm != AlgorithmLeakyBucket || l.Quota == 0 {
		return 0
	}
	return l.drainTime(l.Burst)
}
