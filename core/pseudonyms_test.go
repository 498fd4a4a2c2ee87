package ratelimit_test

import (
	"net/netip"
	"strings"
	"testing"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

func TestPseudonyms(t *testing.T) {
	var p ratelimit.Pseudonyms
	seen := make(map[string]bool)
	for key, want := range map[ratelimit.Partition]string{
		ratelimit.IPKey(netip.MustParseAddr("192.0.2.77")):      "ip:192.0.2.0/24",
		ratelimit.IPKey(netip.MustParseAddr("192.0.2.78")):      "ip:192.0.2.0/24",
		ratelimit.IPKey(netip.MustParseAddr("2001:db8:1:2::3")): "ip:2001:db8:1::/48",
		"ip:10.0.0.0/8":          "ip:10.0.0.0/8",
		"anon-ip:192.0.2.77":     "anon-ip:192.0.2.0/24",
		"ip:unknown":             "ip",
		ratelimit.UserKey("ann"): "user",
		ratelimit.UserKey(strings.Repeat("a", 999)):                                 "user",
		ratelimit.AccountKey("ann@example.com"):                                     "account",
		ratelimit.HeaderKey("X-API-Key", "secret"):                                  "header(x-api-key)",
		ratelimit.NamedKey("tenant 7"):                                              "key",
		ratelimit.JoinKeys(ratelimit.UserKey("ann"), "route:/search", "method:GET"): "user|route:/search|method:GET",
		"ip:192.0.2.77|endpoint:POST%20/login":                                      "ip:192.0.2.0/24|endpoint:POST%20/login",
		"func-tenant:seven":                                                         "func-tenant",
		"tenant-7:ann":                                                              "",
		"(ann):7":                                                                   "",
		"odd":                                                                       "",
		"":                                                                          "",
	} {
		got := p.Of(key)
		shown, hash, _ := strings.Cut(got, "~")
		if shown != want || len(hash) != 12 || seen[hash] {
			t.Errorf("%s is shown as %s, want %s~ and a hash of its own", key, got, want)
		}
		if seen[hash] = true; p.Of(key) != got {
			t.Errorf("%s has two pseudonyms", key)
		}
	}
}

func TestPseudonymsSecret(t *testing.T) {
	key := ratelimit.UserKey("ann")
	of := func(secret string) string { return (&ratelimit.Pseudonyms{Secret: []byte(secret)}).Of(key) }
	seen := make(map[string]bool)
	for _, secret := range []string{"0123456789abcdef", "0123456789abcdef", "0123456789abcdeg", "", ""} {
		seen[of(secret)] = true
	}
	if len(seen) != 4 {
		t.Errorf("four secrets, of which two are random, give %d pseudonyms", len(seen))
	}
}
