package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"text/tabwriter"
	"time"
)

// measurement is what one contender did in a while.
type measurement struct {
	perSecond            float64
	p50, p99             time.Duration
	allocs               float64
	clientCPU, serverCPU float64 // microseconds per decision
}

// measure lets a contender decide for a while.
func (b *bench) measure(goroutines int, c contender) (measurement, error) {
	var (
		stop      atomic.Bool
		failure   atomic.Pointer[error]
		wait      sync.WaitGroup
		latencies = make([][]time.Duration, goroutines)
		counts    = make([]int, goroutines)
		before    runtime.MemStats
		after     runtime.MemStats
	)
	runtime.GC()
	runtime.ReadMemStats(&before)
	server, err := b.server.cpu()
	if err != nil {
		return measurement{}, err
	}
	client := cpuTime()
	start := time.Now()
	for g := range goroutines {
		latencies[g] = make([]time.Duration, 0, 1<<14)
		wait.Go(func() {
			ctx := context.Background()
			for i := g; !stop.Load(); i += goroutines {
				asked := time.Now()
				if err := c.ask(ctx, i); err != nil {
					failure.Store(&err)
					return
				}
				if n := len(latencies[g]); n < cap(latencies[g]) {
					latencies[g] = append(latencies[g], time.Since(asked))
				}
				counts[g]++
			}
		})
	}
	time.Sleep(b.each)
	stop.Store(true)
	wait.Wait()
	took := time.Since(start)
	if err := failure.Load(); err != nil {
		return measurement{}, *err
	}
	clientUsed := cpuTime() - client
	serverNow, err := b.server.cpu()
	if err != nil {
		return measurement{}, err
	}
	runtime.ReadMemStats(&after)

	total := 0
	for _, n := range counts {
		total += n
	}
	all := slices.Concat(latencies...)
	slices.Sort(all)
	n := float64(max(total, 1))
	return measurement{
		perSecond: n / took.Seconds(),
		p50:       all[len(all)/2], p99: all[len(all)*99/100],
		allocs:    (float64(after.Mallocs-before.Mallocs) - float64(goroutines)) / n,
		clientCPU: clientUsed * 1e6 / n, serverCPU: (serverNow - server) * 1e6 / n,
	}, nil
}

// cpuTime is what this process has used, in seconds.
func cpuTime() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

// report prints medians. What is compared with the first contender is compared
// round by round, and the median of that is printed: what drifts from round to
// round has no part in it.
func report(to io.Writer, contenders []contender, series [][]measurement) {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tdecisions/s\tratio\tspread\tp50 µs\tp99 µs\tp99 ratio\tallocs\tclient µs\tserver µs\t")
	for i, c := range contenders {
		m := medians(series[i])
		fmt.Fprintf(w, "%s\t%.0f\t%.2f\t%.0f%%\t%.0f\t%.0f\t%.2f\t%.1f\t%.1f\t%.1f\t\n", c.name, m.perSecond,
			ratio(series[i], series[0], func(m measurement) float64 { return m.perSecond }), spread(series[i]),
			micros(m.p50), micros(m.p99), ratio(series[i], series[0], func(m measurement) float64 { return float64(m.p99) }),
			m.allocs, m.clientCPU, m.serverCPU)
	}
	_ = w.Flush()
}

// ratio is the median, over the rounds, of one contender's value by another's.
func ratio(all, base []measurement, value func(measurement) float64) float64 {
	ratios := make([]float64, len(all))
	for i := range all {
		ratios[i] = value(all[i]) / value(base[i])
	}
	return median(ratios)
}

func median(values []float64) float64 {
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func medians(all []measurement) measurement {
	of := func(value func(measurement) float64) float64 {
		values := make([]float64, len(all))
		for i, m := range all {
			values[i] = value(m)
		}
		return median(values)
	}
	return measurement{
		perSecond: of(func(m measurement) float64 { return m.perSecond }),
		p50:       time.Duration(of(func(m measurement) float64 { return float64(m.p50) })),
		p99:       time.Duration(of(func(m measurement) float64 { return float64(m.p99) })),
		allocs:    of(func(m measurement) float64 { return m.allocs }),
		clientCPU: of(func(m measurement) float64 { return m.clientCPU }),
		serverCPU: of(func(m measurement) float64 { return m.serverCPU }),
	}
}

// spread is how far the throughputs lie apart, in percent of the median.
func spread(all []measurement) float64 {
	low, high := all[0].perSecond, all[0].perSecond
	for _, m := range all {
		low, high = min(low, m.perSecond), max(high, m.perSecond)
	}
	return 100 * (high - low) / medians(all).perSecond
}
