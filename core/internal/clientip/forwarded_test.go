package clientip

import (
	"strings"
	"testing"
)

func TestForwarded(t *testing.T) {
	const peer, client = "10.0.0.1", "203.0.113.7"
	for _, c := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"no header", nil, peer},
		{"one hop", []string{"for=203.0.113.7"}, client},
		{"RFC 7239, section 4, in order", []string{`for=192.0.2.43, for="[2001:db8:cafe::17]:4711";proto=https;by=203.0.113.43`}, "2001:db8:cafe::17"},
		{"parameter in any case", []string{"FoR=203.0.113.7"}, client},
		{"not the first parameter", []string{"by=10.0.0.2;proto=http;For=203.0.113.7;host=example.com"}, client},
		{"quoted IPv4", []string{`for="203.0.113.7"`}, client},
		{"quoted IPv4 with port", []string{`for="203.0.113.7:4711"`}, client},
		{"obfuscated port", []string{`for="203.0.113.7:_http"`}, client},
		{"quoted IPv6", []string{`for="[2001:db8::1]"`}, "2001:db8::1"},
		{"quoted IPv6 with port", []string{`for="[2001:DB8::1]:4711"`}, "2001:db8::1"},
		{"loopback", []string{`for="[::1]:80"`}, "::1"},
		{"mapped", []string{`for="[::ffff:102:304]:80"`}, "1.2.3.4"},
		{"escaped", []string{`for="\[2001\:db8::1\]:80"`}, "2001:db8::1"},
		{"zone", []string{`for="[fe80::1%eth0]:80"`}, "fe80::1"},
		{"unquoted port", []string{"for=203.0.113.7:80"}, client},
		{"unquoted brackets", []string{"for=[2001:db8::1]:80"}, "2001:db8::1"},
		{"space around semicolons", []string{"for=203.0.113.7 ; proto=https ;"}, client},
		{"empty pairs", []string{";;for=203.0.113.7;;"}, client},
		{"comma and semicolon within quotes", []string{`for=203.0.113.7;host="a, for=6.6.6.6; for=6.6.6.6"`}, client},
		{"escaped quotes", []string{`for=203.0.113.7;host="a\", for=6.6.6.6, \\\"b"`}, client},
		{"escaped backslash at the end", []string{`for=6.6.6.6, for=203.0.113.7;host="a\\"`}, client},
		{"only backslashes", []string{`for=6.6.6.6, for=203.0.113.7;host="\\\\";a="\\"`}, client},
		{"empty string", []string{`for=6.6.6.6, for=203.0.113.7;host=""`}, client},
		{"two proxies", []string{"for=6.6.6.6, for=203.0.113.7, for=10.0.0.2"}, client},
		{"two lines", []string{"for=6.6.6.6", "for=203.0.113.7, for=10.0.0.2", "for=10.0.0.3"}, client},
		{"all trusted: the leftmost", []string{"for=10.0.0.3, for=10.0.0.2"}, "10.0.0.3"},
		{"empty elements", []string{"for=203.0.113.7, ,", ""}, client},

		{"unknown", []string{"for=203.0.113.7, for=unknown"}, peer},
		{"hidden", []string{"for=203.0.113.7, for=_hidden"}, peer},
		{"hidden behind a proxy", []string{`for=203.0.113.7, for="_SEVKISEK:80", for=10.0.0.2`}, "10.0.0.2"},
		{"no for", []string{"for=203.0.113.7, proto=https;by=10.0.0.2"}, peer},
		{"empty for", []string{"for=203.0.113.7, for="}, peer},
		{"empty quoted for", []string{`for=203.0.113.7, for=""`}, peer},
		{"for twice", []string{"for=203.0.113.7;for=203.0.113.8"}, peer},
		{"for twice, once hidden", []string{"for=203.0.113.7;for=_hidden"}, peer},
		{"bare address", []string{"203.0.113.7"}, peer},
		{"no name", []string{"=203.0.113.7"}, peer},
		{"space around =", []string{"for =203.0.113.7"}, peer},
		{"space behind =", []string{"for= 203.0.113.7"}, peer},
		{"junk after a string", []string{`for="203.0.113.7"x`}, peer},
		{"no semicolon", []string{`for="203.0.113.7"by=10.0.0.2`}, peer},
		{"space for a semicolon", []string{`for=203.0.113.7 by=10.0.0.2`}, peer},
		{"junk after a space", []string{`for=203.0.113.7 x`}, peer},
		{"pair without =", []string{`for=203.0.113.7;secure`}, peer},
		{"quote within a value", []string{`for=203.0.113.7;host=a"b"`}, peer},
		{"open string", []string{`for="203.0.113.7`}, peer},
		{"string closed by nothing", []string{`for=203.0.113.7;host="a\"`}, peer},
		{"not IPv6 in brackets", []string{`for="[203.0.113.7]"`}, peer},
		{"long escaped value", []string{`for="` + strings.Repeat(`\ `, 1000) + `203.0.113.7"`}, peer},

		{"a client's open string before the proxy's element", []string{`for=", for=203.0.113.7`}, client},
		{"the same on a line of its own", []string{`for="`, `for=203.0.113.7`}, client},
		{"and with the proxy's own string", []string{`for="x, for="[2001:db8::1]:80";host="a,b"`}, "2001:db8::1"},
		{"a client's backslash before the proxy's element", []string{`for="\, for="203.0.113.7"`}, client},
		{"huge", []string{strings.Repeat(`"\`, 500_000) + `, for=203.0.113.7`}, client},
		{"endless string", []string{`for="` + strings.Repeat(`\"`, 500_000) + `", for=10.0.0.2`}, "10.0.0.2"},
	} {
		r := newResolver(t, "forwarded", proxies)
		if got := resolve(r, "10.0.0.1:80", only("Forwarded", c.lines...)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if got := resolve(r, "192.0.2.9:80", only("Forwarded", c.lines...)); got != "192.0.2.9" {
			t.Errorf("%s, from a stranger: %q, want the peer", c.name, got)
		}
	}
}
