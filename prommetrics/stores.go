package prommetrics

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// storeMetrics are the metrics of watched stores.
type storeMetrics struct {
	calls    *prometheus.HistogramVec
	batches  *prometheus.HistogramVec
	errors   *prometheus.CounterVec
	late     *prometheus.CounterVec
	breakers *prometheus.CounterVec
	figures  figures
}

func newStoreMetrics() storeMetrics {
	const subsystem = "store"
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help, Buckets: buckets}, labels)
	}
	return storeMetrics{
		calls: histogram("call_duration_seconds", "How long calls of a store to another process took.",
			[]float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1}, "store", "outcome"),
		batches: histogram("batch_requests", "Requests that travelled in one call to another process.",
			[]float64{1, 2, 4, 8, 16, 32, 64, 128}, "store"),
		errors:   counter("call_errors_total", "Calls of a store to another process that failed.", "store", "kind"),
		late:     counter("late_calls_total", "Calls of a store to another process that nobody waited for any more.", "store"),
		breakers: counter("breaker_changes_total", "Changes of circuit breakers to a state.", "store", "state"),
	}
}

func (s *storeMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{s.calls, s.batches, s.errors, s.late, s.breakers}
}

// Watch shows what a store tells of itself, under a name that the label "store"
// has. Call it once for each store, before it is used. The error says why that
// can't be, and the mend: the name is taken, or the store tells nothing.
func (m *Metrics) Watch(name string, store ratelimit.Store) error {
	if value := reflect.ValueOf(store); store == nil || value.Kind() == reflect.Pointer && value.IsNil() {
		return fmt.Errorf("prommetrics: Watch(%q): the store is nil: give one, such as memstore.New()", name)
	}
	if name == "" || validLabel(name) != name {
		return fmt.Errorf("prommetrics: Watch(%q): the name is no label: say in a word which store it is", name)
	}
	measured, measures := store.(ratelimit.MeasuredStore)
	observed, observes := store.(ratelimit.ObservedStore)
	if !measures && !observes {
		return fmt.Errorf("prommetrics: Watch(%q): a %T tells nothing of itself (it is no ratelimit.MeasuredStore, nor an ObservedStore): leave the call out", name, store)
	}
	if err := m.stores.figures.add(name, measured); err != nil {
		return fmt.Errorf("prommetrics: Watch(%q): %w", name, err)
	}
	if observes {
		observed.Watch(m.storeObserver(name, store))
	}
	return nil
}

func (m *Metrics) storeObserver(name string, store ratelimit.Store) ratelimit.StoreObserver {
	var (
		ok, failed = m.stores.calls.WithLabelValues(name, "ok"), m.stores.calls.WithLabelValues(name, "error")
		batches    = m.stores.batches.WithLabelValues(name)
		late       = m.stores.late.WithLabelValues(name)
		changes    = make(map[ratelimit.BreakerState]prometheus.Counter)
	)
	for _, state := range []ratelimit.BreakerState{ratelimit.BreakerClosed, ratelimit.BreakerHalfOpen, ratelimit.BreakerOpen} {
		changes[state] = m.stores.breakers.WithLabelValues(name, strings.ReplaceAll(state.String(), "-", "_"))
	}
	return ratelimit.StoreObserver{
		Call: func(c ratelimit.StoreCall) {
			batches.Observe(float64(c.Requests))
			if c.Late {
				late.Inc()
			}
			if c.Err == nil {
				ok.Observe(c.Duration.Seconds())
				return
			}
			failed.Observe(c.Duration.Seconds())
			m.stores.errors.WithLabelValues(name, m.kind(ratelimit.ErrorKind(store, c.Err))).Inc()
		},
		Breaker: func(_ string, _, to ratelimit.BreakerState) {
			if counter := changes[to]; counter != nil {
				counter.Inc()
			}
		},
	}
}

// figures shows the figures of stores, read when they are asked for. What they
// are is known when a store is watched, so that it describes none before.
type figures struct {
	mu     sync.RWMutex
	stores []watched
	known  map[string]figure
}

type watched struct {
	name  string
	store ratelimit.MeasuredStore // nil: it has no figures
}

type figure struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

var (
	figureName = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	suffixes   = regexp.MustCompile(`_(total|count|sum|bucket|info)$`)
)

func (f *figures) add(name string, store ratelimit.MeasuredStore) error {
	var all []ratelimit.Figure
	if store != nil {
		all = store.Figures()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, w := range f.stores {
		if w.name == name {
			return errors.New("the name is taken: give each store its own, and watch each once")
		}
	}
	known := maps.Clone(f.known)
	if known == nil {
		known = make(map[string]figure)
	}
	seen := make(map[string]bool)
	for i := range all {
		made, err := f.describe(&all[i])
		switch {
		case err != nil:
			return err
		case seen[all[i].Name]:
			return fmt.Errorf("the store has two figures %q: it has to name them apart", all[i].Name)
		}
		seen[all[i].Name] = true
		known[all[i].Name] = made
	}
	f.known = known
	f.stores = append(f.stores, watched{name, store})
	return nil
}

// reserved are what figures can't be called: metrics of this package are.
var reserved = map[string]bool{
	"failures": true, "call_errors": true, "late_calls": true, "breaker_changes": true, "call_duration_seconds": true, "batch_requests": true,
}

func (f *figures) describe(one *ratelimit.Figure) (figure, error) {
	made := figure{kind: prometheus.GaugeValue}
	name := one.Name
	if one.Counter {
		made.kind = prometheus.CounterValue
		name += "_total"
	}
	if !figureName.MatchString(one.Name) || suffixes.MatchString(one.Name) || reserved[one.Name] {
		return made, fmt.Errorf("the store has a figure %q, which makes no metric: it has to name it in snake_case and by a word of its own", one.Name)
	}
	if before, ok := f.known[one.Name]; ok {
		if before.kind != made.kind {
			return made, fmt.Errorf("the figure %q is a counter in one store and a level in another: one of them has to name it otherwise", one.Name)
		}
		return before, nil
	}
	made.desc = prometheus.NewDesc(prometheus.BuildFQName(namespace, "store", name), one.Help, []string{"store"}, nil)
	return made, nil
}

// Describe implements [prometheus.Collector].
func (*figures) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (f *figures) Collect(to chan<- prometheus.Metric) {
	f.mu.RLock()
	stores, known := f.stores, f.known // which are added to by making new ones
	f.mu.RUnlock()
	for _, w := range stores {
		if w.store == nil {
			continue
		}
		for _, one := range w.store.Figures() {
			if made, ok := known[one.Name]; ok {
				to <- prometheus.MustNewConstMetric(made.desc, made.kind, one.Value, w.name)
			}
		}
	}
}

// validLabel is a value that a label may have.
func validLabel(value string) string { return strings.ToValidUTF8(value, "\uFFFD") }
