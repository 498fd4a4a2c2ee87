package redisstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/redisstore/redistest"
)

// asked is a request without a framework.
type asked struct {
	method, route, user, client string
}

func (a asked) Context() context.Context { return context.Background() }
func (a asked) Method() string           { return a.method }
func (a asked) Route() (string, bool)    { return a.route, true }
func (a asked) RemoteAddr() string       { return a.client }
func (a asked) Header(string) []string   { return nil }
func (a asked) User() string             { return a.user }
func (a asked) Account() string          { return "" }

// ledger is what the policies of TestPoliciesOfProcesses say, counted by hand
// in fixed windows.
type ledger struct {
	now     time.Duration
	used    map[string]int64 // in the window, by policy, client and window
	strikes map[string]int64
	last    map[string]time.Duration // strike
	plans   map[string]plan
}

type plan struct {
	tier  string
	times int64
}

const (
	tableWindow = time.Minute
	planWindow  = 10 * time.Minute
	blockBase   = 7 * time.Second
	blockCap    = 40 * time.Second
	forgetAfter = 2 * time.Minute
	tolerated   = 2
)

var (
	endpointQuotas = map[string]int64{"POST /login": 3, "/reports": 5, "/admin/...": 4, "": 20}
	tierQuotas     = map[string]int64{"free": 30, "pro": 60}
	endpointCosts  = map[string]int64{"/reports": 2}
)

func (b *ledger) blocked(client string) time.Duration {
	n, last := b.strikes[client], b.last[client]
	if n == 0 {
		return 0
	}
	block := time.Duration(0)
	if n > tolerated {
		block = blockBase
		for range n - tolerated - 1 {
			block = min(3*block, blockCap)
		}
	}
	if b.now >= last+block+forgetAfter {
		delete(b.strikes, client)
		return 0
	}
	return max(0, last+block-b.now)
}

// decide is what a request of the client must be told.
func (b *ledger) decide(client string, endpoint string) (allowed bool, reason ratelimit.Reason) {
	cost := max(1, endpointCosts[endpoint])
	table := fmt.Sprintf("table %s %s %d", client, endpoint, b.now/tableWindow)
	byPlan := fmt.Sprintf("plan %s %d", client, b.now/planWindow)
	p := b.plans[client]
	quota := tierQuotas[p.tier] * max(1, p.times)
	fits := b.used[table]+cost <= endpointQuotas[endpoint]
	free := b.blocked(client+endpoint) == 0
	planFits := p.tier == "staff" || b.used[byPlan]+1 <= quota
	if free && !fits {
		b.strikes[client+endpoint]++
		b.last[client+endpoint] = b.now
		free = b.blocked(client+endpoint) == 0
	}
	wait := b.blocked(client + endpoint)
	if !fits {
		wait = max(wait, tableWindow-b.now%tableWindow)
	}
	switch {
	case !free && !planFits && planWindow-b.now%planWindow > wait:
		return false, ratelimit.ReasonRateLimited // the plan's wait is the longer one, so it binds
	case !free:
		return false, ratelimit.ReasonBlocked
	case !fits || !planFits:
		return false, ratelimit.ReasonRateLimited
	}
	b.used[table] += cost
	if p.tier != "staff" {
		b.used[byPlan]++
	}
	return true, ratelimit.ReasonWithinLimits
}

// TestPoliciesOfProcesses has several limiters on one Redis, each with a store
// and a tier cache of its own, decide requests under an endpoint table with a
// penalty and under plans that change: together they say what one ledger says.
func TestPoliciesOfProcesses(t *testing.T) {
	server := redistest.Start(t)
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed_", seed), func(t *testing.T) {
			testPoliciesOfProcesses(t, server, seed)
		})
	}
}

func testPoliciesOfProcesses(t *testing.T, server *redistest.Server, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 3))
	var mu sync.Mutex
	now := time.Unix(1_800_000_000, 0) // a multiple of the windows
	clock := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}
	b := &ledger{used: make(map[string]int64), strikes: make(map[string]int64), last: make(map[string]time.Duration), plans: make(map[string]plan)}
	var limiters []*ratelimit.Limiter
	var caches []*ratelimit.Tiers
	prefix := ""
	for range 3 {
		options := []Option{withClock(clock), WithDenialCache(0, 0)} // one process learns late what another has reset
		if prefix != "" {
			options = append(options, WithPrefix(prefix))
		}
		s := open(t, server.Client(), options...)
		prefix = s.keys.prefix
		tiers := &ratelimit.Tiers{
			By: ratelimit.ByUser(), Default: "free", Exempt: []string{"staff"}, MaxAge: time.Hour,
			Limits: map[string]ratelimit.Limit{
				"free": ratelimit.FixedWindow(tierQuotas["free"], planWindow), "pro": ratelimit.FixedWindow(tierQuotas["pro"], planWindow),
			},
			Resolve: func(r *ratelimit.Request) (ratelimit.Identity, error) {
				p := b.plans[r.User()]
				return ratelimit.Identity{Key: ratelimit.UserKey(r.User()), Tier: p.tier, Times: p.times}, nil
			},
		}
		table := ratelimit.Policy{
			Name: "table", Key: ratelimit.ByUser(), Limit: ratelimit.FixedWindow(endpointQuotas[""], tableWindow),
			Endpoints: make(map[string]ratelimit.Limit), Costs: endpointCosts,
			Penalty: &ratelimit.Penalty{Base: blockBase, Factor: 3, Cap: blockCap, ForgetAfter: forgetAfter, Tolerate: tolerated},
		}
		for pattern, quota := range endpointQuotas {
			if pattern != "" {
				table.Endpoints[pattern] = ratelimit.FixedWindow(quota, tableWindow)
			}
		}
		l, err := ratelimit.New(s, table, ratelimit.Policy{Name: "plan", Tiers: tiers})
		if err != nil {
			t.Fatal(err)
		}
		limiters, caches = append(limiters, l), append(caches, tiers)
	}
	users := []string{"ann", "bob", "cid"}
	for _, user := range users {
		b.plans[user] = plan{tier: "free"}
	}
	routes := []struct{ method, route, endpoint string }{
		{http.MethodPost, "/login", "POST /login"},
		{http.MethodGet, "/login", ""},
		{http.MethodGet, "/reports", "/reports"},
		{http.MethodPost, "/reports", "/reports"},
		{http.MethodGet, "/admin/users/{id}", "/admin/..."},
		{http.MethodHead, "/", ""},
		{http.MethodGet, "", ""},
	}
	counts := make(map[ratelimit.Reason]int)
	for step := range 1500 {
		user, at := users[rnd.IntN(len(users))], routes[rnd.IntN(len(routes))]
		if rnd.IntN(60) == 0 {
			b.plans[user] = plan{[]string{"free", "pro", "staff"}[rnd.IntN(3)], rnd.Int64N(4)}
			for _, cache := range caches {
				cache.Forget(ratelimit.UserKey(user))
			}
		}
		allowed, reason := b.decide(user, at.endpoint)
		counts[reason]++
		var call ratelimit.Call
		limiters[rnd.IntN(len(limiters))].Begin(&call, asked{at.method, at.route, user, "192.0.2.1:1"}, make(http.Header))
		got := call.Decision()
		if call.Proceed() != allowed || !allowed && got.Reason != reason {
			t.Fatalf("seed %d, step %d, at %v, %s asks %s %s (plan %+v): proceed %t, %v, want %t, %v; %s",
				seed, step, b.now, user, at.method, at.route, b.plans[user], call.Proceed(), got.Reason, allowed, reason, told(&got))
		}
		call.Finish(http.StatusOK, false)
		mu.Lock()
		passed := time.Duration(rnd.Int64N(int64(3*time.Second/time.Microsecond))) * time.Microsecond
		now, b.now = now.Add(passed), b.now+passed
		mu.Unlock()
	}
	for _, reason := range []ratelimit.Reason{ratelimit.ReasonWithinLimits, ratelimit.ReasonRateLimited, ratelimit.ReasonBlocked} {
		if counts[reason] < 20 {
			t.Errorf("only %d requests were %v: the schedule proves little", counts[reason], reason)
		}
	}
}

func told(d *ratelimit.Decision) string {
	var text strings.Builder
	for _, p := range d.Policies() {
		fmt.Fprintf(&text, "%s %s %+v; ", p.Policy, p.Tier, p.Result)
	}
	return text.String()
}

// Whether a charge fits is decided on what its key holds by its own quota, also
// after a charge of the same request that drains the key by a higher one.
func TestQuotasOfOneKey(t *testing.T) {
	server := redistest.Start(t)
	now := time.UnixMicro(1_800_000_000_000_000)
	s := open(t, server.Client(), withClock(func() time.Time { return now }))
	slow, fast := ratelimit.TokenBucket(1, time.Second, 10), ratelimit.TokenBucket(2, time.Second, 10)
	take(t, s, charge("client", slow, 8))
	now = now.Add(2500 * time.Millisecond)
	for _, mode := range []ratelimit.Mode{ratelimit.ModePeek, ratelimit.ModeShadow} {
		later := charge("client", slow, 4)
		later.Mode = mode
		// 5.5 are used, to which 1 and 4 do not fit.
		if r := take(t, s, charge("client", fast, 1), later); !r[0].Allowed || r[1].Allowed {
			t.Errorf("mode %d: allowed %t and %t, want true and false", mode, r[0].Allowed, r[1].Allowed)
		}
		if n := left(t, s, "client", fast); n != 6 {
			t.Errorf("mode %d: %d left, want 6", mode, n)
		}
		if err := s.Reset(t.Context(), []ratelimit.Key{later.Key()}); err != nil {
			t.Fatal(err)
		}
		take(t, s, charge("client", slow, 8))
		now = now.Add(2500 * time.Millisecond)
	}
}
