package app

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/prommetrics"
)

// newMetrics makes the metrics of all limiters and of their stores, and what
// serves them to Prometheus. They have a registry of their own, so that a
// process may have several servers.
func newMetrics(f Flags, store, fallback ratelimit.Store) (*prommetrics.Metrics, http.Handler, error) {
	registry := prometheus.NewRegistry()
	metrics, err := prommetrics.New(registry)
	if err != nil {
		return nil, nil, err
	}
	name := "memory"
	if f.Redis != "" {
		name = "redis"
	}
	if _, tells := store.(ratelimit.MeasuredStore); tells { // not every store of a test does
		if err := metrics.Watch(name, store); err != nil {
			return nil, nil, err
		}
	}
	if err := metrics.Watch("fallback", fallback); err != nil {
		return nil, nil, err
	}
	return metrics, promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), nil
}
