package wire

import (
	"errors"
	"fmt"

	"github.com/go-floodgate/floodgate/bench/measure"
	"github.com/go-floodgate/floodgate/bench/middleware"
	"github.com/go-floodgate/floodgate/bench/report"
)

// CPU is the metric of what the server needs of a processor for a request, in
// microseconds.
const CPU = "cpu"

// Scenario names what is measured of a framework.
func Scenario(framework string) string { return "over the wire: " + framework }

// peers are the limiters that are measured beside Floodgate in each framework.
var peers = map[string]string{
	"net/http": middleware.Sethvargo, "chi": middleware.Httprate, "Gin": middleware.Ulule, "Echo v4": middleware.Own, "Fiber v2": middleware.Own,
}

// Start begins a session of a kind.
type Start func(kind, contender string) (measure.Session, error)

// Measure runs all scenarios that size has.
func Measure(size *measure.Size, start Start, results *measure.Results) (err error) {
	var wanted []string
	for _, framework := range middleware.Frameworks {
		if size.Has(Scenario(framework)) {
			wanted = append(wanted, framework)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	client, err := start(LoadKind, "client")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	for _, framework := range wanted {
		scenario := Scenario(framework)
		plan := measure.Plan{
			Rounds:     size.Rounds,
			Contenders: []string{middleware.Bare, middleware.Ours, peers[framework]},
			Steps:      []measure.Step{{As: scenario, Order: measure.Order{Scenario: scenario, For: 4 * size.Each}}},
			Progress:   size.Progress,
			Start: func(name string) (measure.Session, error) {
				return visit(start, framework+": "+name, client)
			},
		}
		if err := plan.Run(results); err != nil {
			return err
		}
	}
	return nil
}

// visited is a server that a client visits.
type visited struct {
	server, client measure.Session
	address        string
}

func visit(start Start, contender string, client measure.Session) (measure.Session, error) {
	s, err := start(ServerKind, contender)
	if err != nil {
		return nil, err
	}
	where, err := s.Do(measure.Order{Scenario: listening})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	v := &visited{server: s, client: client, address: fmt.Sprintf("127.0.0.1:%.0f", where[port])}
	// The first requests of a server's life are others than the rest.
	if _, err := v.load(measure.Order{}); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return v, nil
}

func (v *visited) load(o measure.Order) (map[string]float64, error) {
	return v.client.Do(measure.Order{Address: v.address, For: max(o.For, 10_000_000)})
}

func (v *visited) Do(o measure.Order) (map[string]float64, error) {
	before, err := v.server.Do(measure.Order{Scenario: using})
	if err != nil {
		return nil, err
	}
	metrics, err := v.load(o)
	if err != nil {
		return nil, err
	}
	after, err := v.server.Do(measure.Order{Scenario: using})
	if err != nil {
		return nil, err
	}
	metrics[CPU] = (after[used] - before[used]) / max(metrics[requests], 1)
	return metrics, nil
}

func (v *visited) Close() error { return v.server.Close() }

const about = `Real servers on loopback, a load generator in a process of its own on the same cores, 32 connections with one request under way on each.
The handler answers with nothing, so that the limiter's share is as large as it can be. Where the spread is wider than the difference, there is none
to be seen: that is what a limiter in memory costs a real service.`

// Section is what is said of servers.
func Section() report.Section {
	s := report.Section{Title: "Over the wire", Text: about}
	micros := func(ns float64) string { return fmt.Sprintf("%.0f", ns/1000) }
	for _, framework := range middleware.Frameworks {
		s.Comparisons = append(s.Comparisons, report.Comparison{
			Title: framework + " over the wire", Scenario: Scenario(framework), Ours: middleware.Ours, Metric: measure.Nanoseconds,
			Columns: []report.Column{
				{Head: "requests/s", Metric: measure.Nanoseconds, Format: func(ns float64) string { return fmt.Sprintf("%.0f", 1e9/ns) }},
				{Head: "p50 µs", Metric: measure.P50, Format: micros},
				{Head: "p99 µs", Metric: measure.P99, Format: micros},
				{Head: "server CPU µs", Metric: CPU},
			},
			Ratio: "time per request, times Floodgate's",
			Self:  func(name string) bool { return name == middleware.Ours || name == middleware.Bare },
			Notes: map[string]string{middleware.Own: "it sends fewer bytes: fewer fields, or none", middleware.Ulule: fewer, middleware.Httprate: fewer, middleware.Sethvargo: fewer},
		})
	}
	return s
}

const fewer = "it sends fewer bytes: three fields of five"
