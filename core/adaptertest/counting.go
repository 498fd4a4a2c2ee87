package adaptertest

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// countingCases are about exact counts over real connections.
func countingCases() []testCase {
	return []testCase{
		{
			name: "counting/parallel",
			why:  "500 requests at once admit exactly the limit, by one policy or by several",
			f: func(s *suite) {
				burst(s, 500, 100, ratelimit.Policy{Name: "ip", Limit: ratelimit.PerHour(100)})
				burst(s, 200, 40,
					ratelimit.Policy{Name: "ip", Limit: ratelimit.PerHour(60)},
					ratelimit.Policy{Name: "all", Key: ratelimit.ByConstant("all"), Limit: ratelimit.FixedWindow(40, time.Hour)},
					ratelimit.Policy{Name: "route", Key: ratelimit.ByRoute(), Limit: ratelimit.TokenBucket(1, time.Hour, 50)})
			},
		},
		{
			name: "counting/ten-times",
			why:  "ten times the limit in one burst is answered exactly, by each algorithm",
			f: func(s *suite) {
				const quota = 20
				for _, limit := range []ratelimit.Limit{
					ratelimit.FixedWindow(quota, time.Hour), ratelimit.SlidingWindow(quota, time.Hour), ratelimit.SlidingLog(quota, time.Hour),
					ratelimit.TokenBucket(quota, time.Hour, quota), ratelimit.LeakyBucket(1000, time.Second, quota-1),
				} {
					burst(s, 10*quota, quota, ratelimit.Policy{Name: limit.Algorithm.String(), Limit: limit})
				}
			},
		},
		{
			name: "counting/held-back",
			why:  "a request that a leaky bucket admits for later runs its handler no sooner",
			f: func(s *suite) {
				const delay = 30 * time.Millisecond
				held := ratelimit.Result{Allowed: true, Limit: 10, Remaining: 8, Delay: delay, ResetAfter: time.Second, At: instant}
				var ran atomic.Pointer[time.Time]
				site := onRoutes(s.limiter(NewScript(answers(held)), perIP), func(x Exchange) error {
					now := time.Now()
					ran.CompareAndSwap(nil, &now) // when it ran first
					return x.Respond(http.StatusOK, "")
				})
				v := s.serve(site)
				sent := time.Now()
				v.get("/u/1").is(s, "a request that was held back", http.StatusOK)
				if waited := ran.Load().Sub(sent); waited < delay {
					s.Errorf("the handler ran after %v, want at least %v", waited, delay)
				}
			},
		},
	}
}

// burst sends n requests at the same time, of which want are to be admitted.
func burst(s *suite, n int, want int64, policies ...ratelimit.Policy) {
	s.Helper()
	handler := ok()
	v := s.serve(onRoutes(s.limiter(newModel(), ratelimit.Policies(policies)), handler.handle))
	v.client(usualPeer).transport.MaxConnsPerHost = 50
	var admitted, refused, lost atomic.Int64
	var all sync.WaitGroup
	start := make(chan struct{})
	for range n {
		all.Go(func() {
			<-start
			switch a, err := v.try(request{path: "/u/1"}); {
			case err != nil:
				lost.Add(1)
				s.Errorf("one of %d requests at once: %v", n, err)
			case a.status == http.StatusOK:
				admitted.Add(1)
			case a.status == http.StatusTooManyRequests:
				refused.Add(1)
			}
		})
	}
	close(start)
	all.Wait()
	equal(s, policies[0].Name+": admitted", admitted.Load(), want)
	equal(s, policies[0].Name+": refused", refused.Load(), int64(n)-want)
	handler.ran(s, want)
}
