package ratelimit_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// partitionOf returns what a key makes of a request, "" if the policy is left
// out.
func partitionOf(t *testing.T, key ratelimit.KeyBuilder, r *fakeRequest, options ...ratelimit.Option) string {
	t.Helper()
	store := newModelStore()
	l := mustNew(t, store, append(options, ratelimit.Policy{Name: "p", Key: key, Limit: ratelimit.PerMinute(9)})...)
	begin(l, r)
	if len(store.charges) == 0 {
		return ""
	}
	return string(store.charges[0].Partition)
}

func TestKeys(t *testing.T) {
	request := func(change func(*fakeRequest)) *fakeRequest {
		r := &fakeRequest{method: "GET", route: "/u/{id}", header: http.Header{}}
		change(r)
		return r
	}
	bare := request(func(*fakeRequest) {})
	ann := request(func(r *fakeRequest) { r.user, r.account = "ann", " Ann@Example.COM " })
	keyed := request(func(r *fakeRequest) {
		r.header["X-Api-Key"] = []string{"xxxx_live_1"}
		r.header["Cookie"] = []string{"a=b; session=s1"}
	})
	tests := []struct {
		name string
		key  ratelimit.KeyBuilder
		r    *fakeRequest
		want string
	}{
		{"zero key", ratelimit.KeyBuilder{}, bare, "ip:192.0.2.1"},
		{"ip", ratelimit.ByIP(), bare, "ip:192.0.2.1"},
		{"IPv6 is its /64", ratelimit.ByIP(), request(func(r *fakeRequest) { r.peer = "[2001:DB8:0:1:2::9%eth0]:80" }), "ip:2001:db8:0:1::/64"},
		{"mapped IPv4 is IPv4", ratelimit.ByIP(), request(func(r *fakeRequest) { r.peer = "[::ffff:102:304]:80" }), "ip:1.2.3.4"},
		{"no address", ratelimit.ByIP(), request(func(r *fakeRequest) { r.peer = "@" }), "ip:unknown"},
		{"user", ratelimit.ByUser(), ann, "user:ann"},
		{"no user", ratelimit.ByUser(), bare, "anon-ip:192.0.2.1"},
		{"user only", ratelimit.ByUserOnly(), ann, "user:ann"},
		{"no user, user only", ratelimit.ByUserOnly(), bare, ""},
		{"account is folded", ratelimit.ByAccount(), ann, "account:ann@example.com"},
		{"no account is shared", ratelimit.ByAccount(), bare, "none:"},
		{"no cookie", ratelimit.ByCookie("session"), bare, "anon-ip:192.0.2.1"},
		{"route", ratelimit.ByRoute(), bare, "route:/u/%7Bid%7D"},
		{"no route", ratelimit.ByRoute(), request(func(r *fakeRequest) { r.route = "" }), "route:unmatched"},
		{"HEAD is GET", ratelimit.ByMethod(), request(func(r *fakeRequest) { r.method = "HEAD" }), "method:GET"},
		{"constant", ratelimit.ByConstant("all"), bare, "key:all"},
		{"function", ratelimit.ByFunc("tenant", func(r *ratelimit.Request) string { return r.User() }), ann, "func-tenant:ann"},
		{"function without answer", ratelimit.ByFunc("tenant", func(r *ratelimit.Request) string { return r.User() }), bare, "anon-ip:192.0.2.1"},
		{"partition", ratelimit.ByPartition(func(*ratelimit.Request) ratelimit.Partition { return ratelimit.UserKey("x") }), bare, "user:x"},
		{"combination", ratelimit.Combine(ratelimit.ByUser(), ratelimit.ByMethod()), ann, "user:ann|method:GET"},
		{"combination leaves out", ratelimit.Combine(ratelimit.ByMethod(), ratelimit.ByUserOnly()), bare, ""},
		{"first of, first", ratelimit.FirstOf(ratelimit.ByUser(), ratelimit.ByIP()), ann, "user:ann"},
		{"first of, last", ratelimit.FirstOf(ratelimit.ByUser(), ratelimit.ByIP()), bare, "ip:192.0.2.1"},
		{"first of, none", ratelimit.FirstOf(ratelimit.ByUser(), ratelimit.ByAccount()), bare, "none:"},
		{"first of, none, left out", ratelimit.FirstOf(ratelimit.ByAccount(), ratelimit.ByUserOnly()), bare, ""},
		{"first of combinations", ratelimit.FirstOf(
			ratelimit.Combine(ratelimit.ByUser(), ratelimit.ByRoute()),
			ratelimit.Combine(ratelimit.ByIP(), ratelimit.ByMethod())), bare, "ip:192.0.2.1|method:GET"},
		{"first of first of", ratelimit.FirstOf(ratelimit.FirstOf(ratelimit.ByUser(), ratelimit.ByHeader("X-None")), ratelimit.ByMethod()), bare, "method:GET"},
	}
	for _, test := range tests {
		if got := partitionOf(t, test.key, test.r); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}

	secret := partitionOf(t, ratelimit.ByHeader("x-api-key"), keyed)
	if secret != string(ratelimit.HeaderKey("X-API-KEY", "xxxx_live_1")) || strings.Contains(secret, "live") {
		t.Errorf("a header's partition is %q", secret)
	}
	if other := ratelimit.HeaderKey("X-API-KEY", "xxxx_live_2"); string(other) == secret {
		t.Error("two API keys with a common beginning share a partition")
	}
	if cookie := partitionOf(t, ratelimit.ByCookie("session"), keyed); !strings.HasPrefix(cookie, "cookie(session)#") || strings.Contains(cookie, "s1") {
		t.Errorf("a cookie's partition is %q", cookie)
	}
	for _, line := range []string{`x={"j":1}; session=s1`, "session=s1; a b=c", "session=s1;; =; bad", "sessio=n; \x00=1; session=s1; session=s2"} {
		odd := request(func(r *fakeRequest) { r.header["Cookie"] = []string{"a=b", line} })
		if got, want := partitionOf(t, ratelimit.ByCookie("session"), odd), partitionOf(t, ratelimit.ByCookie("session"), keyed); got != want {
			t.Errorf("beside what is no cookie (%q) the partition is %q, want %q", line, got, want)
		}
	}
}

func TestIPPrefixes(t *testing.T) {
	got := partitionOf(t, ratelimit.ByIP(), &fakeRequest{peer: "192.0.2.77:1"}, ratelimit.IPPrefixes(24, 48))
	if got != "ip:192.0.2.0/24" {
		t.Errorf("%q", got)
	}
	got = partitionOf(t, ratelimit.ByIP(), &fakeRequest{peer: "[2001:db8:1:2::3]:1"}, ratelimit.IPPrefixes(24, 48))
	if got != "ip:2001:db8:1::/48" {
		t.Errorf("%q", got)
	}
}

func TestClientBehindProxies(t *testing.T) {
	r := &fakeRequest{peer: "10.0.0.1:1", header: http.Header{
		"X-Forwarded-For": {"6.6.6.6", "198.51.100.7, 10.0.0.2"}, "Forwarded": {"for=203.0.113.5"}, "Cf-Connecting-Ip": {"203.0.113.9"},
	}}
	trust := ratelimit.TrustProxies("10.0.0.0/8")
	for _, test := range []struct {
		name    string
		options []ratelimit.Option
		want    string
	}{
		{"nobody is trusted", nil, "ip:10.0.0.1"},
		{"X-Forwarded-For", []ratelimit.Option{trust}, "ip:198.51.100.7"},
		{"Forwarded", []ratelimit.Option{trust, ratelimit.ClientIPHeader("forwarded")}, "ip:203.0.113.5"},
		{"a provider's", []ratelimit.Option{trust, ratelimit.ClientIPHeader("CF-Connecting-IP")}, "ip:203.0.113.9"},
		{"an untrusted peer", []ratelimit.Option{ratelimit.TrustProxies("172.16.0.0/12")}, "ip:10.0.0.1"},
	} {
		if got := partitionOf(t, ratelimit.ByIP(), r, test.options...); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// TestPartitionsNeverMeet gives texts that would run together, imitate another
// kind or break out of a store's key, and wants a partition of its own for each.
func TestPartitionsNeverMeet(t *testing.T) {
	texts := []string{
		"", "a", "A", "a|b", "a%7Cb", "b", "ip:192.0.2.1", "192.0.2.1", "x}{y", "{}", "a b", "a\x00b", "a\nb", "ü", "u\u0308", "#", "a:b",
		strings.Repeat("long", 33), strings.Repeat("long", 34), "none:",
	}
	seen := map[ratelimit.Partition]string{}
	note := func(what string, p ratelimit.Partition) {
		if other, dup := seen[p]; dup {
			t.Errorf("%s and %s are both %q", what, other, p)
		}
		seen[p] = what
		for i := range len(p) {
			if p[i] <= ' ' || p[i] > '~' || p[i] == '{' || p[i] == '}' {
				t.Errorf("%s: %q holds %q", what, p, p[i])
			}
		}
		if len(p) > 900 {
			t.Errorf("%s has %d bytes", what, len(p))
		}
	}
	for _, text := range texts {
		note("user "+text, ratelimit.UserKey(text))
		note("named "+text, ratelimit.NamedKey(text))
		note("header a "+text, ratelimit.HeaderKey("a", text))
		note("header a)#b "+text, ratelimit.HeaderKey("a)#b", text))
		for _, other := range texts {
			note("user "+text+" and named "+other, ratelimit.JoinKeys(ratelimit.UserKey(text), ratelimit.NamedKey(other)))
		}
	}
	note("ip", ratelimit.IPKey(netip.MustParseAddr("192.0.2.1")))
	note("no ip", ratelimit.IPKey(netip.Addr{}))
	if a, b := ratelimit.AccountKey(" A@x "), ratelimit.AccountKey("a@X"); a != b {
		t.Errorf("%q and %q are one account", a, b)
	}
}
