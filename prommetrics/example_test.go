package prommetrics_test

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/memstore"
	"github.com/go-floodgate/floodgate/prommetrics"
)

// One Metrics serves all limiters and stores.
func Example() {
	registry := prometheus.NewRegistry() // or prometheus.DefaultRegisterer
	metrics, err := prommetrics.New(registry)
	if err != nil {
		fmt.Println(err)
		return
	}

	store := memstore.New()
	if err := metrics.Watch("memory", store); err != nil { // keys, evictions, and what else a store tells
		fmt.Println(err)
		return
	}
	api, err := ratelimit.New(store,
		ratelimit.Policy{Name: "per-ip", Limit: ratelimit.FixedWindow(2, time.Hour)},
		ratelimit.Observe(metrics.Observer()),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	http.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{})) // outside of the limiters

	for range 3 {
		api.Allow(context.Background(), ratelimit.NamedKey("client"))
	}
	families, err := registry.Gather()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, family := range families {
		if family.GetName() == "rate_limit_exceeded_total" {
			fmt.Println("refused:", family.GetMetric()[0].GetCounter().GetValue())
		}
	}
	// Output: refused: 1
}

// The bounds of labels, and from when on a client is near its limit.
func ExampleNew() {
	metrics, err := prommetrics.New(prometheus.NewRegistry(),
		prommetrics.WithBounds(prommetrics.Bounds{Routes: 500}),
		prommetrics.WithNearLimit(0.9),
	)
	fmt.Println(metrics != nil, err)

	_, err = prommetrics.New(prometheus.NewRegistry(), prommetrics.WithNearLimit(90))
	fmt.Println(err)
	// Output:
	// true <nil>
	// prommetrics: WithNearLimit(90) is out of range: use a share such as 0.8, from 0.001 to 1
}
