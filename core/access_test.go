package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// listOf is a list with these entries.
func listOf(t testing.TB, entries ...entry) *ratelimit.AccessList {
	t.Helper()
	l := new(ratelimit.AccessList)
	mustAdd(t, l, entries...)
	return l
}

var perHour = ratelimit.Policy{Name: "per-ip", Limit: ratelimit.SlidingLog(100, time.Hour)}

func TestWhomADenyListNames(t *testing.T) {
	byHeader := ratelimit.Policy{Name: "key", Key: ratelimit.ByHeader("X-API-Key"), Limit: ratelimit.PerHour(9)}
	tiers := ratelimit.Policy{Name: "plan", Tiers: &ratelimit.Tiers{
		Resolve: func(r *ratelimit.Request) (ratelimit.Identity, error) {
			return ratelimit.Identity{Key: ratelimit.NamedKey("tenant-" + r.Header("Tenant"))}, nil
		},
		Limits: map[string]ratelimit.Limit{"all": ratelimit.Unlimited}, Default: "all",
	}}
	post := byHeader
	post.Match = "POST"
	endpoints := ratelimit.Policy{
		Name: "table", Key: ratelimit.ByUser(), Limit: ratelimit.PerHour(9),
		Endpoints: map[string]ratelimit.Limit{"GET /a": ratelimit.PerHour(5)},
	}
	fields := map[string][]string{"X-Api-Key": {"s3cr3t"}, "Tenant": {"7"}}
	forwarded := fakeRequest{header: map[string][]string{"X-Forwarded-For": {"198.51.100.1"}}}
	behindProxy := []ratelimit.Option{ratelimit.TrustProxies("192.0.2.0/24")}
	for _, c := range []struct {
		name    string
		entry   entry
		request fakeRequest
		options []ratelimit.Option
		denied  bool
	}{
		{"an address", entry{Network: "192.0.2.1"}, fakeRequest{}, nil, true},
		{"another address", entry{Network: "192.0.2.2"}, fakeRequest{}, nil, false},
		{"a network", entry{Network: "192.0.0.0/16"}, fakeRequest{}, nil, true},
		{"an IPv6 network", entry{Network: "2001:db8::/32"}, fakeRequest{peer: "[2001:db8:7::1]:80"}, nil, true},
		{"an IPv4 client as IPv6", entry{Network: "192.0.2.0/24"}, fakeRequest{peer: "[::ffff:192.0.2.1]:80"}, nil, true},
		{"all of IPv6", entry{Network: "::/0"}, fakeRequest{}, nil, false},
		{"no address", entry{Network: "0.0.0.0/0"}, fakeRequest{peer: "@"}, nil, false},
		{"a forged address", entry{Network: "198.51.100.0/24"}, forwarded, nil, false},
		{"an address that hides", entry{Network: "192.0.2.1"}, forwarded, nil, true},
		{"an address behind a proxy", entry{Network: "198.51.100.1"}, forwarded, behindProxy, true},
		{"the proxy", entry{Network: "192.0.2.1"}, forwarded, behindProxy, false},
		{"the key of an address", entry{Key: ratelimit.IPKey(netip.MustParseAddr("192.0.2.1"))}, fakeRequest{}, nil, true},
		{"the key of an IPv6 address", entry{Key: ratelimit.IPKey(netip.MustParseAddr("2001:db8::1"))}, fakeRequest{peer: "[2001:db8::2]:80"}, nil, true},
		{"the key of a network that is counted as one", entry{Key: "ip:192.0.2.0/24"}, fakeRequest{}, []ratelimit.Option{ratelimit.IPPrefixes(24, 64)}, true},
		{"the key of a network that is not", entry{Key: "ip:192.0.2.0/24"}, fakeRequest{}, nil, false},
		{"a user", entry{Key: ratelimit.UserKey("mallory")}, fakeRequest{user: "mallory"}, nil, true},
		{"another user", entry{Key: ratelimit.UserKey("mallory")}, fakeRequest{user: "mallory2"}, nil, false},
		{"a user by the name of an address", entry{Network: "192.0.2.9"}, fakeRequest{user: "192.0.2.9"}, nil, false},
		{"a user with a long name", entry{Key: ratelimit.UserKey(strings.Repeat("m", 500))}, fakeRequest{user: strings.Repeat("m", 500)}, nil, true},
		{"nobody", entry{Key: ratelimit.UserKey("")}, fakeRequest{}, nil, false},
		{"an API key", entry{Key: ratelimit.HeaderKey("X-API-Key", "s3cr3t")}, fakeRequest{header: fields}, []ratelimit.Option{byHeader}, true},
		{"an API key that nobody counts by", entry{Key: ratelimit.HeaderKey("X-API-Key", "s3cr3t")}, fakeRequest{header: fields}, nil, false},
		{"an API key where it is not counted by", entry{Key: ratelimit.HeaderKey("X-API-Key", "s3cr3t")}, fakeRequest{header: fields}, []ratelimit.Option{post}, false},
		{"an identity without a limit", entry{Key: ratelimit.NamedKey("tenant-7")}, fakeRequest{header: fields}, []ratelimit.Option{tiers}, true},
		{"a key at all endpoints", entry{Key: "anon-ip:192.0.2.1"}, fakeRequest{method: "GET", route: "/a"}, []ratelimit.Option{endpoints}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := newModelStore()
			l := mustNew(t, store, append([]ratelimit.Option{perHour, ratelimit.DenyList(new(ratelimit.AccessList), listOf(t, c.entry))}, c.options...)...)
			call, header := begin(l, &c.request)
			if call.Proceed() == c.denied {
				t.Fatalf("the request proceeds: %t", call.Proceed())
			}
			if !c.denied {
				return
			}
			d := call.Decision()
			if d.Reason != ratelimit.ReasonDenyListed || d.RetryAfter != ratelimit.Never || len(d.Policies()) != 0 || d.Policy != "" {
				t.Errorf("decision %+v", d)
			}
			if len(store.charges) != 0 {
				t.Errorf("charged %+v", store.charges)
			}
			if len(header) != 1 || header.Get("Cache-Control") != "no-store" {
				t.Errorf("fields %v", header)
			}
			if a := call.Answer(); a.Status != http.StatusForbidden || string(a.Body) != `{"error":"access_denied","message":"Access is denied.",`+
				`"limit":null,"remaining":null,"reset":null,"retry_after":null,"policy":null}`+"\n" {
				t.Errorf("answer %d %s", a.Status, a.Body)
			}
			call.Finish(0, false)
		})
	}
}

// TestKeyOfOneEndpoint has the key on the list that a policy with endpoints
// counts one of them by.
func TestKeyOfOneEndpoint(t *testing.T) {
	store := newModelStore()
	list := new(ratelimit.AccessList)
	l := mustNew(t, store, ratelimit.DenyList(list), ratelimit.Policy{
		Name: "table", Key: ratelimit.ByUser(), Limit: ratelimit.PerHour(9),
		Endpoints: map[string]ratelimit.Limit{"GET /a": ratelimit.PerHour(5), "GET /b": ratelimit.PerHour(5)},
	})
	a, b := &fakeRequest{method: "GET", route: "/a", user: "ann"}, &fakeRequest{method: "GET", route: "/b", user: "ann"}
	begin(l, a)
	mustAdd(t, list, entry{Key: store.charges[0].Partition})
	if call, _ := begin(l, a); call.Proceed() {
		t.Error("the endpoint is not refused")
	}
	if call, _ := begin(l, b); !call.Proceed() {
		t.Error("another endpoint is refused")
	}
}

func TestDenyListAndEarlierFields(t *testing.T) {
	l := mustNew(t, newModelStore(), perHour, ratelimit.DenyList(listOf(t, networks("192.0.2.1")...)))
	header := http.Header{
		"Retry-After": {"7"}, "Ratelimit": {`"edge";r=5`}, "X-Ratelimit-Remaining": {"5"}, "Etag": {`"v1"`}, "Cache-Control": {"public"}, "X-Edge": {"1"},
	}
	l.Begin(new(ratelimit.Call), &fakeRequest{}, header)
	if len(header) != 2 || header.Get("Cache-Control") != "no-store" || header.Get("X-Edge") != "1" {
		t.Errorf("fields %v", header)
	}
	call := new(ratelimit.Call)
	l.Begin(call, &fakeRequest{header: map[string][]string{"Accept": {"application/problem+json"}}}, http.Header{})
	if got := string(call.Answer().Body); got != `{"type":"about:blank","title":"Forbidden","status":403,"detail":"Access is denied."}`+"\n" {
		t.Errorf("body %s", got)
	}
}

func TestAllowAndDenyAndExempt(t *testing.T) {
	address, user := networks("192.0.2.0/24"), []entry{{Key: ratelimit.UserKey("ann")}}
	exempt := ratelimit.Exempt(ratelimit.ExemptIPs("192.0.2.0/24"))
	byHeader := ratelimit.Policy{Name: "key", Key: ratelimit.ByHeader("X-API-Key"), Limit: ratelimit.PerHour(9)}
	key := []entry{{Key: ratelimit.HeaderKey("X-API-Key", "k")}}
	for _, c := range []struct {
		name    string
		options []ratelimit.Option
		reason  ratelimit.Reason
	}{
		{"allowed by address", []ratelimit.Option{ratelimit.AllowList(listOf(t, address...))}, ratelimit.ReasonExempt},
		{"allowed by user", []ratelimit.Option{ratelimit.AllowList(new(ratelimit.AccessList), listOf(t, user...))}, ratelimit.ReasonExempt},
		{"allowed by a policy's key", []ratelimit.Option{ratelimit.AllowList(listOf(t, key...))}, ratelimit.ReasonExempt},
		{"denied and allowed by address", []ratelimit.Option{ratelimit.AllowList(listOf(t, address...)), ratelimit.DenyList(listOf(t, address...))}, ratelimit.ReasonDenyListed},
		{"denied by user and allowed by address", []ratelimit.Option{ratelimit.AllowList(listOf(t, address...)), ratelimit.DenyList(listOf(t, user...))}, ratelimit.ReasonDenyListed},
		{"denied and allowed by a policy's key", []ratelimit.Option{ratelimit.AllowList(listOf(t, key...)), ratelimit.DenyList(listOf(t, key...))}, ratelimit.ReasonDenyListed},
		{"denied by a policy's key, which does not apply to who is allowed", []ratelimit.Option{ratelimit.AllowList(listOf(t, user...)), ratelimit.DenyList(listOf(t, key...))}, ratelimit.ReasonExempt},
		{"denied and exempt", []ratelimit.Option{exempt, ratelimit.DenyList(listOf(t, address...))}, ratelimit.ReasonDenyListed},
		{"neither", []ratelimit.Option{ratelimit.DenyList(listOf(t, networks("192.0.3.0/24")...)), ratelimit.AllowList(listOf(t, networks("192.0.4.0/24")...))}, ratelimit.ReasonWithinLimits},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := newModelStore()
			var seen []ratelimit.Reason
			l := mustNew(t, store, append(c.options, perHour, byHeader, ratelimit.Observe(ratelimit.Observer{
				Decision: func(_ context.Context, o *ratelimit.Observation) {
					if o.Method != http.MethodGet || o.Route != "/a" {
						t.Errorf("observers see %s %s", o.Method, o.Route)
					}
					seen = append(seen, o.Decision.Reason)
				},
			}))...)
			call, header := begin(l, &fakeRequest{method: "GET", route: "/a", user: "ann", header: map[string][]string{"X-Api-Key": {"k"}}})
			if len(seen) != 1 || seen[0] != c.reason || call.Proceed() != (c.reason != ratelimit.ReasonDenyListed) {
				t.Errorf("reasons %v, want %v; the request proceeds: %t", seen, c.reason, call.Proceed())
			}
			if (len(store.charges) > 0) != (c.reason == ratelimit.ReasonWithinLimits) {
				t.Errorf("charged %+v", store.charges)
			}
			if c.reason == ratelimit.ReasonExempt && len(header) > 0 {
				t.Errorf("fields %v", header)
			}
		})
	}
}

func TestDenyListInShadow(t *testing.T) {
	store := newModelStore()
	var seen []ratelimit.Decision
	list := listOf(t, networks("192.0.2.1")...)
	l := mustNew(t, store, ratelimit.DenyList(list), ratelimit.Shadow(), perHour, ratelimit.Observe(ratelimit.Observer{
		Decision: func(_ context.Context, o *ratelimit.Observation) { seen = append(seen, *o.Decision) },
	}))
	call, header := begin(l, &fakeRequest{})
	if !call.Proceed() || len(header) > 0 || len(store.charges) > 0 {
		t.Errorf("the request proceeds: %t, fields %v, charged %+v", call.Proceed(), header, store.charges)
	}
	if len(seen) != 1 || !seen[0].Allowed || seen[0].Reason != ratelimit.ReasonDenyListed || seen[0].RetryAfter != 0 {
		t.Errorf("observed %+v", seen)
	}
	if err := l.Wait(t.Context(), "ip:192.0.2.1"); err != nil {
		t.Errorf("Wait: %v", err)
	}
	// A policy in shadow is no limiter in shadow.
	shadowed := perHour
	shadowed.Shadow = true
	if call, _ := begin(mustNew(t, store, ratelimit.DenyList(list), shadowed), &fakeRequest{}); call.Proceed() {
		t.Error("with one policy in shadow nobody is refused")
	}
}

func TestListsWithoutHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newModelStore()
		deny := listOf(t, entry{Key: ratelimit.NamedKey("tenant-7")}, entry{Network: "192.0.2.0/24"}, entry{Network: "2001:db8::/48"}, entry{Network: "2001:db9::1"},
			entry{Key: ratelimit.IPKey(netip.MustParseAddr("192.0.5.5"))})
		allow := listOf(t, entry{Key: ratelimit.NamedKey("tenant-8")}, entry{Network: "192.0.0.0/16"})
		var seen []ratelimit.Reason
		l := mustNew(t, store, perHour, ratelimit.DenyList(deny), ratelimit.AllowList(allow), ratelimit.Observe(ratelimit.Observer{
			Decision: func(_ context.Context, o *ratelimit.Observation) { seen = append(seen, o.Decision.Reason) },
		}))
		for key, want := range map[ratelimit.Partition]ratelimit.Reason{
			ratelimit.NamedKey("tenant-7"):                          ratelimit.ReasonDenyListed,
			ratelimit.NamedKey("tenant-8"):                          ratelimit.ReasonExempt,
			ratelimit.NamedKey("tenant-9"):                          ratelimit.ReasonWithinLimits,
			ratelimit.IPKey(netip.MustParseAddr("192.0.2.9")):       ratelimit.ReasonDenyListed,
			ratelimit.IPKey(netip.MustParseAddr("192.0.5.5")):       ratelimit.ReasonDenyListed,
			ratelimit.IPKey(netip.MustParseAddr("192.0.3.9")):       ratelimit.ReasonExempt,
			ratelimit.IPKey(netip.MustParseAddr("192.1.3.9")):       ratelimit.ReasonWithinLimits,
			ratelimit.IPKey(netip.MustParseAddr("2001:db8:0:7::9")): ratelimit.ReasonDenyListed,
			ratelimit.IPKey(netip.MustParseAddr("2001:db9::1")):     ratelimit.ReasonWithinLimits, // a /64, of which one address is listed
			ratelimit.IPKey(netip.Addr{}):                           ratelimit.ReasonWithinLimits,
			ratelimit.UserKey("192.0.2.9"):                          ratelimit.ReasonWithinLimits,
		} {
			denied := want == ratelimit.ReasonDenyListed
			before := len(store.charges)
			seen = nil
			for name, d := range map[string]ratelimit.Decision{"Peek": l.Peek(t.Context(), key), "Allow": l.Allow(t.Context(), key)} {
				if d.Reason != want || d.Allowed == denied || denied && d.RetryAfter != ratelimit.Never {
					t.Errorf("%s of %q: %+v, want %v", name, key, d, want)
				}
			}
			if charged := len(store.charges) > before; charged != (want == ratelimit.ReasonWithinLimits) {
				t.Errorf("%q was asked for: %t", key, charged)
			}
			start := time.Now()
			if err := l.Wait(t.Context(), key); errors.Is(err, ratelimit.ErrDenyListed) != denied || !denied && err != nil || time.Since(start) != 0 {
				t.Errorf("Wait for %q: %v after %v", key, err, time.Since(start))
			}
			if d, r := l.Reserve(t.Context(), key, 5); r != nil || d.Reason != want {
				t.Errorf("Reserve for %q: %+v, %v", key, d, r)
			}
			if len(seen) != 4 || slices.ContainsFunc(seen, func(r ratelimit.Reason) bool { return r != want }) {
				t.Errorf("observers of %q see %v, want four times %v", key, seen, want)
			}
		}
	})
}

// TestListsChangeWhileTheyAreUsed bans a client for a while and shares the list.
func TestListsChangeWhileTheyAreUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var list ratelimit.AccessList
		api := mustNew(t, newModelStore(), perHour, ratelimit.DenyList(&list))
		login := mustNew(t, newModelStore(), ratelimit.Login(), ratelimit.DenyList(&list))
		is := func(denied bool, when string) {
			t.Helper()
			for _, l := range []*ratelimit.Limiter{api, login} {
				call, _ := begin(l, &fakeRequest{})
				if call.Proceed() == denied {
					t.Errorf("%s a request proceeds: %t", when, call.Proceed())
				}
				call.Finish(200, false)
			}
		}
		is(false, "with an empty list")
		mustAdd(t, &list, entry{Key: "ip:192.0.2.1", Until: time.Now().Add(time.Hour)})
		is(true, "at once")
		time.Sleep(time.Hour)
		is(false, "an hour later")
		mustAdd(t, &list, networks("192.0.2.0/24")...)
		is(true, "in a listed network")
		list.Remove(networks("192.0.2.0/24")...)
		is(false, "after it was removed")
	})
}

func TestNewSaysWhatIsWrongWithLists(t *testing.T) {
	for name, option := range map[string]func(...*ratelimit.AccessList) ratelimit.Option{"DenyList": ratelimit.DenyList, "AllowList": ratelimit.AllowList} {
		for _, lists := range [][]*ratelimit.AccessList{nil, {nil}, {new(ratelimit.AccessList), nil}} {
			_, err := ratelimit.New(newModelStore(), perHour, option(lists...))
			if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "new(ratelimit.AccessList)") {
				t.Errorf("%s of %v: %v", name, lists, err)
			}
		}
	}
}

func TestListsAllocateNothing(t *testing.T) {
	var entries []entry
	for i := range 1000 {
		entries = append(entries, entry{Key: ratelimit.NamedKey(strconv.Itoa(i))}, entry{Network: fmt.Sprintf("10.%d.0.0/%d", i&255, 16+i%17)},
			entry{Network: fmt.Sprintf("2001:db8:%x::/%d", i, 48+i%81)})
	}
	list := listOf(t, entries...)
	allocs := func(options ...ratelimit.Option) float64 {
		l := mustNew(t, constantStore{}, append(options, perHour)...)
		r, header, least := &fakeRequest{user: "ann", peer: "[2001:db9:7:8::9]:80"}, nowhere{}, math.Inf(1)
		for range 50 { // the race detector has pools forget now and then
			least = min(least, testing.AllocsPerRun(1, func() { l.Begin(new(ratelimit.Call), r, header) }))
		}
		return least
	}
	if with, without := allocs(ratelimit.DenyList(list), ratelimit.AllowList(list)), allocs(); with != without {
		t.Errorf("%v allocations with lists, %v without", with, without)
	}
}
