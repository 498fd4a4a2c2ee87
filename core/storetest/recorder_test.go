package storetest

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// recorder is a tester that notes what a case reports, so that a test can
// expect it to fail.
type recorder struct {
	testing.TB
	name     string
	failed   bool
	text     []string
	cleanups []func()
	ctx      context.Context
	failures *[]string // names of what failed, shared by all subtests
}

// record runs f as if it were a test and returns what came of it.
func record(t testing.TB, f func(tester)) *recorder {
	root := &recorder{TB: t, ctx: t.Context(), failures: new([]string)}
	root.run("", f)
	return root
}

func (r *recorder) run(name string, f func(tester)) bool {
	ctx, cancel := context.WithCancel(r.ctx)
	child := &recorder{TB: r.TB, name: strings.TrimPrefix(r.name+"/"+name, "/"), ctx: ctx, failures: r.failures}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				child.Errorf("panic: %v", p)
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
	if child.failed {
		r.failed = true
		*r.failures = append(*r.failures, child.name)
	}
	return !child.failed
}

func (r *recorder) Name() string             { return r.name }
func (*recorder) Helper()                    {}
func (r *recorder) Context() context.Context { return r.ctx }
func (r *recorder) Cleanup(f func())         { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Failed() bool             { return r.failed }
func (r *recorder) Fail()                    { r.failed = true }
func (r *recorder) FailNow()                 { r.failed = true; runtime.Goexit() }
func (r *recorder) Log(args ...any)          { r.text = append(r.text, r.name+": "+fmt.Sprint(args...)) }

func (r *recorder) Logf(format string, args ...any) {
	r.Log(fmt.Sprintf(format, args...))
}
func (r *recorder) Error(args ...any) { r.Log(args...); r.Fail() }
func (r *recorder) Errorf(format string, args ...any) {
	r.Logf(format, args...)
	r.Fail()
}
func (r *recorder) Fatal(args ...any) { r.Log(args...); r.FailNow() }
func (r *recorder) Fatalf(format string, args ...any) {
	r.Logf(format, args...)
	r.FailNow()
}

// output is all that was reported.
func (r *recorder) output() string { return strings.Join(r.text, "\n") }
