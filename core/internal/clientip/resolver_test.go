package clientip

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

// proxies are the trusted networks of most tests.
const proxies = "10.0.0.0/8, fd00::/8"

func newResolver(t testing.TB, header, trusted string) *Resolver {
	t.Helper()
	prefixes, err := ParsePrefixes(trusted)
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(Config{Trusted: prefixes, Header: header})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// only is a request whose one field has these lines.
func only(name string, lines ...string) func(string) []string {
	return func(asked string) []string {
		if strings.EqualFold(asked, name) {
			return lines
		}
		return nil
	}
}

// resolve returns the address as text, "" for the zero Addr.
func resolve(r *Resolver, peer string, header func(string) []string) string {
	addr, _ := r.Resolve(peer, header)
	if !addr.IsValid() {
		return ""
	}
	return addr.String()
}

func TestPeer(t *testing.T) {
	r := newResolver(t, "", "")
	for peer, want := range map[string]string{
		"192.0.2.1:1234":             "192.0.2.1",
		"192.0.2.1":                  "192.0.2.1",
		"[2001:db8::1]:443":          "2001:db8::1",
		"[2001:db8:9::2]:443":        "2001:db8:9::2",
		"[2001:db8::1]":              "2001:db8::1",
		"2001:db8::1":                "2001:db8::1",
		"[2001:DB8:0::00A1]:443":     "2001:db8::a1",
		"[fe80::1%eth0]:443":         "fe80::1",
		"fe80::1%eth0":               "fe80::1",
		"[::ffff:192.0.2.1]:80":      "192.0.2.1",
		"[::ffff:c000:201]:80":       "192.0.2.1",
		"[::ffff:c000:201%eth0]:80":  "192.0.2.1",
		"0:0:0:0:0:FFFF:192.0.2.1":   "192.0.2.1",
		"[2001:db8::192.0.2.1]:80":   "2001:db8::c000:201",
		"[64:ff9b::8.8.8.8]:80":      "8.8.8.8",
		"[64:ff9b::909:909]:80":      "9.9.9.9",
		"[64:ff9b::10.0.0.1]:80":     "64:ff9b::a00:1",
		"[64:ff9b::100.64.0.1]:80":   "64:ff9b::6440:1",
		"[64:ff9b::127.0.0.1]:80":    "64:ff9b::7f00:1",
		"[64:ff9b:1::808:808]:80":    "64:ff9b:1::808:808",
		"[2002:808:808::1]:80":       "2002:808:808::1",
		"[2001:0:1:2:3:4:f7f7:1]:80": "2001:0:1:2:3:4:f7f7:1",
		"0.0.0.0:0":                  "0.0.0.0",

		"":                    "",
		"@":                   "",
		"pipe":                "",
		"/run/app.sock":       "",
		":80":                 "",
		"[]:80":               "",
		"[192.0.2.1]:80":      "",
		"[::1":                "",
		"::1]:80":             "",
		"[::1]80":             "",
		"[::1]:":              "",
		"192.0.2.1:":          "",
		"192.0.2.1:80:":       "",
		"192.0.2.1:http":      "",
		"192.0.2.1:123456":    "",
		"192.0.2.1%eth0":      "",
		"192.0.2.1%eth0:80":   "",
		"fe80::1%":            "",
		"010.0.0.1:80":        "",
		"192.0.2:80":          "",
		"192.0.2.256:80":      "",
		"example.com:80":      "",
		"2001:db8::g":         "",
		" 192.0.2.1":          "",
		"1:2:3:4:5:6:7:8:9":   "",
		"[::1%zone]more]:80":  "",
		"192.0.2.1\x00:80":    "",
		"192.0.2.1, 10.0.0.1": "",
	} {
		if got := resolve(r, peer, nil); got != want {
			t.Errorf("peer %q: %q, want %q", peer, got, want)
		}
	}
}

func TestNormalise(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.1":             "192.0.2.1",
		"::ffff:192.0.2.1":      "192.0.2.1",
		"::ffff:192.0.2.1%eth0": "192.0.2.1",
		"fe80::1%eth0":          "fe80::1",
		"64:ff9b::8.8.8.8%eth0": "8.8.8.8",
	} {
		if got := Normalise(netip.MustParseAddr(text)); got != netip.MustParseAddr(want) {
			t.Errorf("Normalise(%s) = %v, want %s", text, got, want)
		}
	}
	if got := Normalise(netip.Addr{}); got.IsValid() {
		t.Errorf("Normalise of the zero Addr is %v", got)
	}
}

func TestXForwardedFor(t *testing.T) {
	const client, peer = "203.0.113.7", "10.0.0.1"
	many := func(element string, n int) string { return strings.Repeat(element+",", n-1) + element }
	for _, c := range []struct {
		name  string
		peer  string
		lines []string
		want  string
	}{
		{"no header", "10.0.0.1:80", nil, peer},
		{"empty line", "10.0.0.1:80", []string{""}, peer},
		{"one proxy", "10.0.0.1:80", []string{client}, client},
		{"IPv6 proxy", "[fd00::1]:80", []string{client}, client},
		{"mapped proxy", "[::ffff:10.0.0.1]:80", []string{client}, client},
		{"mapped proxy, hex", "[::ffff:a00:1]:80", []string{client}, client},
		{"untrusted peer", "192.0.2.9:80", []string{client}, "192.0.2.9"},
		{"translated peer is not the IPv4 proxy", "[64:ff9b::10.0.0.1]:80", []string{client}, "64:ff9b::a00:1"},
		{"peer without address", "@", []string{client}, ""},
		{"spoofed leftmost", "10.0.0.1:80", []string{"6.6.6.6, " + client}, client},
		{"spoofed trusted leftmost", "10.0.0.1:80", []string{"10.9.9.9, " + client}, client},
		{"two proxies", "10.0.0.1:80", []string{"6.6.6.6, " + client + ", 10.0.0.2"}, client},
		{"attacker's own line first", "10.0.0.1:80", []string{"6.6.6.6", client}, client},
		{"lines joined in order", "10.0.0.1:80", []string{"6.6.6.6, " + client, "10.0.0.2", "10.0.0.3, 10.0.0.4"}, client},
		{"all trusted: the leftmost", "10.0.0.1:80", []string{"10.0.0.5, 10.0.0.4", "10.0.0.3"}, "10.0.0.5"},
		{"empty elements", "10.0.0.1:80", []string{client + ", ,, \t,", "", " , "}, client},
		{"only empty elements", "10.0.0.1:80", []string{",,", " , "}, peer},
		{"unreadable next to the peer", "10.0.0.1:80", []string{client + ", unknown"}, peer},
		{"unreadable behind a proxy", "10.0.0.1:80", []string{client + ", nonsense, 10.0.0.2"}, "10.0.0.2"},
		{"unreadable left of the client", "10.0.0.1:80", []string{"nonsense, " + client}, client},
		{"quoted", "10.0.0.1:80", []string{`"` + client + `"`}, peer},
		{"two addresses without comma", "10.0.0.1:80", []string{"6.6.6.6 " + client}, peer},
		{"port", "10.0.0.1:80", []string{"1.2.3.4:5678"}, "1.2.3.4"},
		{"IPv6", "10.0.0.1:80", []string{"2001:db8::1"}, "2001:db8::1"},
		{"brackets", "10.0.0.1:80", []string{"[2001:db8::1]"}, "2001:db8::1"},
		{"brackets and port", "10.0.0.1:80", []string{"[2001:db8::1]:5678"}, "2001:db8::1"},
		{"IPv6 that ends like a port", "10.0.0.1:80", []string{"2001:db8::1:5678"}, "2001:db8::1:5678"},
		{"upper-case hex", "10.0.0.1:80", []string{"2001:DB8::AB"}, "2001:db8::ab"},
		{"mapped", "10.0.0.1:80", []string{"::ffff:1.2.3.4"}, "1.2.3.4"},
		{"mapped in hex", "10.0.0.1:80", []string{"::FFFF:102:304"}, "1.2.3.4"},
		{"dotted, but not IPv4", "10.0.0.1:80", []string{"2001:db8::1.2.3.4"}, "2001:db8::102:304"},
		{"mapped proxy in the list", "10.0.0.1:80", []string{client + ", ::ffff:10.0.0.2"}, client},
		{"zone", "10.0.0.1:80", []string{"fe80::1%eth0"}, "fe80::1"},
		{"zoned proxy in the list", "10.0.0.1:80", []string{client + ", fd00::1%eth0"}, client},
		{"NAT64 client", "10.0.0.1:80", []string{"64:ff9b::808:808"}, "8.8.8.8"},
		{"leading zero", "10.0.0.1:80", []string{"010.1.1.1"}, peer},
		{"huge", "10.0.0.1:80", []string{many("6.6.6.6", 20_000) + "," + client}, client},
		{"as many hops as are read", "10.0.0.1:80", []string{client + "," + many("10.0.0.2", maxHops-1)}, client},
		{"one hop too many", "10.0.0.1:80", []string{client + "," + many("10.0.0.2", maxHops)}, "10.0.0.2"},
		{"endless empty elements", "10.0.0.1:80", []string{client + strings.Repeat(",", maxBytes), "10.0.0.2"}, "10.0.0.2"},
		{"endless empty lines", "10.0.0.1:80", append([]string{client}, make([]string, maxBytes)...), peer},
		{"endless element", "10.0.0.1:80", []string{strings.Repeat("x", 1<<20) + ", 10.0.0.2"}, "10.0.0.2"},
		{"endless space", "10.0.0.1:80", []string{client + strings.Repeat(" ", 1<<20) + ", 10.0.0.2"}, "10.0.0.2"},
		{"the last byte that is read", "10.0.0.1:80", []string{client + strings.Repeat(",", maxBytes-len(client))}, client},
		{"an address cut short by the bound", "10.0.0.1:80", []string{client + strings.Repeat(",", maxBytes-len(client)+2)}, peer},
		{"a byte past what is read", "10.0.0.1:80", []string{client + strings.Repeat(",", maxBytes-len(client)+1)}, peer},
	} {
		for _, chosen := range []string{"", "x-forwarded-FOR"} {
			r := newResolver(t, chosen, proxies)
			if got := resolve(r, c.peer, only("X-Forwarded-For", c.lines...)); got != c.want {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
		}
	}
}

func TestSingleAddressHeader(t *testing.T) {
	for _, name := range []string{"CF-Connecting-IP", "True-Client-IP", "X-Real-IP", "Fly-Client-IP", "x-azure-clientip"} {
		r := newResolver(t, name, proxies)
		for _, c := range []struct {
			peer  string
			lines []string
			want  string
		}{
			{"10.0.0.1:80", []string{"203.0.113.7"}, "203.0.113.7"},
			{"10.0.0.1:80", []string{" 203.0.113.7\t"}, "203.0.113.7"},
			{"10.0.0.1:80", []string{"203.0.113.7:80"}, "203.0.113.7"},
			{"10.0.0.1:80", []string{"[2001:db8::1]:80"}, "2001:db8::1"},
			{"10.0.0.1:80", []string{"2001:DB8::1"}, "2001:db8::1"},
			{"10.0.0.1:80", []string{"::ffff:102:304"}, "1.2.3.4"},
			{"10.0.0.1:80", []string{"10.0.0.9"}, "10.0.0.9"},
			{"10.0.0.1:80", []string{"64:ff9b::808:808"}, "8.8.8.8"},
			{"10.0.0.1:80", nil, "10.0.0.1"},
			{"10.0.0.1:80", []string{""}, "10.0.0.1"},
			{"10.0.0.1:80", []string{"unknown"}, "10.0.0.1"},
			{"10.0.0.1:80", []string{"203.0.113.7, 203.0.113.8"}, "10.0.0.1"},
			{"10.0.0.1:80", []string{"203.0.113.7,"}, "10.0.0.1"},
			{"10.0.0.1:80", []string{"203.0.113.7", "203.0.113.8"}, "10.0.0.1"},
			{"10.0.0.1:80", []string{"203.0.113.7", "203.0.113.7"}, "10.0.0.1"},
			{"192.0.2.9:80", []string{"203.0.113.7"}, "192.0.2.9"},
			{"@", []string{"203.0.113.7"}, ""},
		} {
			if got := resolve(r, c.peer, only(name, c.lines...)); got != c.want {
				t.Errorf("%s from %s: %q is %q, want %q", name, c.peer, c.lines, got, c.want)
			}
		}
	}
}

// Every header but the chosen one is as good as absent, whoever sends it.
func TestOnlyTheChosenHeaderCounts(t *testing.T) {
	all := map[string]string{
		"X-Forwarded-For": "6.6.6.1", "Forwarded": "for=6.6.6.2", "X-Real-Ip": "6.6.6.3",
		"Cf-Connecting-Ip": "6.6.6.4", "True-Client-Ip": "6.6.6.5", "X-Forwarded": "6.6.6.6",
	}
	for chosen, value := range all {
		r := newResolver(t, chosen, proxies)
		others := func(name string) []string {
			if other, ok := all[name]; ok && name != chosen {
				return []string{other}
			}
			return nil
		}
		if got := resolve(r, "10.0.0.1:80", others); got != "10.0.0.1" {
			t.Errorf("%s is chosen and missing: %q, want the peer", chosen, got)
		}
		everything := func(name string) []string { return []string{all[name]} }
		if got := resolve(r, "10.0.0.1:80", everything); got != strings.TrimPrefix(value, "for=") {
			t.Errorf("%s is chosen: %q, want %q", chosen, got, value)
		}
		if got := resolve(r, "192.0.2.9:80", everything); got != "192.0.2.9" {
			t.Errorf("%s is chosen, the peer is a stranger: %q, want the peer", chosen, got)
		}
	}
}

func TestHeaderIsAskedByCanonicalName(t *testing.T) {
	for _, name := range []string{"x-forwarded-for", "FORWARDED", "CF-Connecting-IP"} {
		request := http.Header{}
		request.Set(name, "for=203.0.113.7")
		if name != "FORWARDED" {
			request.Set(name, "203.0.113.7")
		}
		header := func(name string) []string { return request[name] }
		if got := resolve(newResolver(t, name, proxies), "10.0.0.1:80", header); got != "203.0.113.7" {
			t.Errorf("%s: %q, want 203.0.113.7", name, got)
		}
	}
}

func TestNote(t *testing.T) {
	for _, c := range []struct {
		header, trusted, peer, sent string
		want                        Note
	}{
		{"", "", "192.0.2.1:80", "X-Forwarded-For", UntrustedForwarding},
		{"", "", "192.0.2.1:80", "Forwarded", UntrustedForwarding},
		{"", "", "192.0.2.1:80", "X-Real-IP", UntrustedForwarding},
		{"", "", "@", "X-Forwarded-For", UntrustedForwarding},
		{"", "", "192.0.2.1:80", "CF-Connecting-IP", Nothing},
		{"CF-Connecting-IP", "", "192.0.2.1:80", "CF-Connecting-IP", UntrustedForwarding},
		{"CF-Connecting-IP", "", "192.0.2.1:80", "X-Forwarded-For", UntrustedForwarding},
		{"", "", "192.0.2.1:80", "Accept", Nothing},
		{"", proxies, "192.0.2.1:80", "X-Forwarded-For", Nothing},
		{"", proxies, "10.0.0.1:80", "X-Forwarded-For", Nothing},
		{"", proxies, "10.0.0.1:80", "Forwarded", Nothing},
	} {
		r := newResolver(t, c.header, c.trusted)
		if _, note := r.Resolve(c.peer, only(c.sent, "203.0.113.7")); note != c.want {
			t.Errorf("%+v: note %d", c, note)
		}
		if _, note := r.Resolve(c.peer, nil); note != Nothing {
			t.Errorf("%+v: note %d without fields", c, note)
		}
	}
}

func TestNewErrors(t *testing.T) {
	for names, c := range map[string]Config{
		"network 2, invalid Prefix":   {Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), {}}},
		"at least 96":                 {Trusted: []netip.Prefix{netip.MustParsePrefix("::ffff:10.0.0.0/8")}},
		`header name "X Real IP"`:     {Header: "X Real IP"},
		`header name "X-Real-IP:"`:    {Header: "X-Real-IP:"},
		`header name "X-Réal-IP" is`:  {Header: "X-Réal-IP"},
		`header name "A, B" is not a`: {Header: "A, B"},
	} {
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), names) {
			t.Errorf("New(%+v): %v, want an error with %q", c, err, names)
		}
	}
}

func TestResolveKeepsNoReferenceToTrusted(t *testing.T) {
	prefixes := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	r, err := New(Config{Trusted: prefixes})
	if err != nil {
		t.Fatal(err)
	}
	prefixes[0] = netip.MustParsePrefix("192.0.2.0/24")
	if got := resolve(r, "192.0.2.1:80", only("X-Forwarded-For", "6.6.6.6")); got != "192.0.2.1" {
		t.Errorf("a change of the caller's slice changed who is trusted: %q", got)
	}
}

// request is what an adapter resolves from.
type request struct{ header http.Header }

func (r *request) Header(name string) []string { return r.header[name] }

func TestResolveAllocatesNothing(t *testing.T) {
	for _, c := range []struct{ header, trusted, peer, value string }{
		{"", "", "192.0.2.1:1234", ""},
		{"", "", "[2001:db8::1%eth0]:1234", "203.0.113.7"},
		{"", proxies, "192.0.2.1:1234", "203.0.113.7"},
		{"", proxies, "10.0.0.1:1234", "6.6.6.6, 203.0.113.7, 10.0.0.2"},
		{"Forwarded", proxies, "[fd00::1]:1234", `for=6.6.6.6, for="[2001:db8::1]:4711";proto=https;by=10.0.0.2`},
		{"CF-Connecting-IP", proxies, "10.0.0.1:1234", "203.0.113.7"},
	} {
		r := newResolver(t, c.header, c.trusted)
		var source interface{ Header(string) []string } = &request{http.Header{r.header: {c.value}}}
		valid := true
		allocations := testing.AllocsPerRun(100, func() {
			addr, _ := r.Resolve(c.peer, source.Header)
			valid = valid && addr.IsValid()
		})
		if allocations != 0 || !valid {
			t.Errorf("%+v: %v allocations (valid: %v), want none", c, allocations, valid)
		}
	}
}

func BenchmarkResolve(b *testing.B) {
	for _, trusted := range []string{"", proxies} {
		r := newResolver(b, "", trusted)
		source := &request{http.Header{"X-Forwarded-For": {"6.6.6.6, 203.0.113.7, 10.0.0.2"}}}
		b.Run(fmt.Sprintf("trusted=%t", trusted != ""), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.Resolve("10.0.0.1:1234", source.Header)
			}
		})
	}
}

// TestLooksOnAndOn looks at the first requests and at some that come late, but
// at all of them if a proxy is trusted.
func TestLooksOnAndOn(t *testing.T) {
	alone, behind := newResolver(t, "", ""), newResolver(t, "", proxies)
	for n := range manyLooks {
		if !alone.Looks(1) || !behind.Looks(1) {
			t.Fatalf("request %d is not looked at", n+1)
		}
	}
	looks := 0
	const late = 64 * oneIn
	for n := range late {
		if alone.Looks(uint8(n)) {
			looks++
		}
		if !behind.Looks(uint8(n)) {
			t.Fatal("a request is not looked at, though a proxy is trusted")
		}
	}
	if looks != late/oneIn {
		t.Errorf("%d of %d late requests are looked at, want one in %d", looks, late, oneIn)
	}
}
