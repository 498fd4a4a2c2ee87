package ratelimit

import (
	"math/bits"
	"time"
	"unsafe" //nolint:depguard // see seal
)

// maxKept is the longest buffer that is kept for the next request.
const maxKept = 4 << 10

// work is what one decision needs beside its answer. It is pooled.
type work struct {
	request  Request
	keys     []byte // the partitions, one after the other, until seal
	asked    []asked
	charges  []Charge
	results  []Result
	decision Decision
	room     room
	// answer is what a refused request is answered with; its Body is room for
	// the next one.
	answer Answer
	// observed is what observers are shown.
	observed Observation
	// took is the store that took the charges, storeTime how long it took.
	took      taker
	storeTime time.Duration
	// bound is whether the decision has a binding policy, inPlace whether the
	// partitions lie in keys.
	bound, inPlace bool
	// guarded is whether a charge is a penalty's.
	guarded bool
	// localErr is why the fallback store failed as well.
	localErr error
}

// taker says which store took the charges.
type taker uint8

const (
	nowhere taker = iota
	ownStore
	fallbackStore
)

// asked is what belongs to the charge with the same index.
type asked struct {
	policy *policy
	limit  *PolicyLimit
	// end is where the charge's partition ends in keys.
	end int
}

func (l *Limiter) newWork() *work { return l.works.Get().(*work) }

// release gives w back. Nothing that came from the request stays in it.
func (l *Limiter) release(w *work) {
	w.inPlace = false
	w.reset()
	w.request = Request{}
	if w.observed.Decision != nil {
		w.observed = Observation{}
	}
	l.works.Put(w)
}

// reset makes w ready for the next request of the same source. While garbage is
// collected each write of a pointer has to be noted, so that none is written
// which is likely to be the same the next time: not those to a policy and its
// limit, and so the charges made of them.
func (w *work) reset() {
	if !w.inPlace || cap(w.keys) > maxKept {
		for i := range w.charges {
			w.charges[i].Partition = ""
		}
		clear(w.asked) // a store that is made of another one may have changed the charges
	}
	w.request.reset()
	w.decision.reset()
	if w.answer.room != nil {
		w.answer.room = nil
	}
	if cap(w.answer.Body) > maxKept {
		w.answer.Body = nil
	}
	if cap(w.keys) > maxKept {
		w.keys = nil
	}
	w.keys, w.asked = w.keys[:0], w.asked[:0]
	w.charges, w.results = w.charges[:0], w.results[:0]
	w.took, w.storeTime, w.bound, w.guarded = nowhere, 0, false, false
	if w.localErr != nil {
		w.localErr = nil
	}
}

// hold makes keys w.keys, with something appended or not.
func (w *work) hold(keys []byte) {
	if cap(keys) == cap(w.keys) { // it is the same memory, see reset
		w.keys = w.keys[:len(keys)]
	} else {
		w.keys = keys
	}
}

// ask adds a charge whose partition has been appended to w.keys.
func (w *work) ask(p *policy, limit *PolicyLimit, cost int64, mode Mode) *Charge {
	n := len(w.asked)
	if n < cap(w.asked) && n < cap(w.charges) {
		w.asked, w.charges = w.asked[:n+1], w.charges[:n+1]
	} else {
		w.asked, w.charges = append(w.asked, asked{}), append(w.charges, Charge{})
	}
	charge := &w.charges[n]
	a := &w.asked[n]
	if a.policy != p || a.limit != limit {
		*a = asked{policy: p, limit: limit}
		*charge = Charge{Policy: p.Name, Limit: limit.Limit, Settles: p.settles}
	}
	a.end, charge.Cost, charge.Mode = len(w.keys), cost, mode
	return charge
}

// seal makes the partitions out of w.keys, as parts of one string: of one that
// lies in w.keys itself if the stores keep none.
func (w *work) seal(inPlace bool) {
	var all string
	if w.inPlace = inPlace; inPlace {
		all = unsafe.String(unsafe.SliceData(w.keys), len(w.keys))
	} else {
		all = string(w.keys)
	}
	start := 0
	for i := range w.charges {
		end := w.asked[i].end
		partition := Partition(all[start:end])
		if w.guarded && w.guards(i) {
			partition = w.charges[i-1].Partition
		}
		start = end
		if c := &w.charges[i]; c.Partition != partition { // see reset
			c.Partition = partition
		}
	}
	w.sizeResults()
}

// bind makes a limit the binding one of the decision, which else has none: see
// unbound.
func (w *work) bind(limit *PolicyLimit) {
	d := &w.decision
	if w.bound = true; d.Policy != limit.Policy || d.Tier != limit.Tier {
		d.Policy, d.Tier = limit.Policy, limit.Tier
	}
}

// unbound takes off what an earlier decision has left, when a decision has been
// made.
func (w *work) unbound() {
	if d := &w.decision; !w.bound && d.Policy != "" {
		d.Policy, d.Tier = "", ""
	}
}

func (w *work) sizeResults() {
	if cap(w.results) < len(w.charges) {
		w.results = make([]Result, len(w.charges))
	}
	w.results = w.results[:len(w.charges)]
}

// conclude makes the decision from the results.
func (w *work) conclude() {
	d := &w.decision
	d.Allowed, d.Reason = true, ReasonWithinLimits
	if w.guarded {
		for i := range w.charges {
			if w.guards(i) {
				w.penalise(i)
			}
		}
	}
	binding := -1
	for i := range w.charges {
		if w.guarded && w.guards(i) {
			continue
		}
		charge, result := &w.charges[i], &w.results[i]
		d.add(w.asked[i].limit, charge.Cost, result)
		if charge.Mode != ModeEnforce && charge.Mode != ModePeek || w.asked[i].limit.Shadow {
			continue
		}
		if !result.Allowed {
			d.Allowed, d.Reason = false, ReasonRateLimited
			d.RetryAfter = max(d.RetryAfter, result.RetryAfter)
		}
		d.Delay = max(d.Delay, result.Delay)
		if binding < 0 || w.binds(i, binding) {
			binding = i
		}
	}
	if !d.Allowed {
		d.Delay = 0
	}
	if binding < 0 {
		return
	}
	if w.blocked(binding) {
		d.Reason = ReasonBlocked
	}
	limit := w.asked[binding].limit
	if !limit.Hidden {
		w.bind(limit)
	} else if d.Allowed {
		return
	}
	d.Result.set(&w.results[binding])
}

// binds reports whether the charge at i binds rather than the one at j, which
// comes before it: a violated policy before one that admits, a shown policy
// before a hidden one, and then the longest retry-after or the smallest share
// left.
func (w *work) binds(i, j int) bool {
	a, b := &w.results[i], &w.results[j]
	if a.Allowed != b.Allowed {
		return !a.Allowed
	}
	if hidden := w.asked[i].limit.Hidden; hidden != w.asked[j].limit.Hidden {
		return !hidden
	}
	if !a.Allowed {
		return a.RetryAfter > b.RetryAfter
	}
	return smallerShare(a.Remaining, a.Limit, b.Remaining, b.Limit)
}

// smallerShare reports whether remaining/limit is smaller than that of the
// other; a limit of 0 has nothing left.
func smallerShare(remaining, limit, otherRemaining, otherLimit int64) bool {
	if limit == 0 {
		remaining, limit = 0, 1
	}
	if otherLimit == 0 {
		otherRemaining, otherLimit = 0, 1
	}
	hi, lo := bits.Mul64(uint64(remaining), uint64(otherLimit))
	otherHi, otherLo := bits.Mul64(uint64(otherRemaining), uint64(limit))
	return hi < otherHi || hi == otherHi && lo < otherLo
}
