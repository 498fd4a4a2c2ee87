package algorithm_test

import (
	"math/big"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// exact counts one key in rational numbers of any size, as the definitions in
// the vectors' README say it, without any of the package's shortcuts. It needs
// to know no more than how much is used at an instant.
type exact struct {
	at                int64 // last committed instant, or start of that window
	current, previous *big.Int
	debt              *big.Rat
	entries           []struct{ at, units int64 }
}

func newExact() *exact {
	return &exact{current: new(big.Int), previous: new(big.Int), debt: new(big.Rat)}
}

// read is now as the key reads it.
func (x *exact) read(now int64) int64 { return max(now, x.at) }

// used is what is used at an instant that is not before the committed one.
func (x *exact) used(at int64, l ratelimit.Limit) *big.Rat {
	window := l.Window.Microseconds()
	switch l.Algorithm {
	case ratelimit.AlgorithmFixedWindow:
		if at-at%window == x.at {
			return new(big.Rat).SetInt(x.current)
		}
		return new(big.Rat)
	case ratelimit.AlgorithmSlidingWindow:
		current, previous := x.counts(at, window)
		share := big.NewRat(window-at%window, window)
		return share.Mul(share, new(big.Rat).SetInt(previous)).Add(share, new(big.Rat).SetInt(current))
	case ratelimit.AlgorithmSlidingLog:
		sum := new(big.Rat)
		for _, e := range x.entries {
			if at-e.at < window {
				sum.Add(sum, new(big.Rat).SetInt64(e.units))
			}
		}
		return sum
	default:
		drained := big.NewRat(l.Quota, window)
		drained.Mul(drained, new(big.Rat).SetInt64(at-x.at))
		if left := drained.Sub(x.debt, drained); left.Sign() > 0 {
			return left
		}
		return new(big.Rat)
	}
}

// counts are the sliding window's as seen from an instant.
func (x *exact) counts(at, window int64) (current, previous *big.Int) {
	switch (at - at%window - x.at) / window {
	case 0:
		return x.current, x.previous
	case 1:
		return new(big.Int), x.current
	default:
		return new(big.Int), new(big.Int)
	}
}

func (x *exact) fits(at int64, l ratelimit.Limit, cost int64) bool {
	sum := new(big.Rat).SetInt64(cost)
	return sum.Add(sum, x.used(at, l)).Cmp(new(big.Rat).SetInt64(l.Capacity())) <= 0
}

// remaining is what is left, rounded down.
func (x *exact) remaining(at int64, l ratelimit.Limit) int64 {
	left := new(big.Rat).SetInt64(l.Capacity())
	left.Sub(left, x.used(at, l))
	if left.Sign() <= 0 {
		return 0
	}
	return new(big.Int).Quo(left.Num(), left.Denom()).Int64()
}

func (x *exact) take(at int64, l ratelimit.Limit, cost int64) {
	window := l.Window.Microseconds()
	switch l.Algorithm {
	case ratelimit.AlgorithmFixedWindow:
		start := at - at%window
		if start != x.at {
			x.current = new(big.Int)
		}
		x.at = start
		x.current = new(big.Int).Add(x.current, big.NewInt(cost))
	case ratelimit.AlgorithmSlidingWindow:
		x.current, x.previous = x.counts(at, window)
		x.at = at - at%window
		x.current = new(big.Int).Add(x.current, big.NewInt(cost))
	case ratelimit.AlgorithmSlidingLog:
		x.at = at
		x.entries = append(x.entries, struct{ at, units int64 }{at, cost})
	default:
		x.debt = new(big.Rat).Add(x.used(at, l), new(big.Rat).SetInt64(cost))
		x.at = at
	}
}
