package memory

import (
	"github.com/go-floodgate/floodgate/bench/measure"
	"github.com/go-floodgate/floodgate/bench/report"
)

// bars are what is promised of counting in memory.
func bars(r *measure.Results) []report.Bar {
	var all []report.Bar
	// What is not Ours is named, and has its promise in its own row.
	as := func(scenario, name, than string, bound float64) {
		what, row := "the throughput of "+than, than
		if name != Ours {
			what, row = what+": "+name, name
		}
		value := r.Of(scenario, than, measure.Nanoseconds).Per(r.Of(scenario, name, measure.Nanoseconds))
		all = append(all, report.AtLeast(bound, what, value).At(scenario, row))
	}
	faster := func(scenario, than string, bound float64) { as(scenario, Ours, than, bound) }
	faster(On(HotAllowed, 1), Sethvargo, 1.5)
	faster(On(HotDenied, 1), Sethvargo, 1.6)
	faster(On(HotDenied, 2), Sethvargo, 2.5)
	faster(On(Uniform, 1), Sethvargo, 2)
	faster(On(Uniform, 2), Sethvargo, 2)
	faster(On(Uniform, 1), Httprate, 1.3)
	faster(On(Uniform, 2), Throttled, 2)
	for _, processors := range []int{1, 2} {
		faster(On(Churn, processors), Httprate, 1.3)
		faster(On(Churn, processors), Sethvargo, 2)
		as(On(Churn, processors), Preallocated, Httprate, 1.3)
		as(On(Churn, processors), Preallocated, SethvargoPreallocated, 2)
	}
	as(On(HotAllowed, 1), CoarseClock, Sethvargo, 2.5)
	for _, processors := range []int{1, 2} {
		for _, scenario := range []string{On(HotAllowed, processors), On(HotDenied, processors)} {
			all = append(all, report.AtMost(0, " allocations", "", r.Of(scenario, Ours, measure.Allocs)).At(scenario, Ours))
		}
	}
	return append(append(all, slower(r)...), heapBars(r)...)
}

// slower are promises of how much slower than the token bucket others are.
func slower(r *measure.Results) []report.Bar {
	var all []report.Bar
	bound := func(scenario, name string, most float64) {
		value := r.Of(scenario, name, measure.Nanoseconds).Per(r.Of(scenario, Ours, measure.Nanoseconds))
		all = append(all, report.AtMost(most, " times", "the token bucket's time: "+name, value).At(scenario, name))
	}
	for _, scenario := range []string{On(HotAllowed, 1), On(HotDenied, 1)} {
		for _, name := range []string{FixedWindow, SlidingWindow, LeakyBucket} {
			bound(scenario, name, 1.5)
		}
		bound(scenario, ThreePolicies, 3.3)
	}
	return all
}

// heapBars are promises of what keys take.
func heapBars(r *measure.Results) []report.Bar {
	var all []report.Bar
	bytes := func(name string, most float64) {
		all = append(all, report.AtMost(most, " bytes", "a key: "+name, r.Of(Heap, name, HeapPerKey)).At(Heap, name))
	}
	for _, name := range []string{Ours, FixedWindow, SlidingWindow, LeakyBucket, Preallocated} {
		bytes(name, 48)
	}
	bytes(GrowingBucket, 80)
	const log, entry = 64, 8
	bytes(SlidingLog, log+entry)
	bytes(FullerLog, log+entry*entries)
	value := r.Of(Heap, Ours, GCCycle).Per(r.Of(Heap, Sethvargo, GCCycle))
	return append(all, report.AtMost(0.02, " times", "what "+Sethvargo+"'s keys add to a garbage collection", value).At(Heap, Sethvargo))
}
