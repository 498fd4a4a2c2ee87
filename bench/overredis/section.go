package overredis

import (
	"fmt"
	"strings"

	"github.com/go-floodgate/floodgate/bench/measure"
	"github.com/go-floodgate/floodgate/bench/report"
)

const about = `A decision by a store, asked directly, from goroutines that each wait for their answer. All clients have 64 connections at most. Client and
server share the cores, so the processor time per decision is what a larger machine would show. The far Redis is the same one behind a proxy
that holds each direction back for half the time named, and rather longer: PING's row shows what it came to.
redis_rate makes three calls for three policies, which are not decided as one.`

// Section is what the results say of counting in Redis.
func Section(r *measure.Results) report.Section {
	s := report.Section{Title: "Redis", Text: about, Bars: bars(r), Curves: []report.Curve{curve(r)}}
	micros := func(ns float64) string { return fmt.Sprintf("%.1f", ns/1000) }
	for _, scene := range scenes() {
		for _, n := range scene.goroutines {
			scenario := Scenario(scene.what, n, scene.where)
			scripts := report.Column{}
			if scene.load.Name == deniedKey.Name {
				scripts = report.Column{Head: "script calls/s", Metric: Scripts}
			}
			c := report.Comparison{
				Title: strings.TrimPrefix(scenario, "redis: "), Scenario: scenario, Ours: Ours, Metric: measure.Nanoseconds,
				Columns: []report.Column{
					{Head: "decisions/s", Metric: measure.Nanoseconds, Format: func(ns float64) string { return fmt.Sprintf("%.0f", 1e9/ns) }},
					{Head: "p50 µs", Metric: measure.P50, Format: micros},
					{Head: "p99 µs", Metric: measure.P99, Format: micros},
					{Head: "allocations", Metric: measure.Allocs},
					{Head: "client CPU µs", Metric: ClientCPU},
					{Head: "server CPU µs", Metric: ServerCPU},
					scripts,
				},
				Floor: Ping, Ratio: "time, times Floodgate's", Self: own, Notes: notes,
			}
			if scene.where == near {
				c.Expected = expected[scene.what][n]
			}
			s.Comparisons = append(s.Comparisons, c)
		}
	}
	return s
}

func own(name string) bool { return name == Ping || strings.HasPrefix(name, Ours) }

func curve(r *measure.Results) report.Curve {
	c := report.Curve{Title: "Decisions per second on Redis, by goroutines", File: "benchmarks-redis.svg", X: "goroutines", Y: "decisions per second"}
	for _, name := range []string{Ours, RedisRate, Rueidis, Ulule, Throttled, Httprate, Ping} {
		line := report.Line{Name: name}
		for _, n := range goroutines {
			if s := r.Of(Scenario(onePolicy, n, near), name, measure.Nanoseconds); len(s) > 0 {
				line.Points = append(line.Points, report.Point{X: float64(n), Y: 1e9 / s.Median()})
			}
		}
		if len(line.Points) > 0 {
			c.Lines = append(c.Lines, line)
		}
	}
	return c
}

// bars are what is promised of counting in Redis.
func bars(r *measure.Results) []report.Bar {
	var all []report.Bar
	times := func(scenario, peer, metric string) measure.Series {
		return r.Of(scenario, peer, metric).Per(r.Of(scenario, Ours, metric))
	}
	faster := func(what, where, peer string, bounds map[int]float64) {
		for _, n := range goroutines {
			if bound, ok := bounds[n]; ok {
				scenario := Scenario(what, n, where)
				all = append(all, report.AtLeast(bound, "the throughput of "+peer, times(scenario, peer, measure.Nanoseconds)).At(scenario, peer))
			}
		}
	}
	faster(onePolicy, near, RedisRate, map[int]float64{1: 0.95, 16: 1.5, 64: 2.5, 256: 3.5})
	faster(onePolicy, near, Rueidis, map[int]float64{64: 1.3, 256: 1.6})
	faster(threePolicies, near, RedisRate, map[int]float64{1: 2.4, 16: 2.3, 64: 3, 256: 3.8})
	faster(oneDenied, near, RedisRate, map[int]float64{16: 20})
	faster(onePolicy, far, RedisRate, map[int]float64{64: 1, 256: 3})

	at64 := Scenario(onePolicy, 64, near)
	share := func(metric, says string, most float64) {
		value := r.Of(at64, Ours, metric).Per(r.Of(at64, RedisRate, metric))
		all = append(all, report.AtMost(most, " times", says+" of "+RedisRate, value).At(at64, RedisRate))
	}
	share(measure.P99, "the p99", 0.6)
	share(ServerCPU, "the server CPU", 0.5)
	share(ClientCPU, "the client CPU", 0.4)
	all = append(all, report.AtMost(5, " client allocations", "", r.Of(at64, Ours, measure.Allocs)).At(at64, Ours))

	lease := func(name string, bound float64) {
		scenario := Scenario(hot, 64, near)
		value := r.Of(scenario, RedisRate, measure.Nanoseconds).Per(r.Of(scenario, name, measure.Nanoseconds))
		all = append(all, report.AtLeast(bound, "the throughput of "+RedisRate+": "+name, value).At(scenario, name))
	}
	lease(Lease10, 6)
	lease(Lease100, 25)
	// A denial is remembered for a second and the wait is an hour, so one call a
	// second, and one more as the measurement is not whole seconds long.
	denied := Scenario(oneDenied, 16, near)
	return append(all, report.AtMost(2, " script calls a second", "", r.Of(denied, Ours, Scripts)).At(denied, Ours))
}

// expected is how much time peers are known to need, in PINGs by as many
// goroutines, on the machine where the promises were made.
var expected = map[string]map[int]map[string]float64{
	onePolicy: {
		1:   {RedisRate: 16.5 / 15.9, Rueidis: 16.5 / 16, Ulule: 16.5 / 16, Throttled: 16.5 / 5.3, Httprate: 16.5 / 8.7},
		16:  {RedisRate: 115. / 72, Rueidis: 115. / 117, Ulule: 115. / 97, Throttled: 115. / 38, Httprate: 115. / 10},
		64:  {RedisRate: 109. / 75, Rueidis: 109. / 160, Ulule: 109. / 86, Throttled: 109. / 40, Httprate: 109 / 10.7},
		256: {RedisRate: 104. / 77, Rueidis: 104. / 179, Ulule: 104. / 81, Throttled: 104. / 37, Httprate: 104. / 11},
	},
	threePolicies: {
		1: {RedisRate: 16.5 / 5.9}, 16: {RedisRate: 115. / 22}, 64: {RedisRate: 109. / 28}, 256: {RedisRate: 104. / 26},
	},
	oneDenied: {1: {RedisRate: 16.5 / 16.7}, 16: {RedisRate: 115. / 79}, 64: {RedisRate: 109. / 93}},
	hot:       {64: {RedisRate: 109. / 78}},
}

// notes say, where a peer is ahead, why, and what it gives up.
var notes = map[string]string{
	Rueidis: "one key and one algorithm in a script of ten lines, without a budget, a circuit breaker, or a result to tell the client",
	// With few callers and a long way to Redis everybody waits for the network alone.
	RedisRate: "one key in a script of its own, sent over a connection for each caller: with few callers there is nothing to send together",
	Ulule:     "a plain counter in fixed windows: twice the quota around an edge",
}

// Modules are the paths of the peers' modules.
func Modules() []string {
	all := []string{"github.com/redis/go-redis/v9"}
	for _, c := range All() {
		if c.Module != "" {
			all = append(all, c.Module)
		}
	}
	return all
}
