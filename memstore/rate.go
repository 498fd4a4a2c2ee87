package memstore

import (
	"math"
	"math/bits"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

// rate says how the states of a limit's keys are packed, that is, how all that
// a charge changes goes into one number of 47 bits, and decides on them so.
//
// A window's is the units in it (its Level). As long as the window is the
// current one nothing else of the state changes.
//
// A bucket's is its debt as of its Time, counting what has been charged since
// then as if it had been there all the time: from that, what has drained until
// an instant follows, and a charge only adds to it. One unit of debt is step,
// and each microsecond drains speed of it; step and speed are window and quota,
// divided by what divides both. Nothing is rounded. After a long time without
// rest the number becomes too large, and whoever holds the lock begins anew
// with a later Time.
//
// What does not fit (more than 140 trillion units in a window, a large bucket
// whose quota and window have little in common) is kept whole and decided on
// under the lock, as are sliding logs and penalties. The zero rate packs
// nothing.
type rate struct {
	kind kind
	// window in microseconds
	window int64
	// Of buckets:
	capacity    int64
	step, speed uint64
	perStep     uint64 // 2^64 / step
	common      int64  // window is step times common
	full        uint64 // capacity in steps
	horizon     int64  // microseconds from Time for which all numbers fit
	soon        uint64 // what drains until soon
}

// shortest is the shortest horizon, in microseconds, that is worth packing for.
const shortest = 2 * soon

type kind uint8

const (
	kindWhole kind = iota
	kindWindow
	kindBucket
)

func newRate(l *ratelimit.Limit) rate {
	window := int64(l.Window / time.Microsecond)
	switch l.Algorithm {
	case ratelimit.AlgorithmFixedWindow, ratelimit.AlgorithmSlidingWindow:
		return rate{kind: kindWindow, window: window}
	case ratelimit.AlgorithmTokenBucket, ratelimit.AlgorithmLeakyBucket:
	default:
		return rate{}
	}
	capacity := l.Capacity()
	common := divisor(window, l.Quota)
	step, speed := uint64(window/common), uint64(l.Quota/common)
	hi, full := bits.Mul64(uint64(capacity), step)
	if l.Quota == 0 || hi > 0 || full > packLimit/4 || speed > packLimit/2/shortest {
		return rate{}
	}
	return rate{
		kind: kindBucket, window: window, capacity: capacity,
		step: step, speed: speed, perStep: math.MaxUint64 / step, common: common, full: full, horizon: packLimit / 2 / int64(speed), soon: soon * speed,
	}
}

// divisor is the greatest one of both; of a and 0 it is a.
func divisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// pack packs a state; the rest is what of it stays beside.
func (q *rate) pack(s *algorithm.State) (packed, rest uint64, ok bool) {
	switch q.kind {
	case kindWindow:
		return uint64(s.Level), uint64(s.Rest), s.Level < packLimit
	case kindBucket:
		debt := uint64(0)
		if s.Rest > 0 {
			if s.Rest%q.common != 0 {
				return 0, 0, false // left over from another quota
			}
			debt = uint64(s.Rest / q.common)
		}
		hi, units := bits.Mul64(uint64(s.Level), q.step)
		debt += units
		return debt, 0, hi == 0 && debt < packLimit/2
	default:
		return 0, 0, false
	}
}

// unusedAt is until when at least something is used of a packed state that has
// this Time.
func (q *rate) unusedAt(packed uint64, from int64) int64 {
	switch {
	case packed == 0:
		return 0
	case q.kind == kindWindow:
		return from + q.window
	default:
		return from + min(int64((packed+q.speed-1)/q.speed), q.horizon)
	}
}

// unpack is the reverse, for a state with its Time and rest; a bucket's is as of
// now, as by [algorithm.AsOf].
func (q *rate) unpack(packed uint64, s *algorithm.State, now int64) {
	if q.kind == kindWindow {
		s.Level = int64(packed)
		return
	}
	if elapsed := min(now-s.Time, 2*q.horizon+2); elapsed > 0 { // by then all has drained
		s.Time = now
		packed -= min(packed, uint64(elapsed)*q.speed)
	}
	s.Level, s.Rest = int64(packed/q.step), int64(packed%q.step)*q.common
}
