package algorithm

import (
	"math"
	"math/bits"
)

// wide is an unsigned number of 128 bits: the product of a count and a window
// does not always fit in 64. No operand is negative.
type wide struct {
	hi, lo uint64
}

func product(a, b int64) wide {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	return wide{hi, lo}
}

func (w wide) plus(n int64) wide {
	lo, carry := bits.Add64(w.lo, uint64(n), 0)
	return wide{w.hi + carry, lo}
}

// minus is w - v for v <= w.
func (w wide) minus(v wide) wide {
	lo, borrow := bits.Sub64(w.lo, v.lo, 0)
	return wide{w.hi - v.hi - borrow, lo}
}

func (w wide) atMost(v wide) bool {
	return w.hi < v.hi || w.hi == v.hi && w.lo <= v.lo
}

// divMod is w / d and the remainder, for d > 0; not ok if the quotient
// does not fit in an int64.
func (w wide) divMod(d int64) (quotient, rest int64, ok bool) {
	if w.hi == 0 {
		q := w.lo / uint64(d)
		return int64(q), int64(w.lo % uint64(d)), q <= math.MaxInt64
	}
	if w.hi >= uint64(d) {
		return 0, 0, false
	}
	q, r := bits.Div64(w.hi, w.lo, uint64(d))
	return int64(q), int64(r), q <= math.MaxInt64
}

// div is w / d rounded down, for a quotient that is known to fit.
func (w wide) div(d int64) int64 {
	q, _, _ := w.divMod(d)
	return q
}

// divUp is w / d rounded up, for a quotient that is known to fit.
func (w wide) divUp(d int64) int64 {
	q, r, _ := w.divMod(d)
	if r > 0 {
		q++
	}
	return q
}
