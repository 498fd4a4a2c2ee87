package clientip

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func TestParsePrefixes(t *testing.T) {
	for _, c := range []struct {
		texts []string
		want  string
	}{
		{nil, "[]"},
		{[]string{""}, "[]"},
		{[]string{" ,, \t"}, "[]"},
		{[]string{"10.0.0.0/8"}, "[10.0.0.0/8]"},
		{[]string{"10.0.0.0/8", "2001:db8::/32"}, "[10.0.0.0/8 2001:db8::/32]"},
		{[]string{" 10.0.0.0/8 ,192.0.2.0/24,", "fd00::/8"}, "[10.0.0.0/8 192.0.2.0/24 fd00::/8]"},
		{[]string{"10.0.0.0/8 192.0.2.0/24\n"}, "[10.0.0.0/8 192.0.2.0/24]"},
		{[]string{"192.0.2.7"}, "[192.0.2.7/32]"},
		{[]string{"2001:DB8::7"}, "[2001:db8::7/128]"},
		{[]string{"10.1.2.3/8"}, "[10.0.0.0/8]"},
		{[]string{"2001:db8::1/32"}, "[2001:db8::/32]"},
		{[]string{"::ffff:10.0.0.0/104"}, "[10.0.0.0/8]"},
		{[]string{"::ffff:a01:203/104"}, "[10.0.0.0/8]"},
		{[]string{"::ffff:0.0.0.0/96"}, "[0.0.0.0/0]"},
		{[]string{"::ffff:192.0.2.7"}, "[192.0.2.7/32]"},
		{[]string{"0.0.0.0/0,::/0"}, "[0.0.0.0/0 ::/0]"},
	} {
		got, err := ParsePrefixes(c.texts...)
		if err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("ParsePrefixes(%q) = %v, %v, want %s", c.texts, got, err, c.want)
		}
	}
}

func TestParsePrefixesErrors(t *testing.T) {
	for text, names := range map[string]string{
		"10.0.0.0/33":             "use at most 32",
		"2001:db8::/129":          "use at most 128",
		"10.0.0.0/":               "not a prefix length",
		"10.0.0.0/-1":             "not a prefix length",
		"10.0.0.0/+8":             "not a prefix length",
		"10.0.0.0/255.0.0.0":      "not a prefix length",
		"10.0.0.0/8/8":            "not a prefix length",
		"/8":                      "not an IP address",
		"10.0.0/8":                "not an IP address",
		"10.0.0.*":                "not an IP address",
		"010.0.0.0/8":             "not an IP address",
		"localhost":               "names, ports and brackets",
		"10.0.0.1:80":             "names, ports and brackets",
		"[2001:db8::1]":           "names, ports and brackets",
		"fe80::1%eth0":            `leave out "%eth0"`,
		"fe80::%eth0/10":          `leave out "%eth0"`,
		"::ffff:10.0.0.0/8":       "such as 10.0.0.0/8",
		"::ffff:10.0.0.0/64":      "such as 10.0.0.0/32",
		"10.0.0.0/8, nonsense":    `network "nonsense"`,
		strings.Repeat("x", 9999): "not an IP address",
	} {
		got, err := ParsePrefixes("192.0.2.0/24", text)
		if err == nil || got != nil {
			t.Errorf("ParsePrefixes(%.40q) = %v, %v, want an error", text, got, err)
			continue
		}
		if message := err.Error(); !strings.Contains(message, names) || !strings.Contains(message, `"10.0.0.0/8"`) || len(message) > 500 {
			t.Errorf("ParsePrefixes(%.40q): %q, want %q and an example", text, message, names)
		}
	}
}

func TestTooWide(t *testing.T) {
	for text, want := range map[string]bool{
		"0.0.0.0/0": true, "::/0": true, "128.0.0.0/1": true, "10.0.0.0/7": true, "2000::/3": true, "2a00::/15": true,
		"::ffff:0.0.0.0/96": true, "fc00::/6": true, "fe00::/9": true,
		"64:ff9b::/96": true, "64:ff9b::/32": true, "64:ff9b::a00:0/103": true, "2002::/16": true, "2002:a00::/23": true,
		"10.0.0.0/8": false, "172.16.0.0/12": false, "192.0.2.7/32": false, "::ffff:10.0.0.0/104": false,
		"2a00::/16": false, "2001:db8::/32": false, "fc00::/7": false, "fd00::/8": false, "fe80::/10": false,
		"64:ff9b::a00:0/104": false, "2002:a00::/24": false, "::1/128": false,
	} {
		if got := TooWide(netip.MustParsePrefix(text)); got != want {
			t.Errorf("TooWide(%s) = %v", text, got)
		}
	}
	if TooWide(netip.Prefix{}) {
		t.Error("the zero Prefix is too wide")
	}
}

func TestTrustedNetworks(t *testing.T) {
	for _, c := range []struct {
		trusted string
		peer    string
		want    bool
	}{
		{"::ffff:10.0.0.0/104", "10.1.1.1:80", true},
		{"::ffff:10.0.0.0/104", "[::ffff:10.1.1.1]:80", true},
		{"::ffff:10.0.0.0/104", "11.1.1.1:80", false},
		{"10.0.0.0/8", "[::ffff:a01:101]:80", true},
		{"10.0.0.0/8", "[a01:101::]:80", false},
		{"0.0.0.0/0", "[2001:db8::1]:80", false},
		{"::/0", "10.0.0.1:80", false},
		{"::/0", "[::ffff:10.0.0.1]:80", false},
		{"::/0", "[2001:db8::1]:80", true},
		{"fe80::/10", "[fe80::1%eth0]:80", true},
		{"10.0.0.0/8,10.0.0.0/8,10.1.0.0/16,10.0.0.0/16,12.0.0.0/8", "10.200.0.1:80", true},
		{"10.0.0.0/8,10.1.0.0/16,12.0.0.0/8", "12.0.0.0:80", true},
		{"10.0.0.0/8,10.1.0.0/16,12.0.0.0/8", "11.255.255.255:80", false},
		{"10.0.0.0/8,10.1.0.0/16,12.0.0.0/8", "13.0.0.0:80", false},
		{"64:ff9b::/96", "[64:ff9b::808:808]:80", true},
		{"8.8.8.8", "[64:ff9b::808:808]:80", false},
	} {
		r := newResolver(t, "", c.trusted)
		got := resolve(r, c.peer, only("X-Forwarded-For", "203.0.113.7")) == "203.0.113.7"
		if got != c.want {
			t.Errorf("%s trusts %s: %v, want %v", c.trusted, c.peer, got, c.want)
		}
	}
}

// A set holds what any of its networks holds, however they overlap.
func TestSetAgainstItsNetworks(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	// Few distinct bytes, so that networks nest and addresses fall on edges.
	address := func() netip.Addr {
		var bytes [16]byte
		for i := range bytes {
			bytes[i] = [4]byte{0, 1, 128, 255}[random.IntN(4)]
		}
		if random.IntN(2) == 0 {
			return netip.AddrFrom4([4]byte(bytes[:]))
		}
		return netip.AddrFrom16(bytes)
	}
	inside := 0
	for range 2000 {
		prefixes := make([]netip.Prefix, random.IntN(8))
		for i := range prefixes {
			addr := address()
			prefixes[i] = netip.PrefixFrom(addr, random.IntN(addr.BitLen()+1))
		}
		s, err := newSet(prefixes)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			addr, want := address(), false
			for _, prefix := range prefixes {
				want = want || prefix.Contains(addr)
			}
			if got := s.contains(addr); got != want {
				t.Fatalf("%v in %v: %v, want %v", addr, prefixes, got, want)
			}
			if want {
				inside++
			}
		}
	}
	if inside < 1000 {
		t.Errorf("only %d addresses were in a network", inside)
	}
}

func TestParseClients(t *testing.T) {
	for _, text := range []string{"64:ff9b::/96", "64:ff9b::808:808", "64:ff9b::800:0/104", "8.8.8.8, 64:ff9b::/97"} {
		if got, err := ParseClients(text); err == nil || !strings.Contains(err.Error(), "IPv4") {
			t.Errorf("%s: %v, error %v", text, got, err)
		}
	}
	for _, text := range []string{"64:ff9b::/32", "8.8.8.8", "2001:db8::/32", ""} {
		want, _ := ParsePrefixes(text)
		if got, err := ParseClients(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, error %v", text, got, err)
		}
	}
	if _, err := ParseClients("300.1.1.1"); err == nil {
		t.Error("no network is no error")
	}
}
