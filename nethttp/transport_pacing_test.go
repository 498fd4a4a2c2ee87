package httplimit_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/memstore"
	httplimit "github.com/go-floodgate/floodgate/nethttp"
)

// limited is a server with a limit, some milliseconds away.
type limitedServer struct {
	handler http.Handler
	// work is how long the handler takes, transit how long a request and a
	// response are on their way at most.
	work, transit time.Duration
	received      atomic.Int64
	refused       atomic.Int64
}

func newLimitedServer(t testing.TB, limit ratelimit.Limit, cost int64, work time.Duration) *limitedServer {
	s := &limitedServer{work: work, transit: 5 * time.Millisecond}
	l := newLimiter(t, memstore.New(), ratelimit.Policy{
		Name: "all", Key: ratelimit.ByConstant("all"), Limit: limit,
		Cost: func(*ratelimit.Request) int64 { return cost },
	})
	s.handler = httplimit.Wrap(l, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(s.work) }))
	return s
}

func (s *limitedServer) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(rand.N(s.transit))
	s.received.Add(1)
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		s.refused.Add(1)
	}
	time.Sleep(rand.N(s.transit))
	return w.Result(), nil
}

// offered is how many requests offer sends, each second perSecond.
const offered, perSecond = 120, 60

// offer sends requests, one after the other, each through the next of the
// transports, and returns how many succeeded.
func offer(t testing.TB, transports ...http.RoundTripper) (succeeded int64) {
	var all sync.WaitGroup
	var good atomic.Int64
	for i := range offered {
		all.Go(func() {
			if sendGet(t, transports[i%len(transports)]) == http.StatusOK {
				good.Add(1)
			}
		})
		time.Sleep(time.Second / perSecond)
	}
	all.Wait()
	return good.Load()
}

var limits = []ratelimit.Limit{
	ratelimit.TokenBucket(20, time.Second, 20),
	ratelimit.TokenBucket(20, time.Second, 5),
	ratelimit.LeakyBucket(20, time.Second, 4),
	ratelimit.SlidingWindow(20, time.Second),
	ratelimit.FixedWindow(20, time.Second),
	ratelimit.SlidingLog(20, time.Second),
	ratelimit.TokenBucket(300, time.Minute, 30),
}

// At three times the limit every request succeeds, and one transport is never
// refused: it slows down before.
func TestSlowsDownBeforeItIsRefused(t *testing.T) {
	for _, limit := range limits {
		t.Run(limit.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newLimitedServer(t, limit, 1, 0)
				got := offer(t, &httplimit.Transport{Base: s})
				if got != offered || s.refused.Load() > 0 {
					t.Errorf("%d of %d succeeded, %d were refused on the way", got, offered, s.refused.Load())
				}
			})
		})
	}
}

// Several clients who don't know of each other share the limit.
func TestSeveralClients(t *testing.T) {
	for _, limit := range limits {
		t.Run(limit.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newLimitedServer(t, limit, 1, 0)
				var clients []http.RoundTripper
				for range 3 {
					clients = append(clients, &httplimit.Transport{Base: s})
				}
				got := offer(t, clients...)
				if got != offered || s.refused.Load() > offered/5 {
					t.Errorf("%d of %d succeeded, %d were refused on the way", got, offered, s.refused.Load())
				}
			})
		})
	}
}

// That a request costs more than one unit shows in what is left.
func TestCostly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLimitedServer(t, ratelimit.SlidingWindow(200, 2*time.Second), 5, 0)
		if got := offer(t, &httplimit.Transport{Base: s}); got != offered || s.refused.Load() > offered/8 {
			t.Errorf("%d of %d succeeded, %d were refused on the way", got, offered, s.refused.Load())
		}
	})
}

// Requests go in the order they came, and one that was refused keeps its place.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{latency: 50 * time.Millisecond, answers: []answer{{status: refused, fields: "Retry-After: 5"}}}
		for range 10 {
			s.answers = append(s.answers, answer{status: 200, fields: `RateLimit: "p";r=2;t=1`})
		}
		transport := &httplimit.Transport{Base: s}
		var all sync.WaitGroup
		defer all.Wait()
		for i := range 10 {
			all.Go(func() {
				res, err := transport.RoundTrip(request(t, t.Context(), http.MethodPut, strings.NewReader(strconv.Itoa(i))))
				if err != nil {
					t.Error(err)
					return
				}
				res.Body.Close()
			})
			time.Sleep(10 * time.Millisecond)
		}
		all.Wait()
		for i, sent := range s.sent[1:] {
			if sent.body != strconv.Itoa(i) {
				t.Errorf("request %s was the %dth", sent.body, i)
			}
		}
	})
}

// byMethod sends requests by their method.
type byMethod map[string]http.RoundTripper

func (b byMethod) RoundTrip(r *http.Request) (*http.Response, error) {
	return b[r.Method].RoundTrip(r)
}

// doubling is how long a first request is waited for.
const doubling = 250 * time.Millisecond

// gated answers each request when it is told to.
type gated struct {
	fields  string
	arrived atomic.Int64
	answer  chan int
}

func (g *gated) RoundTrip(r *http.Request) (*http.Response, error) {
	g.arrived.Add(1)
	select {
	case status := <-g.answer:
		return &http.Response{StatusCode: status, Header: header(g.fields), Body: http.NoBody, Request: r}, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// expect checks how many requests have arrived once all goroutines wait.
func (g *gated) expect(t testing.TB, want int64, when string) {
	t.Helper()
	synctest.Wait()
	if got := g.arrived.Load(); got != want {
		t.Fatalf("%s: %d requests have arrived, want %d", when, got, want)
	}
}

// await waits for the next request, for at most so long.
func (g *gated) await(t testing.TB, most time.Duration) {
	t.Helper()
	start, before := time.Now(), g.arrived.Load()
	for g.arrived.Load() == before && time.Since(start) <= most {
		time.Sleep(time.Millisecond)
	}
}

// Requests that wait for the same instant don't come back together: one goes
// first, and as many follow as its response allows.
func TestNoStampede(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gated{answer: make(chan int)}
		transport := &httplimit.Transport{Base: g, MaxWait: time.Hour}
		var all sync.WaitGroup
		defer all.Wait()
		defer close(g.answer)
		for range 50 {
			all.Go(func() { sendGet(t, transport) })
		}
		g.expect(t, 1, "at first")
		g.fields = "Retry-After: 10"
		g.answer <- refused
		g.expect(t, 1, "after a refusal")
		time.Sleep(10 * time.Second)
		g.expect(t, 1, "until it is over")
		g.await(t, time.Second)
		g.expect(t, 2, "when it is over, or a tenth later")
		g.fields = `RateLimit: "p";r=12;t=60`
		g.answer <- 200
		g.expect(t, 2+6, "with 12 left")
		g.fields = `RateLimit: "p";r=0;t=60`
		for range 6 {
			g.answer <- 200
		}
		g.expect(t, 2+6, "with nothing left")
		time.Sleep(59 * time.Second)
		g.await(t, 7*time.Second)
		g.expect(t, 2+6+1, "a minute later")
		g.fields = ""
		g.answer <- 200
		g.expect(t, 50+1, "when no more is said of quotas")
		for range 42 {
			g.answer <- 200
		}
	})
}

// What is left is spread out over its time once it is little.
func TestSpreadsWhatIsLeft(t *testing.T) {
	for fields, want := range map[string]time.Duration{
		`RateLimit: "p";r=4;t=20`: 5 * time.Second,
		"RateLimit: \"p\";r=10;t=20\nRateLimit-Policy: \"p\";q=100;w=1000":             2 * time.Second,
		"RateLimit: \"p\";r=10;t=20\nRateLimit-Policy: \"p\";q=100;w=100":              time.Second, // no thinner than the quota
		"RateLimit: \"p\";r=13;t=20\nRateLimit-Policy: \"p\";q=100;w=1000":             0,
		"RateLimit: \"p\";r=10;t=20\nRateLimit-Policy: \"p\";q=9;qu=\"content-bytes\"": 0,
		"RateLimit: \"a\";r=90;t=20, \"p\";r=4;t=20":                                   5 * time.Second,
		"X-RateLimit-Limit: 100\nX-RateLimit-Remaining: 10\nX-RateLimit-Reset: 20":     2 * time.Second,
		"": 0,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &script{}
			for range 3 {
				s.answers = append(s.answers, answer{status: 200, fields: fields})
			}
			transport := &httplimit.Transport{Base: s}
			for range 3 {
				sendGet(t, transport)
			}
			if got := s.gaps(); !slices.Equal(got, []time.Duration{want, want}) {
				t.Errorf("%q: requests were %v apart, want %v", fields, got, want)
			}
		})
	}
}

// A first response that takes long doesn't hold the others back for long.
func TestSlowFirstResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gated{answer: make(chan int)}
		transport := &httplimit.Transport{Base: g}
		var all sync.WaitGroup
		defer all.Wait()
		defer close(g.answer)
		for range 100 {
			all.Go(func() { sendGet(t, transport) })
		}
		for i, want := range []int64{1, 2, 4, 8, 16, 32, 100} {
			g.expect(t, want, fmt.Sprint("step ", i))
			time.Sleep(251 * time.Millisecond)
		}
		for range 100 {
			g.answer <- 200
		}
	})
}

// A handler that takes longer than the window leaves little to go by: what its
// responses say is over when they come. Then the quota sets the pace.
func TestSlowHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLimitedServer(t, ratelimit.SlidingWindow(20, time.Second), 1, 3*time.Second)
		transport := &httplimit.Transport{Base: s}
		sendGet(t, transport) // the pace is known from here on
		if got := offer(t, transport); got != offered || s.refused.Load() > offered/5 {
			t.Errorf("%d of %d succeeded, %d were refused on the way", got, offered, s.refused.Load())
		}
	})
}

// A request does not wait away the time that it has for being answered.
func TestOutOfTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gated{answer: make(chan int)}
		transport := &httplimit.Transport{Base: g}
		var all sync.WaitGroup
		defer all.Wait()
		defer close(g.answer)
		all.Go(func() { sendGet(t, transport) })
		synctest.Wait()
		g.fields = `RateLimit: "p";r=0;t=30`
		g.answer <- 200
		send := func(timeout time.Duration) {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), timeout)
				defer cancel()
				res, err := transport.RoundTrip(request(t, ctx, http.MethodGet, nil))
				if err != nil {
					t.Error(err)
					return
				}
				res.Body.Close()
			})
		}
		g.expect(t, 1, "at first")
		send(20 * time.Second)
		g.expect(t, 2, "if there is no waiting for it")
		g.answer <- 200
		send(80 * time.Second)
		g.expect(t, 2, "if there is")
		time.Sleep(33 * time.Second)
		g.expect(t, 3, "when it is over")
		g.answer <- 200
	})
}

// A request that is given up while it waits for its turn leaves the queue, and
// the next one takes its place.
// TestWaitsNotInVain sends a request at once whose turn can't come in time, by
// what the server said last and nobody else is about to hear.
func TestWaitsNotInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLimitedServer(t, ratelimit.SlidingLog(3, 15*time.Minute), 1, 0)
		client := &httplimit.Transport{Base: s, MaxWait: time.Minute}
		start := time.Now()
		for n := range 3 {
			if status := sendGet(t, client); status != http.StatusOK {
				t.Errorf("request %d of 3: status %d", n+1, status)
			}
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("three requests of a quota of three took %v", took)
		}
	})
}

func TestGivenUpInTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gated{answer: make(chan int), fields: `RateLimit: "p";r=0;t=10`}
		transport := &httplimit.Transport{Base: g}
		var all sync.WaitGroup
		defer all.Wait()
		defer close(g.answer)
		all.Go(func() { sendGet(t, transport) })
		synctest.Wait()
		g.answer <- 200
		ctx, cancel := context.WithCancel(t.Context())
		for range 10 {
			all.Go(func() {
				if _, err := transport.RoundTrip(request(t, ctx, http.MethodGet, nil)); !errors.Is(err, context.Canceled) { //nolint:bodyclose // there is none
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		all.Go(func() { sendGet(t, transport) })
		synctest.Wait()
		cancel()
		g.expect(t, 1, "while nothing is left")
		time.Sleep(11 * time.Second)
		g.expect(t, 2, "when it is over")
		g.answer <- 200
	})
}

// Hosts, and what Key tells apart, don't wait for each other.
func TestHostsAndKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gated{answer: make(chan int)}
		transport := &httplimit.Transport{Base: g, Key: func(r *http.Request) string { return r.Header.Get("Authorization") }}
		var all sync.WaitGroup
		defer all.Wait()
		defer close(g.answer)
		send := func(url, user string) {
			all.Go(func() {
				r := request(t, t.Context(), http.MethodGet, nil)
				r.URL.Host = url
				r.Header.Set("Authorization", user)
				res, err := transport.RoundTrip(r)
				if err != nil {
					t.Error(err)
					return
				}
				res.Body.Close()
			})
			synctest.Wait()
		}
		send("a.example", "ann")
		send("A.example", "ann")
		g.expect(t, 1, "two of the same")
		send("b.example", "ann")
		g.expect(t, 2, "another host")
		send("a.example", "bob")
		g.expect(t, 3, "another key")
		for range 4 {
			g.answer <- 200
		}
	})
}

// No number of hosts makes a Transport remember more than 256, and those of
// which it knows most are remembered longest.
func TestManyHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []answer{{status: 200, fields: `RateLimit: "p";r=0;t=50`}}}
		transport := &httplimit.Transport{Base: s}
		sendGet(t, transport)
		for i := range 2000 {
			r := request(t, t.Context(), http.MethodGet, nil)
			r.URL.Host = fmt.Sprint("host", i)
			res, err := transport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
		}
		if n := transport.Remembered(); n != 256 {
			t.Errorf("%d hosts are remembered, want 256", n)
		}
		start := time.Now()
		sendGet(t, transport)
		if waited := time.Since(start); waited < 50*time.Second {
			t.Errorf("the host with nothing left was forgotten: it was asked after %v", waited)
		}
	})
}

// Hosts with requests under way are never forgotten, and more of them are not
// remembered.
func TestManyBusyHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gated{answer: make(chan int)}
		transport := &httplimit.Transport{Base: g}
		var all sync.WaitGroup
		defer all.Wait()
		defer close(g.answer)
		send := func(i int) {
			r := request(t, t.Context(), http.MethodGet, nil)
			r.URL.Host = fmt.Sprint("host", i)
			res, err := transport.RoundTrip(r)
			if err != nil {
				t.Error(err)
				return
			}
			res.Body.Close()
		}
		for i := range 300 {
			all.Go(func() { send(i) })
		}
		g.expect(t, 300, "one for each host")
		if n := transport.Remembered(); n != 256 {
			t.Errorf("%d hosts are remembered, want 256", n)
		}
		for i := range 300 { // of which 44 are not remembered
			all.Go(func() { send(i) })
			synctest.Wait()
		}
		if arrived := g.arrived.Load(); arrived != 300+44 {
			t.Errorf("%d hosts got another request while one was under way, want the 44 that aren't remembered", arrived-300)
		}
		for range 600 {
			g.answer <- 200
		}
	})
}
