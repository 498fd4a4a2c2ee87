package httplimit_test

import (
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	httplimit "github.com/go-floodgate/floodgate/nethttp"
)

// What was sent before a refusal has nothing to say about the time after it.
func TestOldNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gated{answer: make(chan int)}
		transport := &httplimit.Transport{Base: g}
		var all sync.WaitGroup
		defer all.Wait()
		defer close(g.answer)
		all.Go(func() { sendGet(t, transport) })
		all.Go(func() { sendGet(t, transport) })
		time.Sleep(doubling + time.Millisecond)
		g.expect(t, 2, "at first")
		g.fields = "Retry-After: 10"
		g.answer <- refused
		synctest.Wait()
		g.fields = `RateLimit: "p";r=100;t=60`
		g.answer <- 200
		all.Go(func() { sendGet(t, transport) })
		time.Sleep(9 * time.Second)
		g.expect(t, 2, "until the refusal is over")
		g.await(t, 2*time.Second)
		g.answer <- 200
		g.expect(t, 4, "and then")
		g.answer <- 200
	})
}

// Nor what was sent before a doubt.
func TestOldNewsInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, slow := &gated{answer: make(chan int), fields: `RateLimit: "p";r=0;t=10`}, &gated{answer: make(chan int), fields: `RateLimit: "p";r=50;t=60`}
		transport := &httplimit.Transport{Base: byMethod{http.MethodPut: slow, http.MethodGet: g}}
		var all sync.WaitGroup
		defer all.Wait()
		defer close(g.answer)
		defer close(slow.answer)
		all.Go(func() {
			res, err := transport.RoundTrip(request(t, t.Context(), http.MethodPut, nil))
			if err != nil {
				t.Error(err)
				return
			}
			res.Body.Close()
		})
		synctest.Wait()
		for range 10 {
			all.Go(func() { sendGet(t, transport) })
		}
		time.Sleep(doubling + time.Millisecond)
		g.expect(t, 1, "at first")
		g.answer <- 200
		g.await(t, 12*time.Second)
		slow.answer <- 200
		g.expect(t, 2, "when nothing is known any more")
		g.fields = ""
		g.answer <- 200
		for range 8 {
			g.answer <- 200
		}
	})
}

// Of requests under way together it isn't known which was decided last: what
// counts is the least that they are told.
func TestNewsOutOfOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := &gated{answer: make(chan int)}, &gated{answer: make(chan int)}
		transport := &httplimit.Transport{Base: byMethod{http.MethodPut: first, http.MethodGet: second}}
		var all sync.WaitGroup
		defer all.Wait()
		defer close(first.answer)
		defer close(second.answer)
		all.Go(func() {
			res, err := transport.RoundTrip(request(t, t.Context(), http.MethodPut, nil))
			if err != nil {
				t.Error(err)
				return
			}
			res.Body.Close()
		})
		synctest.Wait()
		all.Go(func() { sendGet(t, transport) })
		time.Sleep(doubling + time.Millisecond)
		first.fields, second.fields = `RateLimit: "p";r=0;t=20`, `RateLimit: "p";r=50;t=20`
		first.answer <- 200
		synctest.Wait()
		second.answer <- 200
		synctest.Wait()
		all.Go(func() { sendGet(t, transport) })
		second.expect(t, 1, "with nothing left")
		second.await(t, 30*time.Second)
		second.expect(t, 2, "when it is over")
		second.answer <- 200
	})
}

// A request that failed may have been counted.
func TestFailuresCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		s := &script{answers: []answer{{status: 200, fields: "RateLimit: \"p\";r=1;t=20\nRateLimit-Policy: \"p\";q=1;w=20"}, {err: broken}}}
		transport := &httplimit.Transport{Base: s}
		sendGet(t, transport)
		if _, err := transport.RoundTrip(request(t, t.Context(), http.MethodGet, nil)); !errors.Is(err, broken) { //nolint:bodyclose // there is none
			t.Errorf("error %v", err)
		}
		time.Sleep(time.Second)
		sendGet(t, transport)
		if got := s.sent[2].at.Sub(s.sent[0].at); got != 20*time.Second {
			t.Errorf("after the last unit was used the next request came at %v, want 20s", got)
		}
	})
}

// Where a server refuses and doesn't say for how long, others wait longer as
// well with each refusal.
func TestOthersBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var longest [4]time.Duration
		for range 100 {
			s := &script{}
			for range 5 {
				s.answers = append(s.answers, answer{status: refused})
			}
			transport := &httplimit.Transport{Base: s, MaxAttempts: 1, MinBackoff: time.Second}
			for range 5 {
				sendGet(t, transport)
			}
			for i, gap := range s.gaps() {
				longest[i] = max(longest[i], gap)
			}
		}
		for i, got := range longest {
			if bound := time.Second << i; got > bound || got < bound*3/4 {
				t.Errorf("after %d refusals the longest wait was %v, want nearly %v", i+1, got, bound)
			}
		}
	})
}

// Refusals of requests that were sent together are one: one that comes after
// the server is known to admit again changes nothing.
func TestOldRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, slow := &gated{answer: make(chan int)}, &gated{answer: make(chan int)}
		transport := &httplimit.Transport{Base: byMethod{http.MethodPost: slow, http.MethodGet: g}}
		var all sync.WaitGroup
		defer all.Wait()
		defer close(g.answer)
		defer close(slow.answer)
		send := func(method string) {
			all.Go(func() {
				res, err := transport.RoundTrip(request(t, t.Context(), method, nil))
				if err != nil {
					t.Error(err)
					return
				}
				res.Body.Close()
			})
			time.Sleep(doubling + time.Millisecond)
		}
		send(http.MethodPost)
		send(http.MethodGet)
		g.expect(t, 1, "at first")
		g.fields, slow.fields = "Retry-After: 1", "Retry-After: 30"
		g.answer <- refused
		g.await(t, 2*time.Second)
		g.answer <- 200
		synctest.Wait()
		slow.answer <- refused
		synctest.Wait()
		send(http.MethodGet)
		g.expect(t, 3, "when the old refusal has come")
		g.answer <- 200
	})
}

// Requests that have been under way for long have been decided: they don't
// stand in the way of others.
func TestLongPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, short := &gated{answer: make(chan int)}, &script{latency: time.Millisecond}
		for range 5 {
			short.answers = append(short.answers, answer{status: 200, fields: `RateLimit: "p";r=6;t=50`})
		}
		transport := &httplimit.Transport{Base: byMethod{http.MethodGet: g, http.MethodPut: short}}
		var all sync.WaitGroup
		defer all.Wait()
		defer close(g.answer)
		for range 20 {
			all.Go(func() { sendGet(t, transport) })
		}
		time.Sleep(3 * time.Second)
		g.expect(t, 20, "after the start")
		for range 5 {
			res, err := transport.RoundTrip(request(t, t.Context(), http.MethodPut, nil))
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
		}
		for i, gap := range short.gaps() {
			if gap > time.Millisecond {
				t.Errorf("request %d came after %v", i+2, gap)
			}
		}
		for range 20 {
			g.answer <- 200
		}
	})
}

// A server may say the largest numbers that there are. No request waits for what
// it can't live to see.
func TestLargeNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []answer{
			{status: 200, fields: `RateLimit: "p";r=999999999999999;t=999999999999999`},
			{status: 200, fields: `RateLimit: "p";r=1;t=999999999999999`},
		}}
		transport := &httplimit.Transport{Base: s, MaxWait: time.Hour}
		for range 3 {
			sendGet(t, transport)
		}
		for i, got := range s.gaps() {
			if got != 0 {
				t.Errorf("request %d came after %v", i+2, got)
			}
		}
	})
}

// Errors tell nothing: the next request goes at once.
func TestErrorsFreeTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		s := &script{answers: []answer{{err: broken}, {err: broken}, {err: broken}}}
		transport := &httplimit.Transport{Base: s}
		start := time.Now()
		for range 3 {
			if _, err := transport.RoundTrip(request(t, t.Context(), http.MethodGet, nil)); !errors.Is(err, broken) { //nolint:bodyclose // there is none
				t.Errorf("error %v", err)
			}
		}
		if got := sendGet(t, transport); got != 200 || time.Since(start) != 0 {
			t.Errorf("status %d after %v", got, time.Since(start))
		}
	})
}
