package storetest

import (
	"fmt"
	"math/rand/v2"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// admission is one admitted request; history is all of one key, oldest first.
type (
	admission struct {
		at, cost int64
		release  int64 // when a leaky bucket let it go on
	}
	history []admission
)

// fits decides a request by adding up everything that was admitted before it.
func (h history) fits(l ratelimit.Limit, at, cost int64) bool {
	window := l.Window.Microseconds()
	previous, current, inView := int64(0), int64(0), int64(0)
	debt, last := int64(0), int64(0) // of a bucket, in 1/window units
	for _, a := range h {
		switch a.at / window {
		case at / window:
			current += a.cost
		case at/window - 1:
			previous += a.cost
		}
		if at-a.at < window {
			inView += a.cost
		}
		debt = max(0, debt-(a.at-last)*l.Quota) + a.cost*window
		last = a.at
	}
	switch l.Algorithm {
	case ratelimit.AlgorithmFixedWindow:
		return current+cost <= l.Quota
	case ratelimit.AlgorithmSlidingLog:
		return inView+cost <= l.Quota
	case ratelimit.AlgorithmSlidingWindow:
		return previous*(window-at%window)+(current+cost)*window <= l.Quota*window
	default:
		return max(0, debt-(at-last)*l.Quota)+cost*window <= l.Capacity()*window
	}
}

// excess names a span in which more was admitted than the algorithm promises,
// or is empty. The bounds are those of the documentation, not of the decision:
//
//	fixed window     quota in each aligned window, so 2*quota in any span of one window
//	sliding log      quota in any span of one window
//	sliding window   quota + previous*elapsed/window in the window before any instant, previous being the
//	                 units of the last aligned window and elapsed the part of this one that is over
//	buckets          capacity + quota*span/window in any span; a leaky bucket's releases are window/quota apart
func (h history) excess(l ratelimit.Limit) string {
	window := l.Window.Microseconds()
	for i := range h {
		sum := int64(0)
		for j := i; j < len(h); j++ {
			sum += h[j].cost
			span := h[j].at - h[i].at
			most := int64(-1) // in 1/window units
			switch {
			case l.Algorithm.Bucket():
				most = l.Capacity()*window + span*l.Quota
			case span >= window:
			case l.Algorithm == ratelimit.AlgorithmSlidingLog, l.Algorithm == ratelimit.AlgorithmFixedWindow && h[i].at/window == h[j].at/window:
				most = l.Quota * window
			case l.Algorithm == ratelimit.AlgorithmFixedWindow:
				most = 2 * l.Quota * window
			default:
				most = l.Quota*window + h[:j].inWindow(h[j].at/window-1, window)*(h[j].at%window)
			}
			if most >= 0 && sum*window > most {
				return fmt.Sprintf("%d units within %dµs from %d on", sum, span, h[i].at)
			}
		}
		if l.Algorithm != ratelimit.AlgorithmLeakyBucket || i == 0 {
			continue
		}
		// A release is rounded up to a microsecond.
		if apart := h[i].release - h[i-1].release; (apart+1)*l.Quota < h[i-1].cost*window {
			return fmt.Sprintf("releases %dµs apart after a cost of %d, at %d", apart, h[i-1].cost, h[i].at)
		}
	}
	return ""
}

func (h history) inWindow(n, window int64) (units int64) {
	for _, a := range h {
		if a.at/window == n {
			units += a.cost
		}
	}
	return units
}

func caseCounts(s *suite) {
	for _, seed := range s.seeds(1) {
		s.sub(fmt.Sprint("seed_", seed), func(s *suite) {
			s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
				rnd := rand.New(rand.NewPCG(seed, uint64(limit(1).Algorithm)))
				for _, quota := range []int64{1, 7, 50} {
					l := limitOf(limit(1).Algorithm, quota, pick(rnd, 97*time.Millisecond, time.Second, 7*time.Second))
					if l.Algorithm.Bucket() {
						l.Burst = 1 + rnd.Int64N(20)
					}
					s.begin()
					s.count(rnd, on(fmt.Sprint("seed ", seed, " quota ", quota), l, 1))
				}
			})
		})
	}
}

// count sends c at random instants and costs and keeps its own account.
func (s *suite) count(rnd *rand.Rand, c ratelimit.Charge) {
	s.Helper()
	var h history
	window, capacity := c.Limit.Window.Microseconds(), c.Limit.Capacity()
	admit := func(r ratelimit.Result) {
		now := s.clock.UnixMicro()
		h = append(h, admission{at: now, cost: c.Cost, release: now + r.Delay.Microseconds()})
	}
	for i := range 80 {
		switch rnd.IntN(4) {
		case 0:
			s.clock.advance(time.Duration(rnd.Int64N(window/c.Limit.Quota+1)) * time.Microsecond)
		case 1:
			s.clock.advance(time.Duration(rnd.Int64N(window/2)) * time.Microsecond)
		}
		c.Cost = 1
		if rnd.IntN(3) == 0 {
			c.Cost += rnd.Int64N(capacity + 1)
		}
		now := s.clock.UnixMicro()
		r := s.take(c)[0]
		if want := h.fits(c.Limit, now, c.Cost); r.Allowed != want {
			s.Fatalf("request %d at %d, %s: %s, but by a count of all before it allowed is %t", i, now, show(c), showResult(r), want)
		}
		switch {
		case r.Allowed:
			admit(r)
		case (r.RetryAfter == ratelimit.Never) != (c.Cost > capacity):
			s.Fatalf("request %d, %s: %s, want retry after never exactly if the cost is above the capacity", i, show(c), showResult(r))
		case r.RetryAfter != ratelimit.Never && rnd.IntN(3) == 0:
			// A peek, so that a wrong answer is seen and not counted.
			s.clock.advance(r.RetryAfter - time.Microsecond)
			if early := s.take(as(peek, c))[0]; early.Allowed || early.RetryAfter != time.Microsecond {
				s.Fatalf("request %d, %s, denied with %s: a microsecond early %s", i, show(c), showResult(r), showResult(early))
			}
			s.clock.advance(time.Microsecond)
			waited := s.take(c)[0]
			if !waited.Allowed {
				s.Fatalf("request %d, %s, denied with %s: having waited it is denied with %s", i, show(c), showResult(r), showResult(waited))
			}
			admit(waited)
		}
	}
	if what := h.excess(c.Limit); what != "" {
		s.Errorf("%s admitted too much: %s", showLimit(c.Limit), what)
	}
}
