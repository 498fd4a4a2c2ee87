package prommetrics

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// Metrics are the metrics of a process' limiters and stores. Make them with
// [New], once for a registry. They are safe for concurrent use.
type Metrics struct {
	config

	requests       *prometheus.CounterVec
	exceeded       *prometheus.CounterVec
	shadowExceeded *prometheus.CounterVec
	near           *prometheus.CounterVec
	degraded       *prometheus.CounterVec
	failures       *prometheus.CounterVec
	offenders      *prometheus.CounterVec
	modes          [3]prometheus.Counter // of degraded

	stores storeMetrics

	// The ways from a decision to its series; see series.go.
	limits sync.Map // *ratelimit.PolicyLimit -> *policySeries
	cached atomic.Int64
	first  first
	none   *policySeries // of decisions that no policy binds
	routes *labels

	mu              sync.Mutex
	policies, tiers *labels
	kinds           *labels
	byLabels        map[[2]string]*policySeries
	series          int // of requests
}

const namespace = "rate_limit"

// New makes metrics and registers them. The error says why that can't be, and
// the mend.
func New(registerer prometheus.Registerer, options ...Option) (*Metrics, error) {
	if registerer == nil {
		return nil, errors.New("prommetrics: the registerer is nil: give one, such as prometheus.DefaultRegisterer")
	}
	c, err := newConfig(options)
	if err != nil {
		return nil, err
	}
	m := newMetrics(*c)
	if err := registerer.Register(collectors(m.all())); err != nil {
		if already := (prometheus.AlreadyRegisteredError{}); errors.As(err, &already) {
			return nil, errors.New("prommetrics: this registry has Floodgate's metrics already: " +
				"make one Metrics for all limiters and share it, or tell two apart with prometheus.WrapRegistererWith(prometheus.Labels{...}, registerer)")
		}
		return nil, fmt.Errorf("prommetrics: another collector of this registry has a metric of the same name: "+
			"give prometheus.WrapRegistererWithPrefix(prefix, registerer) or a registry of its own: %w", err)
	}
	if err := registerer.Register(&m.stores.figures); err != nil {
		return nil, fmt.Errorf("prommetrics: the registry refuses the figures of stores: %w", err)
	}
	return m, nil
}

func newMetrics(c config) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	}
	m := &Metrics{
		config: c, first: first{seed: maphash.MakeSeed()},
		requests: counter("requests_total", "Decisions, by the policy that binds and how they ended.",
			"policy", "tier", "method", "route", "outcome", "reason"),
		exceeded:       counter("exceeded_total", "Requests that a policy refused.", "policy", "tier"),
		shadowExceeded: counter("shadow_exceeded_total", "Requests that a policy in shadow would have refused.", "policy", "tier"),
		near:           counter("near_limit_total", "Requests that a policy admitted and that left their client near its limit.", "policy", "tier"),
		degraded:       counter("degraded_total", "Decisions made without the limiter's store, by what was done instead.", "mode"),
		failures:       counter("store_failures_total", "Calls of limiters to a store that failed.", "operation", "fallback", "kind"),
		offenders:      counter("offenders_total", "Sources that were refused a large multiple of their limit.", "policy"),
		stores:         newStoreMetrics(),
		routes:         newLabels(c.bounds.Routes),
		policies:       newLabels(c.bounds.Policies),
		tiers:          newLabels(c.bounds.Tiers),
		kinds:          newLabels(maxKinds),
		byLabels:       make(map[[2]string]*policySeries),
	}
	for mode := range m.modes {
		m.modes[mode] = m.degraded.WithLabelValues(modeNames[mode])
	}
	m.none = m.newPolicySeries("", "")
	return m
}

func (m *Metrics) all() []prometheus.Collector {
	return append([]prometheus.Collector{
		m.requests, m.exceeded, m.shadowExceeded, m.near, newRemaining(m), m.degraded, m.failures, m.offenders,
	}, m.stores.all()...)
}

// collectors are registered as one: all or none.
type collectors []prometheus.Collector

// Describe implements [prometheus.Collector].
func (all collectors) Describe(to chan<- *prometheus.Desc) {
	for _, c := range all {
		c.Describe(to)
	}
}

// Collect implements [prometheus.Collector].
func (all collectors) Collect(to chan<- prometheus.Metric) {
	for _, c := range all {
		c.Collect(to)
	}
}

// Observer is what ratelimit.Observe takes, the same for each limiter.
func (m *Metrics) Observer() ratelimit.Observer {
	return ratelimit.Observer{Decision: m.decided, StoreFailure: m.storeFailed, Untimed: true}
}

// Offender counts a source that was refused a large multiple of a policy's
// limit. It is what [ratelimit.Offenders.Notify] takes, or is to call:
//
//	&ratelimit.Offenders{Notify: metrics.Offender}
func (m *Metrics) Offender(_ context.Context, o ratelimit.Offender) {
	m.mu.Lock()
	policy := m.policies.bounded(o.Policy)
	m.mu.Unlock()
	m.offenders.WithLabelValues(policy).Inc()
}
