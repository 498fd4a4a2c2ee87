package adapter_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/adapter"
	"github.com/go-floodgate/floodgate/core/adaptertest"
)

// get is a request of nobody in particular.
type get struct{}

func (get) Context() context.Context { return context.Background() }
func (get) Method() string           { return http.MethodGet }
func (get) Route() (string, bool)    { return "/", true }
func (get) RemoteAddr() string       { return "192.0.2.1:4711" }
func (get) Header(_ string) []string { return nil }

// passed begins a passage under a policy that counts these requests.
func passed(t *testing.T, counts ratelimit.Outcome) (*adapter.Passage[get], *adaptertest.Script) {
	t.Helper()
	script := adaptertest.NewScript(adaptertest.Step{Results: []ratelimit.Result{{Allowed: true, Limit: 10, Remaining: 9}}})
	l, err := ratelimit.New(script, ratelimit.Policy{Name: "p", Limit: ratelimit.PerMinute(10), Counts: counts})
	if err != nil {
		t.Fatal(err)
	}
	p := new(adapter.Passage[get])
	if !adapter.New[get]("test", l, nil).Begin(p, get{}, get{}, make(http.Header)) {
		t.Fatal("the request is refused")
	}
	return p, script
}

func TestRun(t *testing.T) {
	own := errors.New("the handler's own")
	for _, c := range []struct {
		err  error
		back int
	}{{nil, 1}, {own, 0}} {
		p, script := passed(t, ratelimit.CountFailures)
		var told error
		err := p.Run(func() error { return c.err }, func(err error, finish func(int)) {
			told = err
			if err != nil {
				finish(http.StatusTeapot)
			} else {
				finish(http.StatusOK)
			}
		})
		if err != c.err || told != c.err { //nolint:errorlint // it must be the same one
			t.Errorf("a handler that returns %v: Run returned %v, ended was told of %v", c.err, err, told)
		}
		if n := len(script.Adjustments()); n != c.back {
			t.Errorf("a handler that returns %v: %d given back, want %d", c.err, n, c.back)
		}
	}
}

// An error may be answered when Run has returned.
func TestRunThatIsAnsweredLater(t *testing.T) {
	for status, back := range map[int]int{http.StatusOK: 1, http.StatusUnauthorized: 0} {
		p, script := passed(t, ratelimit.CountFailures)
		var later func(int)
		_ = p.Run(func() error { return errors.New("the handler's own") }, func(_ error, finish func(int)) { later = finish })
		if n := len(script.Adjustments()); n != 0 {
			t.Errorf("%d given back before the answer", n)
		}
		later(status)
		later(http.StatusOK) // a second time it does nothing
		if n := len(script.Adjustments()); n != back {
			t.Errorf("answered with %d: %d given back, want %d", status, n, back)
		}
	}
}

func TestRunInAPanic(t *testing.T) {
	p, script := passed(t, ratelimit.CountSuccesses)
	func() {
		defer func() {
			if got := recover(); got != "the handler's" {
				t.Errorf("the panic is %v", got)
			}
		}()
		_ = p.Run(func() error { panic("the handler's") }, func(error, func(int)) { t.Error("a panic is no end") })
	}()
	if n := len(script.Adjustments()); n != 1 {
		t.Errorf("%d given back after a panic, want 1", n)
	}
}

func TestRunWithoutNeed(t *testing.T) {
	p, _ := passed(t, ratelimit.CountEverything)
	ran := 0
	if err := p.Run(func() error { ran++; return nil }, nil); err != nil || ran != 1 {
		t.Errorf("the handler ran %d times, error %v", ran, err)
	}
}

func TestCloned(t *testing.T) {
	text := strings.Repeat("x", 100)
	told := func(int) string { return text }
	cloned := adapter.Cloned([]adapter.Config[int]{{User: told, Account: told, Route: told}})
	for name, f := range map[string]func(int) string{"User": cloned[0].User, "Account": cloned[0].Account, "Route": cloned[0].Route} {
		if got := f(0); got != text {
			t.Errorf("%s: got %q", name, got)
		}
		if testing.AllocsPerRun(10, func() { f(0) }) == 0 {
			t.Errorf("%s: what is returned is not a copy", name)
		}
	}
	some := adapter.Cloned([]adapter.Config[int]{{Skip: func(int) bool { return true }}})
	if c := some[0]; c.User != nil || c.Account != nil || c.Route != nil || c.OnDeny != nil || c.Skip == nil {
		t.Errorf("a config with Skip alone becomes %+v", c)
	}
	if none := adapter.Cloned[int](nil); len(none) != 0 {
		t.Errorf("no config becomes %d", len(none))
	}
}
