package ratelimit_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/internal/sfv"
)

// start is a quarter of a second past a Unix second, so that a clock cut off
// or rounded the wrong way shows.
const start = 1_700_000_000_250_000

var (
	perIP  = ratelimit.PerMinute(100)
	plan   = ratelimit.TokenBucket(1000, time.Hour, 50)
	queue  = ratelimit.LeakyBucket(10, 2*time.Second, 4)
	odd    = ratelimit.FixedWindow(5, 1500*time.Millisecond)
	denied = ratelimit.Result{Limit: 100, RetryAfter: 4_000_001 * time.Microsecond, ResetAfter: 60 * time.Second, At: start}
)

func allowed(limit, remaining int64, reset time.Duration) ratelimit.Result {
	return ratelimit.Result{Allowed: true, Limit: limit, Remaining: remaining, ResetAfter: reset, At: start}
}

// golden is a decision, and which fields and which bodies it is answered with,
// byte for byte. Fields are sorted by name; there are no others.
type golden struct {
	name     string
	config   ratelimit.HeaderConfig
	decision *ratelimit.Decision
	fields   string
	json     string
	problem  string
}

var allGolden = slices.Concat(goldenAllowed, goldenRefused, goldenForms)

// written is a header as golden writes it.
func written(h http.Header) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			all = append(all, name+": "+value)
		}
	}
	return strings.Join(all, "\n")
}

// flush takes the indentation off a text of golden.
func flush(text string) string { return strings.ReplaceAll(text, "\n\t\t\t", "\n") }

func TestGoldenFields(t *testing.T) {
	for _, c := range allGolden {
		t.Run(c.name, func(t *testing.T) {
			native := http.Header{}
			c.config.Apply(native, c.decision)
			if got, want := written(native), flush(c.fields); got != want {
				t.Errorf("fields are\n%s\nwant\n%s", got, want)
			}
			foreign := http.Header{}
			c.config.Apply(ratelimit.Foreign{Fields: foreign}, c.decision)
			if got, want := written(foreign), written(native); got != want {
				t.Errorf("through another kind of header the fields are\n%s\nnot\n%s", got, want)
			}
			checkWellFormed(t, native, c.config)
		})
	}
}

func TestGoldenBodies(t *testing.T) {
	for _, c := range allGolden {
		t.Run(c.name, func(t *testing.T) {
			for form, want := range map[ratelimit.BodyForm]string{ratelimit.BodyJSON: c.json, ratelimit.BodyProblem: c.problem} {
				contentType, body, status := ratelimit.BodyOf(c.decision, ratelimit.HeaderConfig{Body: form})
				if want == "" {
					if contentType != "" || body != "" || status != 0 {
						t.Errorf("an allowed request is answered %d %s %s", status, contentType, body)
					}
					continue
				}
				if body != want+"\n" {
					t.Errorf("body is\n%s\nwant\n%s", body, want)
				}
				checkBody(t, contentType, body, status)
				for _, secret := range []string{"secret", "10.0.0.5", "context canceled"} {
					if strings.Contains(body, secret) {
						t.Errorf("%q is told to the client in %s", secret, body)
					}
				}
			}
		})
	}
}

// checkWellFormed holds fields against the rules of the drafts, by a reader
// that shares no code with the writer.
func checkWellFormed(t *testing.T, h http.Header, config ratelimit.HeaderConfig) {
	t.Helper()
	for name, lines := range h {
		if len(lines) != 1 || lines[0] == "" {
			t.Errorf("%s has the lines %q", name, lines)
		}
		if name != http.CanonicalHeaderKey(name) {
			t.Errorf("%s is not in the form of http.Header", name)
		}
	}
	for _, name := range []string{
		"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After",
		"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset",
	} {
		if value := h.Get(name); strings.Trim(value, "0123456789") != "" {
			t.Errorf("%s is %q, not a number", name, value)
		}
	}
	policies := canonicalList(t, h, "RateLimit-Policy")
	if config.Draft == ratelimit.Draft07 || config.Draft == ratelimit.Draft06 {
		for _, item := range policies {
			wantInteger(t, item, "w", 1)
			if item.Value.Kind != sfv.Integer {
				t.Errorf("RateLimit-Policy has the member %v", item.Value)
			}
		}
		return
	}
	known := map[string]bool{}
	for _, item := range policies {
		if item.Value.Kind != sfv.String || known[item.Value.Text] {
			t.Errorf("RateLimit-Policy has the member %v (again?)", item.Value)
		}
		known[item.Value.Text] = true
		wantInteger(t, item, "q", 0)
		wantInteger(t, item, "w", 1)
	}
	available, window := "r", "t"
	if config.Draft == ratelimit.Draft12Preview {
		available, window = "a", "w"
	}
	for _, item := range canonicalList(t, h, "RateLimit") {
		if item.Value.Kind != sfv.String || !known[item.Value.Text] {
			t.Errorf("RateLimit has the member %v, which is not in RateLimit-Policy", item.Value)
		}
		wantInteger(t, item, available, 0)
		if _, ok := item.Param(window); ok {
			wantInteger(t, item, window, 0)
		}
	}
}

// canonicalList reads a field strictly and compares it with its canonical form.
func canonicalList(t *testing.T, h http.Header, name string) []sfv.Item {
	t.Helper()
	lines := h.Values(name)
	list, err := sfv.ParseList(strings.Join(lines, ", "))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if len(lines) > 0 && (len(list) == 0 || sfv.FormatList(list) != strings.Join(lines, ", ")) {
		t.Errorf("%s is %q, in canonical form %q", name, lines, sfv.FormatList(list))
	}
	return list
}

func wantInteger(t *testing.T, item sfv.Item, key string, least int64) {
	t.Helper()
	if got, ok := item.Param(key); !ok || got.Kind != sfv.Integer || got.Int < least {
		t.Errorf("%s has %s = %v, want an Integer of at least %d", item.Value.Text, key, got, least)
	}
}
