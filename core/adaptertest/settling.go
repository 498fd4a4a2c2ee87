package adaptertest

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// settlingCases are about policies that are settled by the handler.
func settlingCases() []testCase {
	return []testCase{
		{
			name: "settling/inside",
			why:  "a handler settles with the request's context as the framework hands it out",
			f:    settledInside,
		},
		{
			name: "settling/afterwards",
			why:  "what goes on after the handler settles as well, for the client of its request, whatever became of the request's buffers",
			f:    settledAfterwards,
		},
		{
			name: "settling/outcome",
			why:  "a handler that never settles keeps the estimate, if the request counts; if it doesn't, it costs nothing, whatever was settled",
			f:    settledByOutcome,
		},
		{
			name: "settling/debt",
			why:  "what a request has cost in the end decides on the next one",
			f:    settledToDebt,
		},
	}
}

// tokens is a policy that charges an estimate of 10.
var tokens = ratelimit.Policy{
	Name: "tokens", Key: ratelimit.ByUser(), Limit: ratelimit.PerHour(100), Settles: true,
	Cost: func(*ratelimit.Request) int64 { return 10 },
}

func settledInside(s *suite) {
	rows := tokens
	rows.Name = "rows"
	admits := ratelimit.Result{Allowed: true, Limit: 100, Remaining: 90, At: instant}
	script := NewScript(answers(perIPAdmits, admits, withRemaining(admits, 80)))
	handler := func(x Exchange) error {
		for _, cost := range []int64{25, 3} {
			if err := ratelimit.Settle(x.Context(), "tokens", cost); err != nil {
				s.Errorf("settling: %v", err)
			}
		}
		if err := ratelimit.Settle(x.Context(), "rows", 10); err != nil { // as estimated
			s.Errorf("settling: %v", err)
		}
		return x.Respond(http.StatusOK, "")
	}
	v := s.serve(Site{Routes: routes(handler, Middleware{
		Limiter: s.limiter(script, perIP, tokens, rows), Config: configOf(userOf("X-User")),
	})})
	v.do(request{path: "/u/1", header: fields("X-User", "alice-"+secret)}).is(s, "the answer", http.StatusOK)
	was := script.Charges()[0][1]
	equal(s, "that the store is told that the charge settles", was.Settles, true)
	up := ratelimit.Adjustment{Policy: "tokens", Partition: was.Partition, Limit: was.Limit, At: instant, Cost: 10, NewCost: 25}
	down := up
	down.Cost, down.NewCost = 25, 3
	equal(s, "changes", fmt.Sprintf("%+v", script.Adjustments()), fmt.Sprintf("%+v", []ratelimit.Adjustment{up, down}))
}

// settledAfterwards settles the request of one user when those of others have
// been served on the same connection.
func settledAfterwards(s *suite) {
	type served struct {
		reserved *ratelimit.Reservation
		ctx      context.Context
	}
	script, all := NewScript(answers(ratelimit.Result{Allowed: true, Limit: 100, Remaining: 90, At: instant})), make(chan served, 10)
	v := s.serve(Site{Routes: routes(func(x Exchange) error {
		all <- served{ratelimit.ReservationOf(x.Context(), "tokens"), x.Context()}
		return x.Respond(http.StatusOK, "")
	}, Middleware{Limiter: s.limiter(script, tokens), Config: configOf(userOf("X-User"))})})
	for _, name := range []string{"alice", "bobby", "carol", "david"} {
		v.do(request{path: "/u/1", header: fields("X-User", name+"-"+secret)}).is(s, "the answer", http.StatusOK)
	}
	first := <-all
	if first.reserved == nil {
		s.Error("the handler finds no reservation")
	}
	if err := first.reserved.Settle(s.Context(), 12); err != nil {
		s.Errorf("settling: %v", err)
	}
	if err := ratelimit.Settle(first.ctx, "tokens", 13); err != nil {
		s.Errorf("settling with the request's context: %v", err)
	}
	changes := script.Adjustments()
	if len(changes) != 2 {
		s.Fatalf("%d changes, want 2", len(changes))
	}
	want := ratelimit.UserKey("alice-" + secret)
	equal(s, "whose charge was changed", changes[0].Partition, want)
	equal(s, "whose charge was changed, by the request's context", changes[1].Partition, want)
	equal(s, "the first change", changes[0].NewCost, 12)
	equal(s, "the second change goes out from", changes[1].Cost, 12)
}

func settledByOutcome(s *suite) {
	failures := tokens
	failures.Key, failures.Counts = ratelimit.ByIP(), ratelimit.CountFailures
	for _, c := range []struct {
		what   string
		settle bool
		status int
		want   []int64 // what is charged, step by step
	}{
		{"never settled, does not count", false, http.StatusOK, []int64{0}},
		{"never settled, counts", false, http.StatusInternalServerError, nil},
		{"settled, does not count", true, http.StatusOK, []int64{30, 0}},
		{"settled, counts", true, http.StatusInternalServerError, []int64{30}},
	} {
		script, watch := NewScript(answers(ratelimit.Result{Allowed: true, Limit: 100, Remaining: 90, At: instant})), newWatcher()
		site := onRoutes(s.limiter(script, failures), func(x Exchange) error {
			if c.settle {
				if err := ratelimit.Settle(x.Context(), "tokens", 30); err != nil {
					s.Errorf("settling: %v", err)
				}
			}
			return x.Respond(c.status, "")
		})
		site.Use = []Middleware{watch.middleware()}
		s.serve(site).get("/u/1").is(s, c.what, c.status)
		watch.next(s)
		got, last := []int64(nil), int64(10)
		for _, change := range script.Adjustments() {
			equal(s, c.what+": a change goes out from", change.Cost, last)
			last = change.NewCost
			got = append(got, last)
		}
		equal(s, c.what, fmt.Sprint(got), fmt.Sprint(c.want))
	}
}

func settledToDebt(s *suite) {
	var cost atomic.Int64
	handler := ok()
	v := s.serve(onRoutes(s.limiter(newModel(), tokens), func(x Exchange) error {
		if err := ratelimit.Settle(x.Context(), "tokens", cost.Load()); err != nil {
			s.Errorf("settling: %v", err)
		}
		return handler.handle(x)
	}))
	for range 20 {
		v.get("/u/1").is(s, "a request that cost nothing in the end", http.StatusOK)
	}
	cost.Store(250)
	v.get("/u/1").is(s, "a request that cost more than there is", http.StatusOK)
	v.get("/u/1").is(s, "a request in debt", http.StatusTooManyRequests)
	handler.ran(s, 21)
}
