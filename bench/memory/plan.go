package memory

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/go-floodgate/floodgate/bench/measure"
)

// Kind is the kind of session that measures here.
const Kind = "memory"

// The scenarios of the results, some for 1 and for 2 processors.
const (
	HotAllowed = "in memory: hot key, allowed"
	HotDenied  = "in memory: hot key, denied"
	Uniform    = "in memory: many keys, uniform"
	Zipf       = "in memory: many keys, Zipf"
	Churn      = "in memory: new keys only"
	Heap       = "in memory: heap and garbage collection"
)

// On names a scenario on so many processors.
func On(scenario string, processors int) string {
	if processors == 1 {
		return scenario + ", 1 processor"
	}
	return fmt.Sprintf("%s, %d processors", scenario, processors)
}

// goroutines are those of the curve over them.
var goroutines = []int{1, 2, 4, 16, 64}

// sizes are the numbers of keys of the curve over them.
func sizes(keys int) []int { return []int{keys / 1000, keys / 100, keys / 10, keys} }

func overKeys(keys int) string { return fmt.Sprintf("in memory: curve, %d keys", keys) }

func overGoroutines(n int) string { return fmt.Sprintf("in memory: curve, %d goroutines", n) }

// Measure runs all scenarios that size has. start begins a session of a
// contender.
func Measure(size *measure.Size, start func(contender string) (measure.Session, error), results *measure.Results) error {
	steps := planned(size)
	var contenders []string
	for _, c := range All() {
		if slices.ContainsFunc(steps, func(s measure.Step) bool { return !s.Skips(c.Name) }) {
			contenders = append(contenders, c.Name)
		}
	}
	plan := measure.Plan{Rounds: size.Rounds, Contenders: contenders, Steps: steps, Start: start, Progress: size.Progress}
	return plan.Run(results)
}

// planned is what each round measures of each contender.
func planned(size *measure.Size) []measure.Step {
	var steps []measure.Step
	step := func(as string, o measure.Order, takes func(Contender) bool) {
		if o.For == 0 {
			o.For = size.Each
		}
		o.Room = size.Keys
		skips := func(name string) bool {
			c, _ := named(name)
			return !takes(c)
		}
		steps = append(steps, measure.Step{As: as, Order: o, Skips: skips})
	}
	measured := func(as string, o measure.Order, takes func(Contender) bool) {
		if size.Has(as) {
			step(as, o, takes)
		}
	}
	hot := func(c Contender) bool { return c.Hot }
	many := func(c Contender) bool { return c.Many }
	fresh := func(c Contender) bool { return c.Many || c.Fresh }

	for _, processors := range []int{1, 2} {
		measured(On(HotAllowed, processors), measure.Order{Scenario: hotAllowed, Processors: processors}, hot)
		measured(On(HotDenied, processors), measure.Order{Scenario: hotDenied, Processors: processors}, hot)
	}
	measured(On(Churn, 2), measure.Order{Scenario: churn, Processors: 2, Keys: size.Keys}, fresh)

	if fillsFor(size) {
		for _, keys := range sizes(size.Keys) {
			as := ""
			if keys == size.Keys {
				as = On(Churn, 1)
			}
			step(as, measure.Order{Scenario: grow, Processors: 1, Keys: keys}, fresh)
			measured(overKeys(keys), measure.Order{Scenario: uniformly, Processors: 1, For: size.Each / 2}, many)
		}
	}
	measured(Heap, measure.Order{Scenario: heap, Processors: runtime.NumCPU(), Keys: size.Keys}, func(c Contender) bool { return c.Heap })
	for _, processors := range []int{1, 2} {
		measured(On(Uniform, processors), measure.Order{Scenario: uniformly, Processors: processors}, many)
		measured(On(Zipf, processors), measure.Order{Scenario: zipfian, Processors: processors}, many)
	}
	for _, n := range goroutines {
		measured(overGoroutines(n), measure.Order{
			Scenario: uniformly, Processors: min(n, runtime.NumCPU()), Goroutines: n, For: size.Each / 2,
		}, many)
	}
	return steps
}

// fillsFor reports whether a store of many keys is needed.
func fillsFor(size *measure.Size) bool {
	needing := []string{On(Churn, 1), On(Uniform, 1), On(Uniform, 2), On(Zipf, 1), On(Zipf, 2)}
	for _, keys := range sizes(size.Keys) {
		needing = append(needing, overKeys(keys))
	}
	for _, n := range goroutines {
		needing = append(needing, overGoroutines(n))
	}
	return slices.ContainsFunc(needing, size.Has)
}
