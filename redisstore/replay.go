package redisstore

import (
	"errors"
	"fmt"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

// errReply is an answer of the script that can't be understood, which only a
// proxy or a server that is none can give.
var errReply = errors.New("redisstore: the script's answer can't be read: is something between this process and Redis that changes answers?")

// replay makes the calls' results out of the script's answer: the states in
// which the keys were found, taken through the same decisions. So the script
// has to say only what was there; what a client is told follows exactly.
//
// A log is not sent as a whole. Its state holds the time that counts, the
// units in view and, in Rest, the time of its last entry.
type replay struct {
	now      int64
	states   []keyState // by key, from 0
	verdicts string
	releases string
}

// read takes the answer apart.
func (r *replay) read(p *program, answer string) error {
	var decisions, logCharges int
	for _, c := range p.calls {
		if c.adjusts {
			continue
		}
		decisions++
		for i := range c.items {
			if c.items[i].limit.Algorithm == ratelimit.AlgorithmSlidingLog {
				logCharges++
			}
		}
	}
	size := 7
	for _, shape := range p.shapes {
		size += recordSize(shape.algorithm)
	}
	if len(answer) != size+decisions+7*logCharges {
		return errReply
	}
	r.now, answer = integer(answer, 7), answer[7:]
	p.states = p.states[:0]
	for _, shape := range p.shapes {
		s := keyState{stored: -1}
		s.Time, s.Level = integer(answer, 7), integer(answer[7:], 7)
		switch shape.algorithm {
		case ratelimit.AlgorithmSlidingWindow:
			s.Rest = integer(answer[14:], 7)
		case ratelimit.AlgorithmSlidingLog:
			s.Rest, s.stored = integer(answer[14:], 7), integer(answer[21:], 7)
		case ratelimit.AlgorithmTokenBucket, ratelimit.AlgorithmLeakyBucket:
			s.Rest = integer(answer[14:], 6)
		}
		p.states = append(p.states, s)
		answer = answer[recordSize(shape.algorithm):]
	}
	r.states, r.verdicts, r.releases = p.states, answer[:decisions], answer[decisions:]
	return nil
}

// recordSize is the length of a key's state in the answer.
func recordSize(a ratelimit.Algorithm) int {
	switch a {
	case ratelimit.AlgorithmFixedWindow, ratelimit.AlgorithmPenalty:
		return 14
	case ratelimit.AlgorithmSlidingWindow:
		return 21
	case ratelimit.AlgorithmSlidingLog:
		return 28
	default:
		return 20
	}
}

// integer reads a little-endian integer of n bytes.
func integer(s string, n int) int64 {
	v := int64(0)
	for i := n - 1; i >= 0; i-- {
		v = v<<8 | int64(s[i])
	}
	return v
}

// run fills in the results of one call, the calls being given in order.
func (r *replay) run(c *call) error {
	c.now = r.now
	if c.adjusts {
		return nil
	}
	admitted := r.verdicts[0] == '1'
	r.verdicts = r.verdicts[1:]
	for i := range c.items {
		if item := &c.items[i]; item.limit.Algorithm == ratelimit.AlgorithmSlidingLog {
			item.released, r.releases = integer(r.releases, 7), r.releases[7:]
		}
	}
	c.admitted = admitted
	if c.shared || c.kept {
		for i := range c.items {
			c.before = append(c.before, *r.of(&c.items[i]))
		}
	}
	err := r.decide(c, admitted)
	if c.shared {
		for i := range c.items {
			c.after = append(c.after, *r.of(&c.items[i]))
		}
	}
	return err
}

func (r *replay) of(item *item) *keyState { return &r.states[item.index-1] }

// decide answers a request as the contract of a store says.
func (r *replay) decide(c *call, admitted bool) error {
	if fits := r.judge(c); fits != admitted {
		return fmt.Errorf("%w (the verdict is %t, the states say %t)", errReply, admitted, fits)
	}
	if !admitted {
		r.deny(c)
		r.strike(c)
		return nil
	}
	for i := range c.items {
		item, result := &c.items[i], &c.results[i]
		switch item.mode {
		case ratelimit.ModeEnforce, ratelimit.ModeShadow:
			if result.Allowed {
				*result = r.take(item)
			} else {
				*result = r.keep(item, false)
			}
		case ratelimit.ModeForce:
			*result = r.take(item)
		case ratelimit.ModePeek:
			*result = r.keep(item, result.Allowed)
		case ratelimit.ModeOnDenial:
			*result = r.untouched(item)
		}
	}
	r.strike(c)
	return nil
}

// strike takes what penalties take, which answer as a look in any case.
func (r *replay) strike(c *call) {
	for i := range c.items {
		if item := &c.items[i]; item.strikes {
			r.take(item)
			c.results[i] = lookAt(r.of(item), r.now, &item.limit, 0, 0)
		}
	}
}

// judge looks at each charge on the state as it was found and what the request
// takes of the same key before it, and reports whether all fit that enforce.
func (r *replay) judge(c *call) bool {
	c.sizeResults()
	fits, blocked := true, false
	for i := range c.items {
		item := &c.items[i]
		if item.mode == ratelimit.ModePenalty {
			c.results[i] = lookAt(r.of(item), r.now, &item.limit, 0, item.released)
			item.strikes = c.results[i].Allowed && item.cost > 0 && i > 0 &&
				c.items[i-1].mode <= ratelimit.ModePeek && !c.results[i-1].Allowed
			fits, blocked = fits && c.results[i].Allowed, blocked || !c.results[i].Allowed
			continue
		}
		cost := min(taken(c, i)+item.cost, algorithm.MaxUnits)
		c.results[i] = lookAt(r.of(item), r.now, &item.limit, cost, item.released)
		fits = fits && (c.results[i].Allowed || item.mode != ratelimit.ModeEnforce)
	}
	for i := range c.items {
		c.items[i].strikes = c.items[i].strikes && !blocked
	}
	return fits
}

// taken is what a request takes of the key of its charge i before it. A few
// charges are compared with each other sooner than they are put into a map.
func taken(c *call, i int) int64 {
	sum := int64(0)
	for j := range i {
		item := &c.items[j]
		if item.index != c.items[i].index {
			continue
		}
		if item.mode == ratelimit.ModeForce || item.mode <= ratelimit.ModeShadow && c.results[j].Allowed {
			sum = min(sum+item.cost, algorithm.MaxUnits)
		}
	}
	return sum
}

// deny answers a denied request: what fits is left untouched, and on-denial
// charges are taken.
func (r *replay) deny(c *call) {
	for i := range c.items {
		item, result := &c.items[i], &c.results[i]
		switch {
		case item.mode == ratelimit.ModeOnDenial, item.mode == ratelimit.ModePeek, item.mode == ratelimit.ModePenalty:
		case result.Allowed, item.mode == ratelimit.ModeForce:
			*result = r.untouched(item)
		}
	}
	for i := range c.items {
		if item := &c.items[i]; item.mode == ratelimit.ModeOnDenial {
			c.results[i] = r.take(item)
		}
	}
}

// untouched answers as a look does, allowed.
func (r *replay) untouched(item *item) ratelimit.Result {
	result := lookAt(r.of(item), r.now, &item.limit, 0, 0)
	result.Allowed, result.RetryAfter = true, 0
	return result
}

// keep answers for a charge that is not taken, on what the request has taken
// of its key before. Whether it fits has been decided: a charge before it that
// drains the key by another quota may have let it seem otherwise.
func (r *replay) keep(item *item, fits bool) ratelimit.Result {
	result := lookAt(r.of(item), r.now, &item.limit, item.cost, item.released)
	result.Allowed = fits
	return result
}

func lookAt(s *keyState, now int64, l *ratelimit.Limit, cost, released int64) ratelimit.Result {
	var r ratelimit.Result
	if l.Algorithm == ratelimit.AlgorithmSlidingLog {
		algorithm.LogResult(algorithm.ActionLook, s.Time, s.Level, s.Rest, released, l, cost, &r)
	} else {
		algorithm.Apply(algorithm.ActionLook, &s.State, now, l, cost, &r)
	}
	return r
}

// take takes a charge. The script has taken it, so it is taken in any case.
func (r *replay) take(item *item) ratelimit.Result {
	s := r.of(item)
	var result ratelimit.Result
	if item.limit.Algorithm == ratelimit.AlgorithmSlidingLog {
		algorithm.LogResult(algorithm.ActionForce, s.Time, s.Level, s.Rest, 0, &item.limit, item.cost, &result)
		if item.cost > 0 {
			s.Level, s.Rest, s.stored = min(s.Level+item.cost, algorithm.MaxUnits), s.Time, s.Time
		}
	} else {
		algorithm.Apply(algorithm.ActionForce, &s.State, r.now, &item.limit, item.cost, &result)
	}
	return result
}
