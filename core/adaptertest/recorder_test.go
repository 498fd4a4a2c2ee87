package adaptertest

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// recorder is a tester that notes what a case reports, so that a test can
// expect it to fail.
type recorder struct {
	testing.TB
	ctx context.Context

	mu       sync.Mutex
	failed   bool
	text     []string
	cleanups []func()
}

// record runs f as if it were a test and returns what came of it.
func record(t testing.TB, f func(tester)) *recorder {
	root := &recorder{TB: t, ctx: t.Context()}
	root.run("", f)
	return root
}

func (r *recorder) run(_ string, f func(tester)) bool {
	ctx, cancel := context.WithCancel(r.ctx)
	child := &recorder{TB: r.TB, ctx: ctx}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				child.Errorf("the suite itself panicked: %v", p)
			}
			cancel()
			for i := len(child.cleanups) - 1; i >= 0; i-- {
				child.cleanups[i]()
			}
		}()
		f(child)
	}()
	<-done
	r.text = append(r.text, child.text...)
	r.failed = r.failed || child.failed
	return !child.failed
}

func (r *recorder) Helper()                  {}
func (r *recorder) Context() context.Context { return r.ctx }
func (r *recorder) Cleanup(f func())         { r.cleanups = append(r.cleanups, f) }

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

func (r *recorder) Fail() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
}

func (r *recorder) Log(args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text = append(r.text, fmt.Sprint(args...))
}

func (r *recorder) FailNow()                          { r.Fail(); runtime.Goexit() }
func (r *recorder) Logf(format string, args ...any)   { r.Log(fmt.Sprintf(format, args...)) }
func (r *recorder) Error(args ...any)                 { r.Log(args...); r.Fail() }
func (r *recorder) Errorf(format string, args ...any) { r.Logf(format, args...); r.Fail() }
func (r *recorder) Fatal(args ...any)                 { r.Log(args...); r.FailNow() }
func (r *recorder) Fatalf(format string, args ...any) { r.Logf(format, args...); r.FailNow() }

// output is all that was reported.
func (r *recorder) output() string { return strings.Join(r.text, "\n") }
