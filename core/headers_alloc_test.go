package ratelimit_test

import (
	"net/http"
	"slices"
	"strconv"
	"testing"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// silent is a header of another kind that keeps nothing, so that what apply
// allocates by itself shows.
type silent struct{ fields int }

func (*silent) Get(string) string    { return "" }
func (s *silent) Set(string, string) { s.fields++ }
func (*silent) Del(string)           {}

func TestApplyAllocations(t *testing.T) {
	failedOpen := ratelimit.Decision{Allowed: true, Reason: ratelimit.ReasonFailedOpen}.MadeOf(
		ratelimit.Part{Name: "per-ip", Limit: perIP, Result: ratelimit.Result{Allowed: true}})
	for _, c := range []struct {
		name            string
		decision        *ratelimit.Decision
		native, foreign float64
	}{
		{"five fields", one("per-ip", 100, 99), 1, 1},
		{"five fields of two policies", twoAllowed(), 2, 1},
		{"denied", refusal("per-ip", 1), 1, 1},
		{"failed open", failedOpen, 1, 0},
		{"nothing to tell", &ratelimit.Decision{Allowed: true}, 0, 0},
	} {
		config := ratelimit.HeaderConfig{ExposeHeaders: true}
		h := http.Header{}
		if n := testing.AllocsPerRun(100, func() { clear(h); config.Apply(h, c.decision) }); n > c.native {
			t.Errorf("%s: %v allocations for an http.Header, want at most %v", c.name, n, c.native)
		}
		s := new(silent)
		if n := testing.AllocsPerRun(100, func() { config.Apply(s, c.decision) }); n > c.foreign {
			t.Errorf("%s: %v allocations for another header, want at most %v", c.name, n, c.foreign)
		}
	}
}

func TestBodyAllocations(t *testing.T) {
	d := refusal("per-ip", 1)
	accept := []string{"text/html, application/problem+json;q=0.5"}
	room := make([]byte, 0, 512)
	if n := testing.AllocsPerRun(100, func() { ratelimit.MakeBody(room, d, accept) }); n > 0 {
		t.Errorf("a body takes %v allocations", n)
	}
}

func BenchmarkFloor(b *testing.B) {
	h := http.Header{}
	policy := []string{`"per-ip";q=100;w=60`}
	limit := []string{"100"}
	n := int64(0)
	b.ReportAllocs()
	for b.Loop() {
		clear(h)
		n++
		var stack [256]byte
		buf := append(stack[:0], `"per-ip";r=`...)
		buf = strconv.AppendInt(buf, n%100, 10)
		buf = append(buf, ";t="...)
		buf = strconv.AppendInt(buf, 10, 10)
		a := len(buf)
		buf = strconv.AppendInt(buf, n%100, 10)
		c := len(buf)
		buf = strconv.AppendInt(buf, 1_700_000_000+n%10, 10)
		s := string(buf)
		v := &[3]string{s[:a], s[a:c], s[c:]}
		h["Ratelimit"] = v[0:1:1]
		h["Ratelimit-Policy"] = policy
		h["X-Ratelimit-Limit"] = limit
		h["X-Ratelimit-Remaining"] = v[1:2:2]
		h["X-Ratelimit-Reset"] = v[2:3:3]
	}
}

func BenchmarkApply(b *testing.B) {
	config := ratelimit.HeaderConfig{}
	for name, apply := range map[string]func(ratelimit.ResponseHeader, *ratelimit.Decision){"short": config.Apply, "long": config.ApplyAny} {
		b.Run(name, func(b *testing.B) {
			h, d := http.Header{}, one("per-ip", 100, 99)
			b.ReportAllocs()
			for b.Loop() {
				clear(h)
				apply(h, d)
			}
		})
	}
}

// TestApplyShares edits the fields of one response in place, which must not
// show in any other.
func TestApplyShares(t *testing.T) {
	failedOpen := ratelimit.Decision{Allowed: true, Reason: ratelimit.ReasonFailedOpen}.MadeOf(
		ratelimit.Part{Name: "per-ip", Limit: perIP, Result: ratelimit.Result{Allowed: true}})
	for draft := ratelimit.Draft11; draft <= ratelimit.NoDraft; draft++ {
		for _, before := range []http.Header{{}, {"Date": {"now"}}} {
			for i, d := range []*ratelimit.Decision{one("per-ip", 100, 99), twoAllowed(), refusal("per-ip", 1), failedOpen} {
				config := ratelimit.HeaderConfig{Draft: draft, ExposeHeaders: true}
				first := before.Clone()
				config.Apply(first, d)
				want := first.Clone()
				for _, lines := range first {
					for i := range lines {
						lines[i] = "edited"
					}
				}
				second := before.Clone()
				config.Apply(second, d)
				for name := range want {
					if !slices.Equal(second[name], want[name]) {
						t.Errorf("draft %d, decision %d: %s is %q after another response's was edited, want %q", draft, i, name, second[name], want[name])
					}
					if len(second[name]) != cap(second[name]) {
						t.Errorf("draft %d, decision %d: %s has room that is another field's", draft, i, name)
					}
				}
			}
		}
	}
}
