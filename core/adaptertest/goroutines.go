package adaptertest

import (
	"runtime"
	"strings"
	"time"
)

// goroutines returns the stacks of all goroutines by their number. Of those
// that come later only the ones that run, or were started by, code of this
// project count: a server may keep some of its own.
func goroutines() map[string]string {
	buf := make([]byte, 1<<16)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			buf = buf[:n]
			break
		}
		buf = make([]byte, 2*len(buf))
	}
	all := make(map[string]string)
	for stack := range strings.SplitSeq(string(buf), "\n\n") {
		head, _, _ := strings.Cut(stack, " [")
		all[head] = stack
	}
	return all
}

// noGoroutineSince checks that no goroutine of this project is left that was
// not there before. Servers and clients have been closed; what they still do
// to end has no signal that could be waited for.
func (s *suite) noGoroutineSince(before map[string]string) {
	s.Helper()
	var left []string
	for deadline := time.Now().Add(s.patience); ; time.Sleep(time.Millisecond) {
		left = left[:0]
		for number, stack := range goroutines() {
			if _, known := before[number]; !known && strings.Contains(stack, "go-floodgate/floodgate/") && !strings.Contains(stack, "noGoroutineSince") {
				left = append(left, stack)
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			break
		}
	}
	s.Errorf("%d goroutines outlive the case:\n%s", len(left), strings.Join(left, "\n\n"))
}
