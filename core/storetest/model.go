package storetest

import (
	"maps"
	"math"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

// model says what a store must answer: the state machines of package algorithm
// over a map, and the rules by which the charges of one Take go together.
type model map[ratelimit.Key]algorithm.State

// answer is a model's result and the columns of it that the contract settles.
// It leaves open what a charge says of a key that other charges of the same
// Take changed or would have changed, where no caller can depend on it.
type answer struct {
	ratelimit.Result
	in columns
}

// take decides charges at the instants now (one for each charge; a store has
// one clock, but its keys may live on several servers). An earlier charge of
// the same key counts as if it had been taken, so a later one asks for the sum:
// its RetryAfter is that of the whole request.
func (m model) take(now []int64, charges []ratelimit.Charge) []answer {
	var (
		answers = make([]answer, len(charges))
		after   = make(model)
		sums    = make(map[ratelimit.Key]int64)
		strikes = make([]bool, len(charges))
		untaken = make(map[int]ratelimit.Result) // what charges that are not taken say of an admitted request
		denied  = false
		blocked = false
	)
	for i, c := range charges {
		key := c.Key()
		whole := algorithm.Look(m[key], now[i], c.Limit, plus(sums[key], c.Cost))
		state, ok := after[key]
		if !ok {
			state = m[key]
		}
		result, taken := whole, false
		switch {
		case c.Mode == ratelimit.ModeForce:
			state, result = algorithm.Force(state, now[i], c.Limit, c.Cost)
			taken = true
		case c.Mode == ratelimit.ModeOnDenial:
			result = asLook(m[key], now[i], c.Limit)
		case c.Mode == ratelimit.ModePenalty:
			result = algorithm.Look(m[key], now[i], c.Limit, 0)
			denied, blocked = denied || !result.Allowed, blocked || !result.Allowed
			strikes[i] = result.Allowed && i > 0 && mayFit(charges[i-1].Mode) && !answers[i-1].Allowed
		case c.Mode != ratelimit.ModePeek && whole.Allowed:
			// Whether it fits is decided by now: under two quotas for one key, each
			// of which drains it at its own rate, Step could see it otherwise.
			state, result = algorithm.Force(state, now[i], c.Limit, c.Cost)
			taken = true
		case c.Mode == ratelimit.ModeEnforce:
			denied = true
		default:
			untaken[i] = algorithm.Look(state, now[i], c.Limit, c.Cost)
		}
		if taken {
			after[key] = state
			sums[key] = plus(sums[key], c.Cost)
		}
		answers[i] = answer{result, allColumns}
	}
	if denied {
		after = m.deny(now, charges, answers)
	} else {
		for i, result := range untaken {
			result.Allowed = answers[i].Allowed // as was decided
			answers[i].Result = result
		}
	}
	maps.Copy(m, after)
	for i, c := range charges {
		if key := c.Key(); strikes[i] && !blocked {
			m[key], _ = algorithm.Force(m[key], now[i], c.Limit, c.Cost)
			answers[i].Result = algorithm.Look(m[key], now[i], c.Limit, 0)
		}
	}
	settle(charges, answers, denied)
	return answers
}

// deny answers for a denied request, of which only the on-denial charges are
// taken; it returns the states they change.
func (m model) deny(now []int64, charges []ratelimit.Charge, answers []answer) model {
	after := make(model)
	for i, c := range charges {
		key := c.Key()
		switch {
		case c.Mode == ratelimit.ModeOnDenial:
			state, ok := after[key]
			if !ok {
				state = m[key]
			}
			after[key], answers[i].Result = algorithm.Force(state, now[i], c.Limit, c.Cost)
		case c.Mode != ratelimit.ModePeek && c.Mode != ratelimit.ModePenalty && answers[i].Allowed:
			answers[i].Result = asLook(m[key], now[i], c.Limit)
		}
	}
	return after
}

// mayFit reports whether a charge of this mode can also not fit.
func mayFit(mode ratelimit.Mode) bool {
	return mode == ratelimit.ModeEnforce || mode == ratelimit.ModeShadow || mode == ratelimit.ModePeek
}

// asLook is what a charge answers that has no say in the decision.
func asLook(s algorithm.State, now int64, l ratelimit.Limit) ratelimit.Result {
	r := algorithm.Look(s, now, l, 0)
	r.Allowed, r.RetryAfter = true, 0
	return r
}

// settle narrows the columns of charges that share a key.
func settle(charges []ratelimit.Charge, answers []answer, denied bool) {
	share, strike := make(map[ratelimit.Key]int), make(map[ratelimit.Key]int)
	quotas := make(map[ratelimit.Key]map[ratelimit.Limit]bool)
	for _, c := range charges {
		key := c.Key()
		share[key]++
		if c.Mode == ratelimit.ModeOnDenial {
			strike[key]++
		}
		if quotas[key] == nil {
			quotas[key] = make(map[ratelimit.Limit]bool)
		}
		quotas[key][c.Limit] = true
	}
	for i, c := range charges {
		n, strikes, quotas := share[c.Key()], strike[c.Key()], len(quotas[c.Key()])
		if n == 1 {
			continue
		}
		a := &answers[i]
		switch {
		case c.Mode == ratelimit.ModePeek && denied:
			a.in = colLimit // of what was not taken after all
		case c.Mode == ratelimit.ModePeek && quotas > 1, c.Mode == ratelimit.ModeShadow && !a.Allowed && (denied || quotas > 1):
			a.in = colAllowed | colLimit
		case c.Mode == ratelimit.ModeOnDenial && (!denied || n != strikes):
			a.in = colAllowed | colLimit
		case c.Mode != ratelimit.ModeOnDenial && denied && strikes > 0:
			a.in = colAllowed | colLimit | colRetryAfter
		}
	}
}

func (m model) adjust(now int64, a ratelimit.Adjustment) {
	key := a.Key()
	m[key] = algorithm.Adjust(m[key], now, a.Limit, a.At, a.Cost, a.NewCost)
}

// plus is a + b for numbers that are not negative, without overflow.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
