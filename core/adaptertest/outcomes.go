package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// outcomeCases are about policies that count by how a request ends.
func outcomeCases() []testCase {
	return []testCase{
		{
			name: "outcomes/status",
			why:  "the status that a policy counts by is the one the client gets, whether the handler wrote it or returned an error",
			f:    statuses,
		},
		{
			name:  "outcomes/switched",
			needs: Switching,
			why:   "a connection that was taken over ended with 101",
			f: func(s *suite) {
				equal(s, "status of an upgrade", s.statusOf(func(x Exchange) error {
					x.SetHeader("Connection", "Upgrade")
					x.SetHeader("Upgrade", "echo")
					return x.Upgrade(func(net.Conn) {})
				}, http.StatusSwitchingProtocols), http.StatusSwitchingProtocols)
			},
		},
		{
			name:  "outcomes/error-handler",
			needs: ErrorHandler,
			why:   "an error that a handler returns is answered further out: guessing its status would make wrong passwords free",
			f:     answeredFurtherOut,
		},
		{
			name: "outcomes/given-back",
			why:  "what does not count is given back, exactly what was charged, and what counts is not",
			f:    givenBack,
		},
		{
			name: "outcomes/panic",
			why:  "a handler that panics has failed: if failures count it is counted, if successes count it is given back",
			f: func(s *suite) {
				for _, c := range []struct {
					counts ratelimit.Outcome
					want   int
				}{{ratelimit.CountFailures, 0}, {ratelimit.CountSuccesses, 1}, {ratelimit.CountEverything, 0}} {
					script, watch, policy := NewScript(answers(perIPAdmits)), newWatcher(), perIP
					policy.Counts = c.counts
					site := onRoutes(s.limiter(script, policy), func(Exchange) error {
						panic("the handler's panic") //nolint:forbidigo // it is what the case is about
					})
					site.Recover, site.Use = true, []Middleware{watch.middleware()}
					s.serve(site).get("/u/1").is(s, "a handler that panics", http.StatusInternalServerError)
					watch.next(s)
					equal(s, "what was given back after a panic", len(script.Adjustments()), c.want)
				}
			},
		},
		{
			name:  "outcomes/client-gone",
			needs: ClientGone,
			why:   "a client that hangs up before the answer, to learn nothing and pay nothing, is counted",
			f:     clientGone,
		},
		{
			name: "outcomes/at-once",
			why:  "attempts that run at the same time count while they run: 200 wrong passwords at once try no more than the limit",
			f:    atOnce,
		},
		{
			name: "outcomes/successes-free",
			why:  "what is given back can be used again",
			f: func(s *suite) {
				handler, watch := ok(), newWatcher()
				l := s.limiter(newModel(), ratelimit.Policy{Name: "login", Limit: ratelimit.SlidingLog(1, time.Hour), Counts: ratelimit.CountFailures})
				site := onRoutes(l, handler.handle)
				site.Use = []Middleware{watch.middleware()}
				v := s.serve(site)
				for range 10 {
					v.get("/u/1").is(s, "a success", http.StatusOK)
					watch.next(s)
				}
				handler.ran(s, 10)
			},
		},
	}
}

// statuses checks the status a policy is told against the one on the wire.
func statuses(s *suite) {
	text := func(status int, body string) Handler {
		return func(x Exchange) error { return x.Respond(status, body) }
	}
	for _, c := range []struct {
		what    string
		handler Handler
		want    int // 0 is whatever the framework answers
	}{
		{"an answer", text(http.StatusOK, "ok\n"), 200},
		{"a failure", text(http.StatusUnauthorized, "no\n"), 401},
		{"an answer without a body", text(http.StatusNoContent, ""), 204},
		{"a failure without a body", text(http.StatusForbidden, ""), 403},
		{"no answer", func(Exchange) error { return nil }, 200},
		{"the framework's failure", func(x Exchange) error { return x.Fail(http.StatusTeapot) }, 418},
		{"another one", func(x Exchange) error { return x.Fail(http.StatusUnauthorized) }, 401},
		{"an error", func(Exchange) error { return errors.New("an error of the handler's") }, 0},
		{"a stream", func(x Exchange) error {
			return x.Stream(http.StatusAccepted, func(send func(string) error) error { return send("begun\n") })
		}, 202},
	} {
		equal(s, "status of "+c.what, s.statusOf(c.handler, c.want), c.want)
	}
}

// statusOf returns the status that a policy was told, 0 if it may be any and is
// the one on the wire.
func (s *suite) statusOf(handler Handler, want int) int {
	s.Helper()
	l, told := s.telling()
	a := s.serve(onRoutes(l, handler)).get("/u/1")
	status := s.toldIn(told)
	if want != 0 {
		a.is(s, "the answer", want)
	} else if status == a.status {
		return 0
	}
	return status
}

// telling is a limiter that tells which status its policy is told.
func (s *suite) telling() (l *ratelimit.Limiter, told <-chan int) {
	s.Helper()
	all, policy := make(chan int, 100), perIP
	policy.Counts = ratelimit.CountStatus(func(status int) bool {
		all <- status
		return true
	})
	<-all // CountStatus asks about panics
	return s.limiter(NewScript(answers(perIPAdmits)), policy), all
}

// toldIn waits for a status. Where an error is answered further out it comes
// when the client has its answer already.
func (s *suite) toldIn(told <-chan int) int {
	s.Helper()
	select {
	case status := <-told:
		return status
	case <-time.After(s.patience):
		s.Fatalf("waited %v in vain for a policy to be told the status", s.patience)
		return 0
	}
}

func answeredFurtherOut(s *suite) {
	failures, successes := perIP, plan
	failures.Counts, successes.Counts = ratelimit.CountFailures, ratelimit.CountSuccesses
	fails := func(Exchange) error { return errors.New("a wrong password") }
	for status, back := range map[int]string{http.StatusUnauthorized: plan.Name, http.StatusOK: perIP.Name, http.StatusSeeOther: perIP.Name} {
		answers, what := answers(perIPAdmits, planAdmits), fmt.Sprintf("an error that is answered with %d", status)
		onError := func(x Exchange, _ error) error { return x.Respond(status, "answered further out\n") }

		l, told := s.telling()
		site := onRoutes(l, fails)
		site.OnError = onError
		s.serve(site).get("/u/1").is(s, what, status)
		equal(s, "status of "+what, s.toldIn(told), status)

		script := NewScript(answers)
		site = onRoutes(s.limiter(script, failures, successes), fails)
		site.OnError = onError
		s.serve(site).get("/u/1").is(s, what, status)
		s.until(script, "something to be given back", func() bool { return len(script.Adjustments()) > 0 })
		equal(s, "policy that gives back "+what, script.Adjustments()[0].Policy, back)
	}
}

func givenBack(s *suite) {
	failures, successes := perIP, plan
	failures.Counts, successes.Counts = ratelimit.CountFailures, ratelimit.CountSuccesses
	everything := ratelimit.Policy{Name: "all", Limit: ratelimit.PerDay(1000), Cost: func(*ratelimit.Request) int64 { return 3 }}
	charged := []ratelimit.Result{perIPAdmits, planAdmits, perIPAdmits}
	charged[1].At++
	for _, c := range []struct {
		status int
		back   int // which policy is given back
	}{{http.StatusOK, 0}, {http.StatusMovedPermanently, 0}, {http.StatusBadRequest, 1}, {http.StatusInternalServerError, 1}} {
		script, watch := NewScript(answers(charged...)), newWatcher()
		site := onRoutes(s.limiter(script, failures, successes, everything), func(x Exchange) error { return x.Respond(c.status, "") })
		site.Use = []Middleware{watch.middleware()}
		s.serve(site).do(request{path: "/u/1", header: fields("X-API-Key", secret)}).is(s, "the answer", c.status)
		watch.next(s)
		changes := script.Adjustments()
		if len(changes) != 1 {
			s.Errorf("status %d: %d charges were given back, want 1", c.status, len(changes))
			continue
		}
		was := script.Charges()[0][c.back]
		equal(s, "what was given back", changes[0], ratelimit.Adjustment{
			Policy: was.Policy, Partition: was.Partition, Limit: was.Limit, At: charged[c.back].At, Cost: was.Cost,
		})
	}
}

func clientGone(s *suite) {
	script, watch, policy := NewScript(answers(perIPAdmits)), newWatcher(), perIP
	policy.Counts = ratelimit.CountFailures
	entered := make(chan struct{})
	site := onRoutes(s.limiter(script, policy), func(x Exchange) error {
		close(entered)
		select {
		case <-x.Context().Done():
		case <-time.After(s.patience):
			s.Error("the handler's context does not end when the client hangs up")
		}
		return x.Respond(http.StatusOK, "too late\n")
	})
	site.Use = []Middleware{watch.middleware()}
	v := s.serve(site)
	ctx, hangUp := context.WithCancel(s.Context())
	defer hangUp()
	answered := make(chan error, 1)
	go func() {
		_, err := v.try(request{path: "/u/1", ctx: ctx})
		answered <- err
	}()
	s.wait(entered, "the handler")
	hangUp()
	if err := <-answered; err == nil {
		s.Error("a client that hung up has an answer")
	}
	watch.next(s)
	equal(s, "what was given back", len(script.Adjustments()), 0)
}

// atOnce sends 200 attempts that fail, all of them before the first one ends.
func atOnce(s *suite) {
	const attempts, quota = 200, 5
	entered, release := make(chan struct{}, attempts), make(chan struct{})
	l := s.limiter(newModel(), ratelimit.Policy{Name: "login", Limit: ratelimit.SlidingLog(quota, time.Hour), Counts: ratelimit.CountFailures})
	v := s.serve(onRoutes(l, func(x Exchange) error {
		entered <- struct{}{}
		<-release
		return x.Fail(http.StatusUnauthorized)
	}))
	answered := make(chan int, attempts)
	for range attempts {
		go func() {
			a, _ := v.try(request{path: "/u/1"})
			answered <- a.status
		}()
	}
	in, refused := 0, 0
	for in+refused < attempts {
		select {
		case <-entered:
			in++
		case status := <-answered:
			refused++
			equal(s, "status of an attempt beyond the limit", status, http.StatusTooManyRequests)
		case <-time.After(s.patience):
			close(release)
			s.Fatalf("%d attempts are in the handler and %d were refused: %d are lost", in, refused, attempts-in-refused)
		}
	}
	equal(s, "attempts in the handler at once", in, quota)
	close(release)
	for range in {
		equal(s, "status of a wrong attempt", <-answered, http.StatusUnauthorized)
	}
	v.get("/u/1").is(s, "one more attempt", http.StatusTooManyRequests)
}
