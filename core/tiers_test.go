package ratelimit_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

var errDirectory = errors.New("directory is down")

// directory is where a resolver looks clients up by their X-API-Key.
type directory struct {
	mu      sync.Mutex
	clients map[string]ratelimit.Identity
	err     error
	asked   int
	// slow, if set, is called before the answer.
	slow func(*ratelimit.Request)
}

func (d *directory) resolve(r *ratelimit.Request) (ratelimit.Identity, error) {
	d.mu.Lock()
	who, err := d.clients[r.Header("X-API-Key")], d.err
	d.asked++
	d.mu.Unlock()
	if d.slow != nil {
		d.slow(r)
	}
	return who, err
}

func (d *directory) set(key, user, tier string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.clients == nil {
		d.clients = make(map[string]ratelimit.Identity)
	}
	d.clients[key] = ratelimit.Identity{Key: ratelimit.UserKey(user), Tier: tier}
}

func (d *directory) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = err
}

// tiers are plans that are looked up in d.
func (d *directory) tiers() *ratelimit.Tiers {
	return &ratelimit.Tiers{
		Resolve: d.resolve,
		By:      ratelimit.ByHeader("X-API-Key"),
		Limits: map[string]ratelimit.Limit{
			"free": ratelimit.TokenBucket(60, time.Hour, 2), "gold": ratelimit.TokenBucket(3600, time.Hour, 50),
			"staff": ratelimit.Unlimited, "blocked": ratelimit.TokenBucket(0, time.Hour, 1),
		},
		Default: "free",
		Exempt:  []string{"monitoring"},
	}
}

// with is a request with an API key.
func with(key string) *fakeRequest {
	return &fakeRequest{header: http.Header{"X-Api-Key": {key}}}
}

func TestExemptTier(t *testing.T) {
	d := new(directory)
	d.set("k1", "probe", "monitoring")
	store := newModelStore()
	var seen []ratelimit.Decision
	observed := ratelimit.Observe(ratelimit.Observer{Decision: func(_ context.Context, o *ratelimit.Observation) { seen = append(seen, *o.Decision) }})
	l := mustNew(t, store, observed, ratelimit.Policy{Name: "plan", Tiers: d.tiers()})
	call, header := begin(l, with("k1"))
	if !call.Proceed() || len(header) != 0 || len(store.charges) != 0 || seen[0].Reason != ratelimit.ReasonExempt {
		t.Errorf("proceeds %v, fields %v, %d charges, %v", call.Proceed(), header, len(store.charges), seen[0].Reason)
	}
	both := mustNew(t, store, ratelimit.Policy{Name: "plan", Tiers: d.tiers()}, ratelimit.Policy{Name: "ip", Limit: ratelimit.PerMinute(9)})
	if _, header := begin(both, with("k1")); !strings.HasPrefix(header.Get("RateLimit-Policy"), `"ip"`) {
		t.Errorf("another policy: fields %v", header)
	}
}

func TestByThatLeavesThePolicyOut(t *testing.T) {
	d := new(directory)
	plans := d.tiers()
	plans.By = ratelimit.ByUserOnly()
	l := mustNew(t, newModelStore(), ratelimit.Policy{Name: "plan", Tiers: plans})
	if call, header := begin(l, &fakeRequest{}); !call.Proceed() || len(header) != 0 || d.asked != 0 {
		t.Errorf("without a user: proceeds %v, fields %v, asked %d times", call.Proceed(), header, d.asked)
	}
	begin(l, &fakeRequest{user: "ann"})
	if d.asked != 1 {
		t.Errorf("with a user: asked %d times", d.asked)
	}
}

func TestTierDiagnostics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := new(directory)
		d.set("k1", "ann@example.com", strings.Repeat("platinum", 20))
		d.clients["k2"] = ratelimit.Identity{Key: ratelimit.UserKey("bob@example.com"), Tier: "gold", Times: -1}
		var log bytes.Buffer
		l := mustNew(t, newModelStore(), ratelimit.Policy{Name: "plan", Tiers: d.tiers()}, ratelimit.Logger(slog.New(slog.NewTextHandler(&log, nil))))
		d.set("k3", "cid@example.com", "")
		begin(l, with("k3"))
		begin(l, with(""))
		if log.Len() > 0 {
			t.Errorf("having no tier is nothing to report: %s", log.String())
		}
		for range 3 {
			begin(l, with("k1"))
			if _, header := begin(l, with("k2")); header.Get("X-RateLimit-Limit") != "50" {
				t.Errorf("an override that can't be used: the limit is %s, want the tier's 50", header.Get("X-RateLimit-Limit"))
			}
		}
		time.Sleep(10 * time.Second)
		begin(l, with("k1"))
		begin(l, with("k2"))
		text := log.String()
		for _, says := range []string{
			"code=" + ratelimit.CodeTierUnknown, "tier=" + strings.Repeat("platinum", 8) + " ", "policy=plan",
			"code=" + ratelimit.CodeTierOverride, "tier=gold", "negative", "suppressed=2",
		} {
			if !strings.Contains(text, says) {
				t.Errorf("the log does not say %q", says)
			}
		}
		if n := strings.Count(text, "code="); n != 4 {
			t.Errorf("%d messages, want 4", n)
		}
		if strings.Contains(text, "ann") || strings.Contains(text, "bob") || strings.Contains(text, "k1") {
			t.Errorf("the log names a client:\n%s", text)
		}
	})
}

func TestTiersByUserSaySoWithoutConfigUser(t *testing.T) {
	d := new(directory)
	plans := d.tiers()
	plans.By = ratelimit.FirstOf(ratelimit.ByUser(), ratelimit.ByAccount())
	var log bytes.Buffer
	l := mustNew(t, newModelStore(), ratelimit.Policy{Name: "plan", Tiers: plans}, ratelimit.Logger(slog.New(slog.NewTextHandler(&log, nil))))
	l.UserUnset()
	l.AccountUnset()
	if text := log.String(); !strings.Contains(text, ratelimit.CodeUserUnset) || !strings.Contains(text, ratelimit.CodeAccountUnset) {
		t.Errorf("the log says %q", text)
	}
}
