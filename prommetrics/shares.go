package prommetrics

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// shareBounds are the upper bounds of what is left of a limit.
var shareBounds = [...]float64{0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1}

// shares are a histogram of what was left after decisions. It is told of every
// one, so that it counts in two places and not in four as
// [prometheus.Histogram] does, which could then be read in the midst of a
// decision: its count is that of its buckets, and its sum may be one decision
// ahead or behind.
type shares struct {
	buckets [len(shareBounds)]atomic.Uint64
	// sum is in millionths: enough for a thousand years of a thousand decisions
	// a second.
	sum atomic.Uint64
}

const millionths = 1e6

// observe counts a share, of which a store that says less than 0 or more than 1
// means just that.
func (s *shares) observe(share float64) {
	share = min(max(share, 0), 1)
	n := 0
	for n < len(shareBounds)-1 && share > shareBounds[n] {
		n++
	}
	s.buckets[n].Add(1)
	s.sum.Add(uint64(share * millionths))
}

// metric is what Prometheus is told.
func (s *shares) metric(desc *prometheus.Desc, labels ...string) prometheus.Metric {
	count, below := uint64(0), make(map[float64]uint64, len(shareBounds))
	for i := range s.buckets {
		count += s.buckets[i].Load()
		below[shareBounds[i]] = count
	}
	metric, err := prometheus.NewConstHistogram(desc, count, float64(s.sum.Load())/millionths, below, labels...)
	if err != nil { // labels are valid
		return prometheus.NewInvalidMetric(desc, err)
	}
	return metric
}

// remaining are the shares of all policies, as a collector.
type remaining struct {
	*Metrics
	desc *prometheus.Desc
}

func newRemaining(m *Metrics) remaining {
	return remaining{m, prometheus.NewDesc(namespace+"_remaining_ratio", "Share of the limit that is left after a decision.", []string{"policy", "tier"}, nil)}
}

// Describe implements [prometheus.Collector].
func (r remaining) Describe(to chan<- *prometheus.Desc) { to <- r.desc }

// Collect implements [prometheus.Collector].
func (r remaining) Collect(to chan<- prometheus.Metric) {
	r.mu.Lock()
	all := make([]prometheus.Metric, 0, len(r.byLabels))
	for _, s := range r.byLabels {
		all = append(all, s.remaining.metric(r.desc, s.policy, s.tier))
	}
	r.mu.Unlock()
	for _, metric := range all {
		to <- metric
	}
}
