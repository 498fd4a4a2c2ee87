package storetest

import (
	"maps"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

// variant is a model that goes on with what the contract leaves open: if a
// bucket's quota changes, the time between its last request and the first one
// under the new quota drains at the new one, or, if last is not nil, at the old.
type variant struct {
	model model
	last  map[ratelimit.Key]ratelimit.Limit
}

func variants() []variant {
	return []variant{{model: make(model)}, {make(model), make(map[ratelimit.Key]ratelimit.Limit)}}
}

func (v variant) clone() variant { return variant{maps.Clone(v.model), maps.Clone(v.last)} }

// take is [model.take]; it reports too whether an enforcing charge denied.
func (v variant) take(now []int64, charges []ratelimit.Charge) (answers []answer, denied bool) {
	untouched := v.clone()
	for i, c := range charges {
		v.turn(c.Key(), now[i], c.Limit)
		if c.Mode != ratelimit.ModePeek {
			untouched.forget(c.Key())
		}
	}
	answers = v.model.take(now, charges)
	for i, c := range charges {
		denied = denied || c.Mode == ratelimit.ModeEnforce && !answers[i].Allowed
	}
	// The quota of a key is from now on that of the last charge that was taken,
	// or else of the last that could have been. A peek is no request.
	for _, taken := range []bool{false, true} {
		for i, c := range charges {
			if c.Mode != ratelimit.ModePeek && v.last != nil && (!taken || isTaken(&c, answers[i], denied)) {
				v.last[c.Key()] = c.Limit
			}
		}
	}
	maps.Copy(v.model, untouched.model)
	maps.Copy(v.last, untouched.last)
	return answers, denied
}

// isTaken reports whether a charge was taken, given its answer and whether its
// request was denied.
func isTaken(c *ratelimit.Charge, a answer, denied bool) bool {
	switch c.Mode {
	case ratelimit.ModeEnforce, ratelimit.ModeShadow, ratelimit.ModeForce:
		return c.Cost > 0 && a.Allowed && !denied
	case ratelimit.ModeOnDenial:
		return c.Cost > 0 && denied
	default:
		return false
	}
}

func (v variant) adjust(now int64, a ratelimit.Adjustment) {
	v.turn(a.Key(), now, a.Limit)
	v.model.adjust(now, a)
}

func (v variant) forget(key ratelimit.Key) {
	delete(v.model, key)
	delete(v.last, key)
}

// turn lets a bucket that is now under another quota drain at the old one first.
func (v variant) turn(key ratelimit.Key, now int64, l ratelimit.Limit) {
	if v.last == nil {
		return
	}
	if last, ok := v.last[key]; ok && last.Quota != l.Quota {
		v.model[key] = algorithm.AsOf(v.model[key], now, &last)
	}
	v.last[key] = l
}
