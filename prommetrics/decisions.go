package prommetrics

import (
	"context"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// The modes of degraded decisions.
const (
	modeOpen = iota
	modeClosed
	modeLocal
)

var modeNames = [...]string{modeOpen: "open", modeClosed: "closed", modeLocal: "local"}

// decided counts a decision.
func (m *Metrics) decided(_ context.Context, o *ratelimit.Observation) {
	d := o.Decision
	binding := m.none
	policies := d.Policies()
	for i := range policies {
		p := &policies[i]
		s := m.seriesOf(p.PolicyLimit)
		if d.Reason != ratelimit.ReasonFailedOpen { // then the results say nothing
			m.count(s, p)
		}
		if binds(d, p) {
			binding = s
		}
	}
	if d.Degraded {
		m.modes[modeOf(d.Reason)].Inc()
	}
	out := refused
	switch {
	case d.Reason == ratelimit.ReasonCanceled:
		out = canceled
	case d.Allowed:
		out = allowed
	}
	m.request(binding, o.Method, o.Route, out, d.Reason).Inc()
}

// count counts one policy's part in a decision.
func (m *Metrics) count(s *policySeries, p *ratelimit.PolicyResult) {
	r := &p.Result
	left := 0.0
	if r.Limit > 0 {
		left = float64(r.Remaining) / float64(r.Limit)
	}
	s.remaining.observe(left)
	switch {
	case !p.Violated():
		if (r.Limit-r.Remaining)*1000 >= r.Limit*m.config.near {
			s.near.Inc()
		}
	case p.Shadow:
		s.shadowExceeded.Inc()
	default:
		s.exceeded.Inc()
	}
}

// binds reports whether p is the policy of the decision: the one it names or,
// if that is hidden from clients, the one that refuses for as long as it says.
func binds(d *ratelimit.Decision, p *ratelimit.PolicyResult) bool {
	if d.Policy != "" {
		return p.Policy == d.Policy
	}
	return !d.Allowed && p.Hidden && p.Violated() && p.Result.RetryAfter == d.RetryAfter
}

func modeOf(reason ratelimit.Reason) int {
	switch reason {
	case ratelimit.ReasonFailedOpen:
		return modeOpen
	case ratelimit.ReasonFailedClosed:
		return modeClosed
	}
	return modeLocal
}

// storeFailed counts a failed call to a store.
func (m *Metrics) storeFailed(_ context.Context, f *ratelimit.StoreFailure) {
	fallback := "false"
	if f.Fallback {
		fallback = "true"
	}
	m.failures.WithLabelValues(f.Operation, fallback, m.kind(f.Kind)).Inc()
}

// maxKinds bounds the kinds of errors.
const maxKinds = 50

// kind is the kind of an error as it may be shown.
func (m *Metrics) kind(kind string) string {
	if _, known, full := m.kinds.index(kind); known {
		return kind
	} else if full {
		return Other
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kinds.bounded(kind)
}
