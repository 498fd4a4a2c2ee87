package algorithm_test

import (
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

// request is one request of a fault's minimal input, at seconds after the
// start of a window.
type request struct {
	at   float64
	cost int64
}

// repeat is n requests of cost 1, apart seconds apart.
func repeat(n int, from, apart float64) []request {
	all := make([]request, n)
	for i := range all {
		all[i] = request{from + float64(i)*apart, 1}
	}
	return all
}

func join(parts ...[]request) (all []request) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

const second = time.Second

// start is the beginning of a window of any of these lengths.
const start = int64(1_800_000_000_000_000)

// TestFaults has the minimal inputs of faults that published limiters had, and
// what is right.
func TestFaults(t *testing.T) {
	for _, f := range []struct {
		fault    string
		limit    ratelimit.Limit
		requests []request
		admitted int
		last     ratelimit.Result // At is not compared, ResetAfter if not 0
	}{
		{
			"a refill of whole tokens per tick rounds the budget down",
			ratelimit.TokenBucket(65535, second, 65535), repeat(11, 0, 0.1), 11,
			ratelimit.Result{Allowed: true, Limit: 65535, Remaining: 65534},
		}, {
			"a large quota",
			ratelimit.TokenBucket(1_000_000_000, second, 1_000_000_000), repeat(11, 0, 0.1), 11,
			ratelimit.Result{Allowed: true, Limit: 1_000_000_000, Remaining: 999_999_999},
		}, {
			"a clock that goes back and forth mints tokens",
			ratelimit.TokenBucket(1, second, 1),
			[]request{{10, 1}, {9, 1}, {10, 1}, {9, 1}, {10, 1}},
			1,
			ratelimit.Result{Limit: 1, RetryAfter: second},
		}, {
			"rounding refuses who waited exactly long enough",
			ratelimit.TokenBucket(1, 3600*second, 1),
			[]request{{0, 1}, {1620, 1}, {3600, 1}},
			2,
			ratelimit.Result{Allowed: true, Limit: 1},
		}, {
			"a rate of 0 divides by zero and admits all",
			ratelimit.TokenBucket(0, second, 100), repeat(200, 0, 1000), 0,
			ratelimit.Result{RetryAfter: ratelimit.Never},
		}, {
			"a queue that never moves holds a request for ever",
			ratelimit.LeakyBucket(0, second, 4), repeat(10, 0, 1000), 0,
			ratelimit.Result{RetryAfter: ratelimit.Never},
		}, {
			"impossible requests change the state",
			ratelimit.TokenBucket(1, second, 5),
			[]request{{0, 6}, {0, 5}, {0.5, 6}, {1, 1}, {1.5, 6}, {2, 1}},
			3,
			ratelimit.Result{Allowed: true, Limit: 5},
		}, {
			"a cost of the whole capacity is taken for impossible",
			ratelimit.TokenBucket(5, 5*second, 5),
			[]request{{0, 5}, {0, 5}},
			1,
			ratelimit.Result{Limit: 5, RetryAfter: 5 * second},
		}, {
			"a wait is that until the bucket is full",
			ratelimit.TokenBucket(10, 10*second, 10), repeat(11, 0, 0), 10,
			ratelimit.Result{Limit: 10, RetryAfter: second, ResetAfter: 10 * second},
		}, {
			"rounding lets in at half of the wait",
			ratelimit.TokenBucket(6, 60*second, 6), join(repeat(6, 0, 0), repeat(1, 5.1, 0)), 6,
			ratelimit.Result{Limit: 6, RetryAfter: 4900 * time.Millisecond},
		}, {
			"a reset counts from the request",
			ratelimit.FixedWindow(2, 60*second),
			[]request{{0, 1}, {10, 1}, {20, 1}},
			2,
			ratelimit.Result{Limit: 2, RetryAfter: 40 * second, ResetAfter: 40 * second},
		}, {
			"only being exactly at the limit denies",
			ratelimit.SlidingLog(10, 60*second),
			[]request{{0, 6}, {1, 6}},
			1,
			ratelimit.Result{Limit: 10, Remaining: 4, RetryAfter: 59 * second},
		}, {
			"a large cost first is forgotten",
			ratelimit.SlidingWindow(10, 60*second), join([]request{{0, 8}}, repeat(5, 1, 1)), 3,
			ratelimit.Result{Limit: 10, RetryAfter: 61 * second},
		}, {
			"the previous window's weight is lost late in the current one",
			ratelimit.SlidingWindow(100, 180*second), join(repeat(100, 179, 0), []request{{305, 70}, {305, 69}}), 101,
			ratelimit.Result{Allowed: true, Limit: 100},
		}, {
			"parts of a window expire with its first",
			ratelimit.SlidingLog(10, 3600*second), join(repeat(1, 0, 0), repeat(8, 3540, 0), repeat(9, 3660, 0)), 11,
			ratelimit.Result{Limit: 10, RetryAfter: 3480 * second},
		}, {
			"denied requests count",
			ratelimit.SlidingLog(10, 600*second), repeat(200, 0, 30), 100,
			ratelimit.Result{Limit: 10, RetryAfter: 30 * second},
		}, {
			"a sliding window snaps back at its edge",
			ratelimit.SlidingWindow(15, 180*second), join(repeat(9, 43, 0), repeat(1, 79, 0), repeat(20, 181.1, 0)), 15,
			ratelimit.Result{Limit: 15, RetryAfter: 16900 * time.Millisecond},
		}, {
			"expired while nothing ran",
			ratelimit.FixedWindow(20, 5*second), join(repeat(5, 0, 0), repeat(1, 7, 0)), 6,
			ratelimit.Result{Allowed: true, Limit: 20, Remaining: 19, ResetAfter: 3 * second},
		}, {
			"frequent calls starve the refill",
			ratelimit.TokenBucket(1, second, 1), repeat(101, 0, 0.1), 11,
			ratelimit.Result{Allowed: true, Limit: 1},
		}, {
			"a refill of one unit per window",
			ratelimit.TokenBucket(100, 60*second, 100),
			[]request{{0, 100}, {60, 100}},
			2,
			ratelimit.Result{Allowed: true, Limit: 100},
		}, {
			"the wait for a window's end does not follow the time",
			ratelimit.FixedWindow(1, 60*second),
			[]request{{0, 1}, {50, 1}},
			1,
			ratelimit.Result{Limit: 1, RetryAfter: 10 * second},
		}, {
			"each request makes the window longer",
			ratelimit.FixedWindow(60, 60*second), repeat(120, 0, 10), 120,
			ratelimit.Result{Allowed: true, Limit: 60, Remaining: 54},
		}, {
			"a long idle time overflows",
			ratelimit.TokenBucket(1000, time.Millisecond, 1000),
			[]request{{0, 1000}, {12 * 3600, 1000}, {24 * 3600, 1}},
			3,
			ratelimit.Result{Allowed: true, Limit: 1000, Remaining: 999},
		}, {
			"a cost above the capacity is told a wait that can't help",
			ratelimit.TokenBucket(3, 2*second, 3),
			[]request{{0, 4}},
			0,
			ratelimit.Result{Limit: 3, Remaining: 3, RetryAfter: ratelimit.Never},
		}, {
			"1 per hour admits 2",
			ratelimit.FixedWindow(1, 3600*second),
			[]request{{0, 1}, {0, 1}},
			1,
			ratelimit.Result{Limit: 1, RetryAfter: 3600 * second},
		}, {
			"remaining is off by one past the limit",
			ratelimit.FixedWindow(100, 60*second), repeat(101, 0, 0), 100,
			ratelimit.Result{Limit: 100, RetryAfter: 60 * second},
		}, {
			"the interval of a high rate rounds to 0",
			ratelimit.TokenBucket(3_000_000, second, 10), join(repeat(10, 0, 0), repeat(4, 1e-6, 0)), 13,
			ratelimit.Result{Limit: 10, RetryAfter: time.Microsecond},
		}, {
			"a bucket admits a burst and a window's quota: by design",
			ratelimit.TokenBucket(17, 30*second, 17), repeat(60, 0, 0.5), 33,
			ratelimit.Result{Limit: 17, RetryAfter: 500 * time.Millisecond},
		}, {
			"a weight below 1 rounds to nothing",
			ratelimit.SlidingWindow(1, second),
			[]request{{0.95, 1}, {1.05, 1}},
			1,
			ratelimit.Result{Limit: 1, RetryAfter: 950 * time.Millisecond},
		}, {
			"twice the limit around a fixed window's edge: by design",
			ratelimit.FixedWindow(10, 60*second), join(repeat(10, 59.9, 0), repeat(10, 60.1, 0)), 20,
			ratelimit.Result{Allowed: true, Limit: 10},
		}, {
			"but not around a log's",
			ratelimit.SlidingLog(10, 60*second), join(repeat(10, 59.9, 0), repeat(10, 60.1, 0)), 10,
			ratelimit.Result{Limit: 10, RetryAfter: 59800 * time.Millisecond},
		},
	} {
		t.Run(f.fault, func(t *testing.T) {
			var (
				s        algorithm.State
				r        ratelimit.Result
				admitted int
			)
			for _, q := range f.requests {
				s, r = algorithm.Step(s, start+int64(q.at*1e6+0.5), f.limit, q.cost)
				if r.Allowed {
					admitted++
				}
			}
			if admitted != f.admitted {
				t.Errorf("%v: %d admitted, want %d", f.limit, admitted, f.admitted)
			}
			r.At = 0
			if f.last.ResetAfter == 0 {
				r.ResetAfter = 0
			}
			if r != f.last {
				t.Errorf("%v: the last is answered\n%+v, want\n%+v", f.limit, r, f.last)
			}
		})
	}
}

// TestRemainingFallsByCost: with any quota, what is left never falls by more
// than was taken.
func TestRemainingFallsByCost(t *testing.T) {
	for _, quota := range []int64{1, 10, 31623, 65535, 1_000_000, 1_000_000_000} {
		limit := ratelimit.TokenBucket(quota, second, quota)
		var s algorithm.State
		before := quota
		for i := range int64(40) {
			next, r := algorithm.Step(s, start+i*100_000, limit, 1)
			if r.Allowed && r.Remaining < before-1 {
				t.Errorf("%v, request %d: %d left after %d", limit, i, r.Remaining, before)
			}
			s, before = next, r.Remaining
		}
	}
}

// TestCreditIsForItsWindow: what is given back after the window has rolled over
// is no credit for the next one.
func TestCreditIsForItsWindow(t *testing.T) {
	limit := ratelimit.FixedWindow(2, second)
	s, r := algorithm.Step(algorithm.State{}, start, limit, 1)
	s, _ = algorithm.Step(s, start+1_100_000, limit, 1)
	s = algorithm.Adjust(s, start+1_200_000, limit, r.At, 1, 0)
	s, _ = algorithm.Step(s, start+1_300_000, limit, 1)
	if _, r := algorithm.Step(s, start+1_400_000, limit, 1); r.Allowed {
		t.Error("a third request of 2 per second was admitted")
	}
}

// TestRaisedLimitCountsAtOnce: a client that was denied under a low limit is
// admitted under a higher one.
func TestRaisedLimitCountsAtOnce(t *testing.T) {
	for _, a := range algorithms {
		low, high := ratelimit.Limit{Algorithm: a, Quota: 1, Window: 60 * second}, ratelimit.Limit{Algorithm: a, Quota: 100, Window: 60 * second}
		if a == ratelimit.AlgorithmTokenBucket {
			low.Burst, high.Burst = 1, 100
		}
		s, _ := algorithm.Step(algorithm.State{}, start, low, 1)
		s, r := algorithm.Step(s, start+1_000_000, low, 1)
		if r.Allowed {
			t.Errorf("%v: 2 of 1 admitted", a)
		}
		if _, r = algorithm.Step(s, start+3_000_000, high, 1); !r.Allowed {
			t.Errorf("%v: denied under a limit of 100: %+v", a, r)
		}
	}
}

// TestCheckAndTakeAgree: a look answers whether the next request would pass.
func TestCheckAndTakeAgree(t *testing.T) {
	for _, a := range algorithms {
		limit := ratelimit.Limit{Algorithm: a, Quota: 1, Window: 3600 * second}
		if a == ratelimit.AlgorithmTokenBucket {
			limit.Burst = 1
		}
		if r := algorithm.Look(algorithm.State{}, start, limit, 1); !r.Allowed || r.Remaining != 1 {
			t.Errorf("%v: a look at a fresh key: %+v", a, r)
		}
		s, _ := algorithm.Step(algorithm.State{}, start, limit, 1)
		if r := algorithm.Look(s, start, limit, 1); r.Allowed || r.Remaining != 0 {
			t.Errorf("%v: a look at a used key: %+v", a, r)
		}
		if r := algorithm.Look(s, start, limit, 0); !r.Allowed {
			t.Errorf("%v: a cost of 0 at a full key: %+v", a, r)
		}
	}
}
