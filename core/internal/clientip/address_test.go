package clientip

import (
	"net/netip"
	"strings"
	"testing"
)

// FuzzParseIPv4 compares the short way with netip's, for an address alone and
// with a port.
func FuzzParseIPv4(f *testing.F) {
	for _, text := range []string{
		"192.0.2.1", "192.0.2.1:80", "0.0.0.0", "255.255.255.255:65535", "256.0.0.1", "01.2.3.4", "1.2.3", "1.2.3.4.5", "1.2.3.4:", "1.2.3.4:x",
		"1.2.3.4:123456", "1.2.3.4:_a", "1..2.3", ".1.2.3", "1.2.3.", "1.2.3.0004", "1.2.3.4 ", "::ffff:1.2.3.4", "[1.2.3.4]:80", "1.2.3.4%eth0",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		host, port, hasPort := strings.Cut(text, ":")
		want, err := netip.ParseAddr(host)
		known := err == nil && want.Is4() && (!hasPort || isPort(":"+port))
		got, ok := parseIPv4(text)
		if ok != known || ok && got != want {
			t.Errorf("%q is %v, %v; netip says %v, %v", text, got, ok, want, err)
		}
		if host, ok := IPv4(text); ok != known || ok && host != want.String() {
			t.Errorf("%q has the host %q, %v; netip says %v", text, host, ok, want)
		}
	})
}

func BenchmarkIPv4(b *testing.B) {
	peers, n := []string{"192.0.2.1:4711", "10.1.22.133:55123", "8.8.8.8:1", "203.0.113.77:61234"}, 0
	for b.Loop() {
		if _, ok := IPv4(peers[n%len(peers)]); !ok {
			b.Fatal("no address")
		}
		n++
	}
}
