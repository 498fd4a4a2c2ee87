package measure

import (
	"fmt"
	"syscall"
	"time"
)

// CPU is the processor time that this process has used.
func CPU() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("measure: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

// stopwatch measures how long something takes on so many processors: by the
// clock, but on one processor by what was used of it. That is the same, except
// that other programs on the machine take no part in it.
type stopwatch struct {
	processors int
	start      time.Time
	cpu        time.Duration
	err        error
}

func begin(processors int) stopwatch {
	w := stopwatch{processors: processors}
	w.cpu, w.err = CPU()
	w.start = time.Now()
	return w
}

func (w *stopwatch) took() time.Duration {
	elapsed := time.Since(w.start)
	if used, err := CPU(); w.processors == 1 && w.err == nil && err == nil {
		return used - w.cpu
	}
	return elapsed
}
