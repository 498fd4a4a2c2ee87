package measure

import (
	"runtime"
	"slices"
	"sync"
	"time"
)

// The metrics of Speed.
const (
	Nanoseconds = "ns"     // per call, all goroutines together; see stopwatch
	P50         = "p50"    // of a timed call, in nanoseconds, with one reading of the clock in it
	P99         = "p99"    // the same
	Allocs      = "allocs" // allocations per call
	Bytes       = "bytes"  // allocated bytes per call
)

// Pass makes n calls and returns how many of them were answered wrongly. A Pass
// belongs to one goroutine.
type Pass func(n int) (wrong int)

const (
	// between is how many calls are made between two looks at the clock.
	between = 256
	// sampled is one in how many calls is timed, in the second part.
	sampled = 16
	// samples is how many timed calls a goroutine remembers.
	samples = 1 << 16
)

// Speed lets a goroutine for each pass make calls for a while, on so many
// processors, when they have made some for a quarter of that time: a heap that
// is touched for the first time costs more than all else. Then they do it again
// for half as long with one call in 16 timed, so that reading the clock takes no
// part in the first numbers. wrong is how many calls were answered wrongly.
func Speed(processors int, d time.Duration, passes []Pass) (metrics map[string]float64, wrong int) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
	warm := time.Now()
	each(passes, func(_ int, p Pass) {
		for p(between); time.Since(warm) < d/4; {
			p(between)
		}
	})

	var before, after runtime.MemStats
	calls, wrongs := make([]int, len(passes)), make([]int, len(passes))
	runtime.ReadMemStats(&before)
	watch := begin(processors)
	each(passes, func(g int, p Pass) {
		made, failed := 0, 0
		for time.Since(watch.start) < d {
			failed += p(between)
			made += between
		}
		calls[g], wrongs[g] = made, failed
	})
	took := watch.took()
	runtime.ReadMemStats(&after)

	n := float64(max(sum(calls), 1))
	p50, p99 := latencies(d/2, passes)
	return map[string]float64{
		Nanoseconds: float64(took.Nanoseconds()) / n,
		P50:         p50,
		P99:         p99,
		Allocs:      float64(after.Mallocs-before.Mallocs) / n,
		Bytes:       float64(after.TotalAlloc-before.TotalAlloc) / n,
	}, sum(wrongs)
}

// Once lets a goroutine for each pass make n calls, on so many processors. One
// call in 64 is timed meanwhile, which costs less than a nanosecond a call. What
// allocates belongs to what is measured.
func Once(processors, n int, passes []Pass) (metrics map[string]float64, wrong int) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
	const one = 64
	wrongs, timed := make([]int, len(passes)), make([][]time.Duration, len(passes))
	for g := range timed {
		timed[g] = make([]time.Duration, 0, n/one+1)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	watch := begin(processors)
	each(passes, func(g int, p Pass) {
		for left := n; left > 0; left -= one {
			wrongs[g] += p(min(left, one) - 1)
			asked := time.Since(watch.start)
			wrongs[g] += p(1)
			timed[g] = append(timed[g], time.Since(watch.start)-asked)
		}
	})
	took := watch.took()
	runtime.ReadMemStats(&after)
	all, made := slices.Concat(timed...), float64(max(n*len(passes), 1))
	return map[string]float64{
		Nanoseconds: float64(took.Nanoseconds()) / made,
		P50:         Percentile(all, 50),
		P99:         Percentile(all, 99),
		Allocs:      float64(after.Mallocs-before.Mallocs) / made,
		Bytes:       float64(after.TotalAlloc-before.TotalAlloc) / made,
	}, sum(wrongs)
}

// latencies times one call in 16 and returns two percentiles.
func latencies(d time.Duration, passes []Pass) (p50, p99 float64) {
	timed := make([][]time.Duration, len(passes))
	start := time.Now()
	each(passes, func(g int, p Pass) {
		all := make([]time.Duration, 0, samples)
		for time.Since(start) < d && len(all) < samples {
			p(sampled - 1)
			before := time.Since(start)
			p(1)
			all = append(all, time.Since(start)-before)
		}
		timed[g] = all
	})
	all := slices.Concat(timed...)
	return Percentile(all, 50), Percentile(all, 99)
}

// Percentile sorts durations and returns one of them in nanoseconds, 0 if there
// are none.
func Percentile(all []time.Duration, percent int) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return float64(all[(len(all)-1)*percent/100].Nanoseconds())
}

// each runs f for every pass at the same time and waits for all.
func each(passes []Pass, f func(g int, p Pass)) {
	if len(passes) == 1 {
		f(0, passes[0])
		return
	}
	var wait sync.WaitGroup
	for g, p := range passes {
		wait.Go(func() { f(g, p) })
	}
	wait.Wait()
}

func sum(all []int) int {
	total := 0
	for _, n := range all {
		total += n
	}
	return total
}
