package ratelimit

import (
	"math/bits"
	"time"
)

// maxKept is the longest buffer that is kept for the next request.
const maxKept = 4 << 10

// work is what one decision needs beside its answer. It is pooled.
type work struct {
	request  Request
	keys     []byte // the partitions, one after the other, until seal
	ends     []int  // where each charge's partition ends in keys
	asked    []asked
	charges  []Charge
	results  []Result
	decision Decision
	// answer is what a refused request is answered with; its Body is room for
	// the next one.
	answer Answer
	// observed is what observers are shown.
	observed Observation
	// took is the store that took the charges, storeTime how long it took.
	took      Store
	storeTime time.Duration
	// localErr is why the fallback store failed as well.
	localErr error
}

// asked is what belongs to the charge with the same index.
type asked struct {
	policy *policy
	limit  *PolicyLimit
}

func (l *Limiter) newWork() *work { return l.works.Get().(*work) }

// release gives w back. Nothing that came from the request stays in it. A
// pointer is written only where there is one: while garbage is collected each
// such write has to be noted.
func (l *Limiter) release(w *work) {
	for i := range w.charges {
		w.charges[i].Partition = ""
	}
	w.request.reset()
	w.decision.reset()
	if w.answer.room != nil {
		w.answer.room = nil
	}
	if cap(w.answer.Body) > maxKept {
		w.answer.Body = nil
	}
	if l.observers != nil {
		w.observed = Observation{}
	}
	if cap(w.keys) > maxKept {
		w.keys = nil
	}
	w.keys, w.ends, w.asked = w.keys[:0], w.ends[:0], w.asked[:0]
	w.charges, w.results = w.charges[:0], w.results[:0]
	w.took, w.storeTime = nil, 0
	if w.localErr != nil {
		w.localErr = nil
	}
	l.works.Put(w)
}

// ask adds a charge whose partition has been appended to w.keys.
func (w *work) ask(p *policy, limit *PolicyLimit, cost int64, mode Mode) {
	w.ends = append(w.ends, len(w.keys))
	w.asked = append(w.asked, asked{policy: p, limit: limit})
	w.charges = append(w.charges, Charge{Policy: p.Name, Limit: limit.Limit, Cost: cost, Mode: mode, Settles: p.settles})
}

// seal makes the partitions out of w.keys, as parts of one string.
func (w *work) seal() {
	all, start := string(w.keys), 0
	for i, end := range w.ends {
		if w.guards(i) {
			w.charges[i].Partition = w.charges[i-1].Partition
			continue
		}
		w.charges[i].Partition = Partition(all[start:end])
		start = end
	}
	w.sizeResults()
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
	for i := range w.charges {
		if w.guards(i) {
			w.penalise(i)
		}
	}
	binding := -1
	for i := range w.charges {
		if w.guards(i) {
			continue
		}
		charge, result := &w.charges[i], &w.results[i]
		d.add(PolicyResult{PolicyLimit: w.asked[i].limit, Cost: charge.Cost, Result: *result})
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
		d.Policy, d.Tier = limit.Policy, limit.Tier
	} else if d.Allowed {
		return
	}
	d.Result = w.results[binding]
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
