package memstore_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/memstore"
)

// visit is a request with an API key.
type visit struct{ key string }

func (visit) Context() context.Context { return context.Background() }
func (visit) Method() string           { return http.MethodGet }
func (visit) Route() (string, bool)    { return "/", true }
func (visit) RemoteAddr() string       { return "192.0.2.1:1234" }
func (visit) User() string             { return "" }
func (visit) Account() string          { return "" }
func (v visit) Header(name string) []string {
	if name != "X-Api-Key" {
		return nil
	}
	return []string{v.key}
}

// A client whose tier changes keeps what was used, whichever way it goes and
// however the change gets known.
func TestAChangeOfTierKeepsWhatWasUsed(t *testing.T) {
	for name, limit := range map[string]func(quota int64) ratelimit.Limit{
		"sliding window": func(quota int64) ratelimit.Limit { return ratelimit.SlidingWindow(quota, 24*time.Hour) },
		"fixed window":   func(quota int64) ratelimit.Limit { return ratelimit.FixedWindow(quota, 24*time.Hour) },
		"sliding log":    func(quota int64) ratelimit.Limit { return ratelimit.SlidingLog(quota, 24*time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				who := ratelimit.Identity{Key: ratelimit.UserKey("ann"), Tier: "free"}
				plans := &ratelimit.Tiers{
					Resolve: func(*ratelimit.Request) (ratelimit.Identity, error) { return who, nil },
					By:      ratelimit.ByHeader("X-API-Key"),
					Limits:  map[string]ratelimit.Limit{"free": limit(10), "gold": limit(100), "blocked": limit(0)},
					Default: "free",
					Exempt:  []string{"internal"},
				}
				l, err := ratelimit.New(memstore.New(), ratelimit.Policy{Name: "plan", Tiers: plans})
				if err != nil {
					t.Fatal(err)
				}
				want := func(what, remaining string, passes bool) {
					t.Helper()
					call, header := new(ratelimit.Call), http.Header{}
					l.Begin(call, visit{key: "k1"}, header)
					if got := header.Get("X-RateLimit-Remaining"); got != remaining || call.Proceed() != passes {
						t.Errorf("%s: %q remain, proceeds %v; want %q, %v", what, got, call.Proceed(), remaining, passes)
					}
					call.Finish(http.StatusOK, false)
				}
				for range 9 {
					l.Begin(new(ratelimit.Call), visit{key: "k1"}, http.Header{})
				}
				want("the last of 10", "0", true)
				want("one more", "0", false)

				who.Tier = "gold"
				want("upgraded, but nobody told", "0", false)
				plans.Forget(who.Key)
				want("told: 10 of 100 were used", "89", true)
				who.Times = 5
				time.Sleep(30 * time.Second)
				want("five times 100, known by age", "488", true)
				who = ratelimit.Identity{Key: who.Key, Tier: "free"}
				plans.Forget(who.Key)
				want("downgraded: 12 of 10 were used", "0", false)
				who.Tier = "internal"
				plans.Forget(who.Key)
				want("exempt", "", true)
				who.Tier = "blocked"
				plans.Forget(who.Key)
				want("blocked", "0", false)
				who.Tier = "gold"
				plans.Forget(who.Key)
				want("let in again: 12 of 100 were used", "87", true)
			})
		})
	}
}
