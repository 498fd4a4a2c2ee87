package memory

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-floodgate/floodgate/bench/measure"
	"github.com/go-floodgate/floodgate/bench/report"
)

const about = `A decision by a store, asked directly: no HTTP. One goroutine for each processor. "ns" is time per decision of all together;
on one processor it is processor time, so that what else the machine does takes no part in it. p50 and p99 are of single decisions and have one
reading of the clock in them. Keys are new strings of 16 bytes, except the hot one; what it costs to make them is in the numbers, and a row of its
own. So is "one write": what remains of a limiter that finds each key's entry without looking for it, and decides nothing. Limits are so wide
that nothing is denied, or so narrow that everything is. Rows with "preallocated" have taken the memory for all keys
beforehand, as documented for speed where it can be done; the others grow as keys come.`

// Section is what the results say of counting in memory.
func Section(r *measure.Results, keys int) report.Section {
	s := report.Section{Title: "In memory", Text: about, Bars: bars(r)}
	for _, scenario := range []struct {
		name, title string
		expected    [2]map[string]float64
	}{
		{HotAllowed, "One key, allowed", [2]map[string]float64{hotAllowed1, hotAllowed2}},
		{HotDenied, "One key, denied", [2]map[string]float64{hotDenied1, hotDenied2}},
		{Uniform, fmt.Sprintf("%d keys, each as often", keys), [2]map[string]float64{uniform1, uniform2}},
		{Zipf, fmt.Sprintf("%d keys, some much more often (Zipf, 1.1)", keys), [2]map[string]float64{}},
		{Churn, fmt.Sprintf("New keys only, until there are %d", keys), [2]map[string]float64{churn1, churn2}},
	} {
		for _, processors := range []int{1, 2} {
			s.Comparisons = append(s.Comparisons, report.Comparison{
				Title: On(scenario.title, processors), Scenario: On(scenario.name, processors), Ours: Ours, Metric: measure.Nanoseconds,
				Columns: []report.Column{
					{Head: "ns", Metric: measure.Nanoseconds},
					{Head: "p50 ns", Metric: measure.P50},
					{Head: "p99 ns", Metric: measure.P99},
					{Head: "allocations", Metric: measure.Allocs, Format: func(n float64) string { return fmt.Sprintf("%.1f", n) }},
				},
				Floor: Clock, Expected: scenario.expected[processors-1], Ratio: "times Floodgate's", Self: isOurs, Notes: notes[scenario.name],
			})
		}
	}
	s.Comparisons = append(s.Comparisons, report.Comparison{
		Title: fmt.Sprintf("What %d keys take", keys), Scenario: Heap, Ours: Ours, Metric: HeapPerKey,
		Text: `Heap in use per key after a garbage collection, and the processor time that the keys add to one. "growing" has no cap near,
and is the most of 25 sizes on the way.`,
		Columns: []report.Column{{Head: "bytes/key", Metric: HeapPerKey}, {Head: "GC ms", Metric: GCCycle}},
		Ratio:   "times Floodgate's", Self: isOurs, Notes: notes[Heap],
	})
	s.Curves = curves(r, keys)
	return s
}

func isOurs(name string) bool {
	return strings.HasPrefix(name, Ours) || name == Clock || name == KeyText || name == Write
}

// curves are throughput over goroutines and time over keys.
func curves(r *measure.Results, most int) []report.Curve {
	byKeys := report.Curve{Title: "A decision, by the number of keys (1 processor)", File: "benchmarks-keys.svg", X: "keys", Y: "ns per decision", LogY: true}
	byGoroutines := report.Curve{
		Title: fmt.Sprintf("Decisions per second on %d keys, by goroutines", most), File: "benchmarks-goroutines.svg", X: "goroutines", Y: "decisions per second",
	}
	names := []string{Ours}
	for _, c := range peers() {
		names = append(names, c.Name)
	}
	for _, name := range names {
		keys, routines := report.Line{Name: name}, report.Line{Name: name}
		for _, n := range sizes(most) {
			if s := r.Of(overKeys(n), name, measure.Nanoseconds); len(s) > 0 {
				keys.Points = append(keys.Points, report.Point{X: float64(n), Y: s.Median()})
			}
		}
		for _, n := range goroutines {
			if s := r.Of(overGoroutines(n), name, measure.Nanoseconds); len(s) > 0 {
				routines.Points = append(routines.Points, report.Point{X: float64(n), Y: 1e9 / s.Median()})
			}
		}
		if len(keys.Points) > 0 {
			byKeys.Lines = append(byKeys.Lines, keys)
		}
		if len(routines.Points) > 0 {
			byGoroutines.Lines = append(byGoroutines.Lines, routines)
		}
	}
	return []report.Curve{byKeys, byGoroutines}
}

// Modules are the paths of the peers' modules.
func Modules() []string {
	var all []string
	for _, c := range peers() {
		all = append(all, c.Module)
	}
	return slices.Compact(all)
}
