package adaptertest

import (
	"net/http"
	"net/netip"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// peerCases are about which client a request is counted under.
func peerCases() []testCase {
	return []testCase{
		{
			name: "peers/address",
			why:  "the client is the peer's address, not its port: IPv4 whole, IPv6 by its /64, zones dropped",
			f: func(s *suite) {
				p := s.partitions(ratelimit.ByIP())
				for peer, want := range map[string]string{
					"192.0.2.77":                  "192.0.2.77",
					"2001:db8:1:2::7":             "2001:db8:1:2::",
					"2001:db8:1:2:ffff:1:2:3":     "2001:db8:1:2::",
					"2001:db8:1:3::7":             "2001:db8:1:3::",
					"fe80::1%eth0":                "fe80::",
					"::ffff:198.51.100.1":         "198.51.100.1",
					"2001:db8::198.51.100.1":      "2001:db8::",
					"2001:db8:abcd:ef01:0:0:0:1f": "2001:db8:abcd:ef01::",
				} {
					equal(s, "partition of "+peer, p.of(request{path: "/u/1", peer: peer}), ipKey(want))
				}
			},
		},
		{
			name: "peers/connections",
			why:  "a new connection is no new client, and two clients on kept connections are two",
			f: func(s *suite) {
				handler := ok()
				l := s.limiter(newModel(), ratelimit.Policy{Name: "ip", Limit: ratelimit.PerHour(6)})
				v := s.serve(onRoutes(l, handler.handle))
				for i := range 8 {
					want := http.StatusOK
					if i >= 6 {
						want = http.StatusTooManyRequests
					}
					v.do(request{path: "/u/1", fresh: i%2 == 0}).is(s, "a request on a new or a kept connection", want)
				}
				v.do(request{path: "/u/1", peer: "192.0.2.11"}).is(s, "a request of another client", http.StatusOK)
				handler.ran(s, 7)
			},
		},
		{
			name: "peers/no-address",
			why:  "peers without an IP address (a Unix socket) share one count, with a diagnostic: they are not free",
			f: func(s *suite) {
				p := s.partitions(ratelimit.ByIP())
				want := ratelimit.IPKey(netip.Addr{})
				for _, peer := range []string{"@", "/run/peer.sock"} {
					equal(s, "partition of "+peer, p.of(request{path: "/u/1", peer: peer}), want)
				}
				equal(s, "diagnostics of it", s.said.times(ratelimit.CodeAddressUnknown), 1)
			},
		},
		{
			name: "peers/forged",
			why:  "anyone can send a forwarding header; without a trusted proxy none is believed, or every request is a new client",
			f: func(s *suite) {
				p := s.partitions(ratelimit.ByIP())
				for _, name := range forwardingFields {
					equal(s, "partition with a forged "+name, p.of(request{path: "/u/1", header: fields(name, "198.51.100.9")}), ipKey(usualPeer))
				}
				equal(s, "partition with a forged Forwarded", p.of(request{path: "/u/1", header: fields("Forwarded", "for=198.51.100.9")}), ipKey(usualPeer))
				equal(s, "diagnostics of it", s.said.times(ratelimit.CodeUntrustedForwarding), 1)
			},
		},
		{
			name: "peers/forwarded",
			why:  "behind a trusted proxy all lines of X-Forwarded-For are one list, walked from the right: the client writes its beginning",
			f:    forwardedFor,
		},
		{
			name: "peers/other-sources",
			why:  "which header holds the client is the limiter's setting; no other one is looked at",
			f: func(s *suite) {
				trust := ratelimit.TrustProxies("10.0.0.0/8")
				forged := fields("Forwarded", `for="[2001:db8:5::1]:4711"`, "X-Forwarded-For", "198.51.100.1", "CF-Connecting-IP", "198.51.100.2")
				r := request{path: "/u/1", peer: "10.1.2.3", header: forged}
				for name, want := range map[string]string{
					"Forwarded": "2001:db8:5::", "CF-Connecting-IP": "198.51.100.2", "X-Forwarded-For": "198.51.100.1",
				} {
					p := s.partitions(ratelimit.ByIP(), trust, ratelimit.ClientIPHeader(name))
					equal(s, "partition by "+name, p.of(r), ipKey(want))
				}
			},
		},
	}
}

var forwardingFields = []string{
	"X-Forwarded-For", "X-Real-IP", "True-Client-IP", "CF-Connecting-IP", "X-Client-IP", "Fly-Client-IP", "X-Appengine-Remote-Addr",
}

func forwardedFor(s *suite) {
	p := s.partitions(ratelimit.ByIP(), ratelimit.TrustProxies("10.0.0.0/8", "2001:db8:ffff::/48"))
	lines := func(values ...string) http.Header { return http.Header{"X-Forwarded-For": values} }
	for _, c := range []struct {
		what   string
		peer   string
		header http.Header
		want   string
	}{
		{"a client in front of one proxy", "10.1.2.3", lines("203.0.113.7"), "203.0.113.7"},
		{"a forged beginning", "10.1.2.3", lines("198.51.100.9, 203.0.113.7"), "203.0.113.7"},
		{"a forged line before the proxy's", "10.1.2.3", lines("198.51.100.9", "203.0.113.7"), "203.0.113.7"},
		{"two proxies, a line each", "10.1.2.3", lines("198.51.100.9", "203.0.113.7", "10.9.9.9"), "203.0.113.7"},
		{"an IPv6 proxy and client", "2001:db8:ffff::1", lines("198.51.100.9", "2001:db8:1:2::7"), "2001:db8:1:2::"},
		{"a proxy without the field", "10.1.2.3", nil, "10.1.2.3"},
		{"a peer that is no proxy", "198.51.100.4", lines("203.0.113.7"), "198.51.100.4"},
		{"an element that can't be read", "10.1.2.3", lines("203.0.113.7", "nonsense"), "10.1.2.3"},
	} {
		equal(s, "partition of "+c.what, p.of(request{path: "/u/1", peer: c.peer, header: c.header}), ipKey(c.want))
	}
}

// ipKey is the partition of an address.
func ipKey(addr string) ratelimit.Partition { return ratelimit.IPKey(netip.MustParseAddr(addr)) }

// partitions is a site that tells the partitions of requests.
type partitions struct {
	s      *suite
	script *Script
	*server
}

// partitions serves [routes] under a policy with this key.
func (s *suite) partitions(key ratelimit.KeyBuilder, options ...ratelimit.Option) partitions {
	s.Helper()
	return s.partitionsWith(Config{}, key, options...)
}

func (s *suite) partitionsWith(cfg Config, key ratelimit.KeyBuilder, options ...ratelimit.Option) partitions {
	s.Helper()
	script := NewScript(answers(perIPAdmits))
	l := s.limiter(script, append(options, ratelimit.Policy{Name: "who", Key: key, Limit: ratelimit.PerMinute(100)})...)
	return partitions{s: s, script: script, server: s.serve(Site{Routes: routes(ok().handle, Middleware{Limiter: l, Config: cfg})})}
}

// of sends a request and returns the partition that was charged, "" if none.
func (p partitions) of(r request) ratelimit.Partition {
	p.s.Helper()
	before := len(p.script.Charges())
	p.do(r)
	charges := p.script.Charges()
	switch len(charges) - before {
	case 0:
		return ""
	case 1:
		return charges[before][0].Partition
	}
	p.s.Errorf("one request was charged %d times", len(charges)-before)
	return ""
}
