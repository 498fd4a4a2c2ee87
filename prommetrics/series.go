package prommetrics

import (
	"hash/maphash"
	"slices"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// A decision finds its series in three steps, none of which locks or allocates:
// the policy by the address of its PolicyLimit, the route by its number, and
// what is left (method, outcome, reason) in a short list. What a step does not
// find is made once, under the lock of the Metrics.

// policySeries are the series of one policy and tier.
type policySeries struct {
	policy, tier string

	exceeded, shadowExceeded, near prometheus.Counter
	remaining                      shares

	// byRoute has an entry for each route there may be, the last one for all
	// others.
	byRoute []atomic.Pointer[[]requestSeries]
}

// requestSeries is one series of requests and what it stands for.
type requestSeries struct {
	method  string
	outcome outcome
	reason  ratelimit.Reason
	counter prometheus.Counter
}

type outcome uint8

const (
	allowed outcome = iota
	refused
	canceled
)

var outcomeNames = [...]string{allowed: "allowed", refused: "refused", canceled: "canceled"}

// maxCached bounds the policies that are found by address: limiters may come
// and go.
const maxCached = 1 << 14

// seriesOf returns the series of a policy's limit.
func (m *Metrics) seriesOf(limit *ratelimit.PolicyLimit) *policySeries {
	place := m.first.place(limit)
	found := place.Load()
	if found != nil && found.limit == limit {
		return found.series
	}
	s := m.lookUp(limit)
	if found == nil {
		place.CompareAndSwap(nil, &limitSeries{limit, s})
	}
	return s
}

// first are the limits that came first, which are all of most programs: to read
// a place takes less than to look into the map of all.
type first struct {
	seed   maphash.Seed
	places [64]atomic.Pointer[limitSeries]
}

type limitSeries struct {
	limit  *ratelimit.PolicyLimit
	series *policySeries
}

func (f *first) place(limit *ratelimit.PolicyLimit) *atomic.Pointer[limitSeries] {
	return &f.places[maphash.Comparable(f.seed, limit)%uint64(len(f.places))]
}

func (m *Metrics) lookUp(limit *ratelimit.PolicyLimit) *policySeries {
	if s, ok := m.limits.Load(limit); ok {
		return s.(*policySeries) //nolint:forcetypeassert // nothing else is stored
	}
	s := m.findPolicy(limit.Policy, limit.Tier)
	if m.cached.Add(1) > maxCached {
		m.cached.Store(1)
		m.limits.Clear()
	}
	m.limits.Store(limit, s)
	return s
}

// findPolicy returns the series of a policy and tier by their names.
func (m *Metrics) findPolicy(policy, tier string) *policySeries {
	m.mu.Lock()
	defer m.mu.Unlock()
	policy = m.policies.bounded(policy)
	if tier != "" {
		tier = m.tiers.bounded(tier)
	}
	names := [2]string{policy, tier}
	s := m.byLabels[names]
	if s == nil {
		s = m.newPolicySeries(policy, tier)
		s.exceeded = m.exceeded.WithLabelValues(policy, tier)
		s.shadowExceeded = m.shadowExceeded.WithLabelValues(policy, tier)
		s.near = m.near.WithLabelValues(policy, tier)
		m.offenders.WithLabelValues(policy) // 0, so that the first one is seen to come
		m.byLabels[names] = s
	}
	return s
}

func (m *Metrics) newPolicySeries(policy, tier string) *policySeries {
	return &policySeries{policy: policy, tier: tier, byRoute: make([]atomic.Pointer[[]requestSeries], m.bounds.Routes+1)}
}

// request returns the series of requests that a decision belongs to.
func (m *Metrics) request(s *policySeries, method, route string, out outcome, reason ratelimit.Reason) prometheus.Counter {
	index, known, full := m.routes.index(route)
	switch {
	case full:
		index = m.bounds.Routes
	case !known:
		return m.addRequest(s, method, route, out, reason)
	}
	if list := s.byRoute[index].Load(); list != nil {
		for i := range *list {
			if r := &(*list)[i]; r.reason == reason && r.outcome == out && r.method == method {
				return r.counter
			}
		}
	}
	return m.addRequest(s, method, route, out, reason)
}

// addRequest makes a series, or finds the one that was made meanwhile.
func (m *Metrics) addRequest(s *policySeries, method, route string, out outcome, reason ratelimit.Reason) prometheus.Counter {
	m.mu.Lock()
	defer m.mu.Unlock()
	index, known := m.routes.add(route)
	if !known {
		index, route = m.bounds.Routes, Other
	}
	var list []requestSeries
	if made := s.byRoute[index].Load(); made != nil {
		list = *made
	}
	for i := range list {
		if r := &list[i]; r.reason == reason && r.outcome == out && r.method == method {
			return r.counter
		}
	}
	policy, tier, shown := s.policy, s.tier, method
	if m.series >= m.bounds.Series {
		policy, tier, route, shown = Other, Other, Other, "OTHER"
	} else {
		m.series++
	}
	counter := m.requests.WithLabelValues(policy, tier, shown, validLabel(route), outcomeNames[out], reason.String())
	list = append(slices.Clone(list), requestSeries{method: method, outcome: out, reason: reason, counter: counter})
	s.byRoute[index].Store(&list)
	return counter
}
