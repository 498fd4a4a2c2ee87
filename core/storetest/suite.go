package storetest

import (
	"fmt"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// suite is one case on its way: the test, a fresh store and its clock.
type suite struct {
	tester
	h     Harness
	clock *Clock // nil in real time
	store ratelimit.Store
	// window is long enough that in real time nothing comes back while a case
	// runs.
	window time.Duration
}

func newSuite(t tester, h Harness) *suite {
	t.Helper()
	s := &suite{tester: t, h: h, window: time.Minute}
	if h.RealTime {
		s.window = ratelimit.MaxWindow
	} else {
		s.clock = newClock()
	}
	s.reopen()
	return s
}

// reopen goes on with a fresh store.
func (s *suite) reopen() {
	s.Helper()
	s.store = s.h.New(s, s.clock)
	if s.store == nil {
		s.Fatal("Harness.New returned nil")
	}
}

// begin moves the clock to the next instant that lies 10 seconds after a full
// hour and returns it, so that a case knows where in its windows it starts.
func (s *suite) begin() int64 {
	const hour = int64(time.Hour / time.Microsecond)
	now := s.clock.UnixMicro()
	at := now + (start-now%hour+hour)%hour
	s.clock.set(at)
	return at
}

// sub runs f as a subtest on the same store.
func (s *suite) sub(name string, f func(s *suite)) {
	s.Helper()
	s.run(name, func(t tester) {
		sub := *s
		sub.tester = t
		f(&sub)
	})
}

var algorithms = [...]ratelimit.Algorithm{
	ratelimit.AlgorithmFixedWindow, ratelimit.AlgorithmSlidingWindow, ratelimit.AlgorithmSlidingLog,
	ratelimit.AlgorithmTokenBucket, ratelimit.AlgorithmLeakyBucket,
}

// limitOf is a limit of a fresh key's capacity, all of which comes back within
// one window.
func limitOf(a ratelimit.Algorithm, capacity int64, window time.Duration) ratelimit.Limit {
	l := ratelimit.Limit{Algorithm: a, Quota: capacity, Window: window}
	switch a {
	case ratelimit.AlgorithmTokenBucket:
		l.Burst = capacity
	case ratelimit.AlgorithmLeakyBucket:
		l.Burst = capacity - 1
	}
	return l
}

// each runs f for every algorithm; limit makes that algorithm's limit.
func (s *suite) each(f func(s *suite, limit func(capacity int64) ratelimit.Limit)) {
	s.Helper()
	for _, a := range algorithms {
		s.sub(a.String(), func(s *suite) {
			f(s, func(capacity int64) ratelimit.Limit { return limitOf(a, capacity, s.window) })
		})
	}
}

// on is an enforcing charge under the policy "policy".
func on(who string, l ratelimit.Limit, cost int64) ratelimit.Charge {
	return ratelimit.Charge{Policy: "policy", Partition: ratelimit.Partition(who), Limit: l, Cost: cost}
}

// as is c in another mode.
func as(mode ratelimit.Mode, c ratelimit.Charge) ratelimit.Charge {
	c.Mode = mode
	return c
}

// under is c of another policy.
func under(policy string, c ratelimit.Charge) ratelimit.Charge {
	c.Policy = policy
	return c
}

// changed is the adjustment of what c charged, answered with r.
func changed(c ratelimit.Charge, r ratelimit.Result, newCost int64) ratelimit.Adjustment {
	return ratelimit.Adjustment{
		Policy: c.Policy, Partition: c.Partition, Limit: c.Limit, At: r.At, Cost: c.Cost, NewCost: newCost,
	}
}

// take asks the store, which must not fail.
func (s *suite) take(charges ...ratelimit.Charge) []ratelimit.Result {
	s.Helper()
	return s.takeFrom(s.store, charges...)
}

func (s *suite) takeFrom(store ratelimit.Store, charges ...ratelimit.Charge) []ratelimit.Result {
	s.Helper()
	results := make([]ratelimit.Result, len(charges))
	for i := range results {
		// A store has to fill in all of a result, not what it thinks is unset.
		results[i] = ratelimit.Result{Allowed: i%2 == 0, Limit: -7, Remaining: -7, RetryAfter: -7, ResetAfter: -7, Delay: -7, At: -7}
	}
	if err := store.Take(s.Context(), charges, results); err != nil {
		s.Fatalf("Take%v: %v", charges, err)
	}
	return results
}

// admit takes one charge that must fit.
func (s *suite) admit(c ratelimit.Charge) ratelimit.Result {
	s.Helper()
	r := s.take(c)[0]
	if !r.Allowed {
		s.Fatalf("%s: denied with %s, want it admitted", show(c), showResult(r))
	}
	return r
}

// deny takes one charge that must not fit.
func (s *suite) deny(c ratelimit.Charge) ratelimit.Result {
	s.Helper()
	r := s.take(c)[0]
	if r.Allowed {
		s.Fatalf("%s: admitted with %s, want it denied", show(c), showResult(r))
	}
	return r
}

// look asks with a cost of 0 what is left under c's key.
func (s *suite) look(c ratelimit.Charge) ratelimit.Result {
	s.Helper()
	c.Cost, c.Mode = 0, ratelimit.ModeEnforce
	return s.take(c)[0]
}

// left checks how much is left under c's key; what says after what.
func (s *suite) left(want int64, c ratelimit.Charge, what string) {
	s.Helper()
	if got := s.look(c).Remaining; got != want {
		s.Errorf("%s: %s left %s, want %d", what, c.Limit.Algorithm, remains(got, c), want)
	}
}

func remains(n int64, c ratelimit.Charge) string {
	return fmt.Sprintf("%d of %d under policy %q, partition %.60q", n, c.Limit.Capacity(), c.Policy, string(c.Partition))
}

func (s *suite) adjust(adjustments ...ratelimit.Adjustment) {
	s.Helper()
	if err := s.store.Adjust(s.Context(), adjustments); err != nil {
		s.Fatalf("Adjust%+v: %v", adjustments, err)
	}
}

func (s *suite) reset(keys ...ratelimit.Key) {
	s.Helper()
	if err := s.store.Reset(s.Context(), keys); err != nil {
		s.Fatalf("Reset%+v: %v", keys, err)
	}
}

func show(c ratelimit.Charge) string {
	return fmt.Sprintf("cost %d (mode %d) of %s under policy %q, partition %.60q", c.Cost, c.Mode, showLimit(c.Limit), c.Policy, string(c.Partition))
}

func showLimit(l ratelimit.Limit) string {
	text := fmt.Sprintf("%s %d per %v", l.Algorithm, l.Quota, l.Window)
	if l.Algorithm.Bucket() {
		text += fmt.Sprintf(" burst %d", l.Burst)
	}
	return text
}

func showResult(r ratelimit.Result) string {
	return fmt.Sprintf("{allowed %t, limit %d, remaining %d, retry after %s, reset after %s, delay %v, at %d}",
		r.Allowed, r.Limit, r.Remaining, showWait(r.RetryAfter), showWait(r.ResetAfter), r.Delay, r.At)
}

func showWait(d time.Duration) string {
	if d == ratelimit.Never {
		return "never"
	}
	return d.String()
}
