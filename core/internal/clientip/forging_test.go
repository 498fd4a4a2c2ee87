package clientip

import (
	"math/rand/v2"
	"net/netip"
	"regexp"
	"strings"
	"testing"
)

// addHop adds an element as a proxy does: to the last line or on a new one.
func addHop(random *rand.Rand, lines []string, element string) []string {
	if len(lines) == 0 || random.IntN(2) == 0 {
		return append(lines, element)
	}
	lines[len(lines)-1] += []string{",", ", ", " ,\t"}[random.IntN(3)] + element
	return lines
}

func forwardedElement(random *rand.Rand, addr string) string {
	if strings.Contains(addr, ":") {
		addr = `"[` + addr + `]:4711"`
	}
	return []string{"for=", "proto=https;For=", `host="a\",b;for=6.6.6.6\\";FOR=`}[random.IntN(3)] + addr +
		[]string{"", ";by=10.0.0.1", `;host="x, \"y\\"`}[random.IntN(3)]
}

// Whatever a client puts into the header, what its nearest trusted proxy has
// added decides.
func TestClientCannotForge(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{
		"6.6.6.6", "10.0.0.9", "fd00::9", "2001:db8::bad", "for=", "by=", "unknown", "_x", `"`, `\`, `\"`, ",", ", ", ";", " ", "[", "]", ":80", "=", "\x00", "é",
		"for=6.6.6.6", `for="6.6.6.6"`, `for="`, "203.0.113.7",
	}
	clients := []string{"203.0.113.7", "2001:db8::1", "192.0.2.9"}
	for range 20_000 {
		var lines []string
		for range random.IntN(3) {
			var line strings.Builder
			for range random.IntN(12) {
				line.WriteString(pieces[random.IntN(len(pieces))])
			}
			lines = append(lines, line.String())
		}
		sent := strings.Join(lines, "\n")
		client := clients[random.IntN(len(clients))]
		header, element := "", func(addr string) string { return addr }
		if random.IntN(2) == 0 {
			header, element = "Forwarded", func(addr string) string { return forwardedElement(random, addr) }
		}
		lines = addHop(random, lines, element(client))
		for range random.IntN(3) {
			lines = addHop(random, lines, element([]string{"10.0.0.2", "fd00::2"}[random.IntN(2)]))
		}
		r := newResolver(t, header, proxies)
		if got := resolve(r, "10.0.0.1:80", only(r.header, lines...)); got != client {
			t.Fatalf("the client sent %q, its proxies made it %q: %q, want %q", sent, lines, got, client)
		}
		if got := resolve(r, "192.0.2.200:80", only(r.header, lines...)); got != "192.0.2.200" {
			t.Fatalf("a stranger sent %q: %q, want the peer", lines, got)
		}
	}
}

// plainWalk is section 6 of the design, in one pass over everything.
func plainWalk(trusted []netip.Prefix, peer netip.Addr, lines []string) netip.Addr {
	hop := peer
	elements := strings.Split(strings.Join(lines, ","), ",")
	for i := len(elements) - 1; i >= 0; i-- {
		element := strings.Trim(elements[i], " \t")
		if element == "" {
			continue
		}
		addr, ok := parseAddr(element)
		if !ok {
			return hop
		}
		hop = addr
		if !anyContains(trusted, hop) {
			return hop
		}
	}
	return hop
}

func anyContains(prefixes []netip.Prefix, addr netip.Addr) bool {
	for _, prefix := range prefixes {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

var addressLike = regexp.MustCompile(`[0-9a-fA-F:.]+`)

// appears reports whether addr is spelled somewhere in text.
func appears(text string, addr netip.Addr) bool {
	text = strings.ReplaceAll(text, `\`, "")
	for _, candidate := range addressLike.FindAllString(text, -1) {
		// An address may be followed by a port, or by both in one match.
		for _, end := range []int{len(candidate), strings.LastIndexByte(candidate, ':')} {
			if end < 0 {
				continue
			}
			if parsed, err := netip.ParseAddr(candidate[:end]); err == nil && Normalise(parsed) == addr {
				return true
			}
		}
	}
	return false
}

func FuzzResolve(f *testing.F) {
	f.Add("10.0.0.1:80", "6.6.6.6, 203.0.113.7", "10.0.0.2", `for="`, uint8(0))
	trusted, err := ParsePrefixes(proxies)
	if err != nil {
		f.Fatal(err)
	}
	headers := []string{"X-Forwarded-For", "Forwarded", "X-Real-IP"}
	f.Fuzz(func(t *testing.T, peer, line1, line2, junk string, choice uint8) {
		r := newResolver(t, headers[int(choice)%len(headers)], proxies)
		from := func(peer string, lines ...string) netip.Addr {
			addr, note := r.Resolve(peer, only(r.header, lines...))
			if note != Nothing {
				t.Errorf("note %d with trusted proxies", note)
			}
			return addr
		}
		lines := []string{line1, line2}
		got := from(peer, lines...)
		alone := from(peer)

		if got != Normalise(got) || got.Is4In6() || got.Zone() != "" {
			t.Errorf("%v is not in its one form", got)
		}
		if got != alone && !appears(line1+","+line2, got) {
			t.Errorf("%v is neither the peer %q nor in %q", got, peer, lines)
		}
		hop, ok := parseAddr(peer)
		if (!ok || !anyContains(trusted, hop)) && got != alone {
			t.Errorf("the untrusted peer %q became %v by %q", peer, got, lines)
		}
		if r.header == xForwardedFor && ok && anyContains(trusted, hop) && len(line1)+len(line2) < maxHops {
			if want := Normalise(plainWalk(trusted, hop, lines)); got != want {
				t.Errorf("%q from %q: %v, want %v", lines, peer, got, want)
			}
		}
		// The walk ended at an untrusted address: nothing left of it matters.
		if r.boundary != nil && got.IsValid() && !anyContains(trusted, got) {
			for _, forged := range [][]string{{junk, line1, line2}, {junk + "," + line1, line2}, {junk, junk + ", " + line1, line2}} {
				if again := from(peer, forged...); again != got {
					t.Errorf("%q in front of %q makes %v of %v", junk, lines, again, got)
				}
			}
		}
	})
}
