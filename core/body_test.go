package ratelimit_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// checkBody holds a body against RFC 9457 and the draft.
func checkBody(t *testing.T, contentType, body string, status int) {
	t.Helper()
	var members map[string]any
	if err := json.Unmarshal([]byte(body), &members); err != nil {
		t.Fatalf("body %q: %v", body, err)
	}
	switch contentType {
	case "application/json":
		for _, key := range []string{"error", "message", "limit", "remaining", "reset", "retry_after", "policy"} {
			if _, ok := members[key]; !ok {
				t.Errorf("%s is missing in %s", key, body)
			}
		}
	case "application/problem+json":
		if members["status"] != float64(status) {
			t.Errorf("status is %v in the body of a %d", members["status"], status)
		}
		violated, ok := members["violated-policies"].([]any)
		if (status == http.StatusTooManyRequests) != ok || ok && len(violated) == 0 {
			t.Errorf("violated-policies is %v in the body of a %d", members["violated-policies"], status)
		}
	default:
		t.Errorf("content type is %q", contentType)
	}
}

func TestStatus(t *testing.T) {
	for reason, want := range map[ratelimit.Reason]int{
		ratelimit.ReasonRateLimited:  429,
		ratelimit.ReasonFailedClosed: 503,
		ratelimit.ReasonCanceled:     503,
	} {
		d := ratelimit.Decision{Reason: reason}
		if got := d.Status(); got != want {
			t.Errorf("%v is answered %d, want %d", reason, got, want)
		}
		d.Allowed = true
		if got := d.Status(); got != 0 {
			t.Errorf("allowed with %v is answered %d", reason, got)
		}
	}
}

func TestBodyForm(t *testing.T) {
	d := ratelimit.Decision{Reason: ratelimit.ReasonRateLimited}.MadeOf()
	const problem = "application/problem+json"
	for _, c := range []struct {
		form   ratelimit.BodyForm
		accept string
		want   string
	}{
		{ratelimit.BodyNegotiated, "", "application/json"},
		{ratelimit.BodyNegotiated, problem, problem},
		{ratelimit.BodyNegotiated, "text/html", "application/json"},
		{ratelimit.BodyJSON, problem, "application/json"},
		{ratelimit.BodyProblem, "application/json", problem},
	} {
		if got, _, _ := ratelimit.BodyOf(d, ratelimit.HeaderConfig{Body: c.form}, c.accept); got != c.want {
			t.Errorf("form %d, Accept %q: %s, want %s", c.form, c.accept, got, c.want)
		}
	}
}

func TestPrefersProblem(t *testing.T) {
	const p = "application/problem+json"
	for _, c := range []struct {
		accept []string
		want   bool
	}{
		{nil, false},
		{[]string{""}, false},
		{[]string{"*/*"}, false},
		{[]string{"application/*"}, false},
		{[]string{"application/json"}, false},
		{[]string{p}, true},
		{[]string{"Application/Problem+JSON"}, true},
		{[]string{p + ";charset=utf-8"}, true},
		{[]string{p + `;profile="a,b;q=0"`}, true},
		{[]string{p + `;profile="a\",` + p + `;q=0"`}, true},
		{[]string{"text/html, " + p + ", */*;q=0.1"}, true},
		{[]string{"application/json, " + p}, true},
		{[]string{"application/json, " + p + ";q=0.9"}, false},
		{[]string{"application/json;q=0.9, " + p + ";q=0.900"}, true},
		{[]string{"application/json;q=0.9, " + p + ";q=0.899"}, false},
		{[]string{p + ";q=0.5, */*;q=0.6"}, false},
		{[]string{p + ";q=0.5, */*;q=0.6, application/*;q=0.4"}, true},
		{[]string{p + ";q=0.5, application/*;q=0.6, application/json;q=0.1"}, true},
		{[]string{p + ";q=0.5, application/json;q=0.1, application/*;q=0.6, */*"}, true},
		{[]string{p + ";q=0.5, application/json;q=0.1, application/json;q=0.6"}, false},
		{[]string{p + ";q=0"}, false},
		{[]string{p + ";q=0.000"}, false},
		{[]string{p + ";q=0.001"}, true},
		{[]string{p + "; Q=1.000"}, true},
		{[]string{p + " ; q=1"}, true},
		{[]string{p + ";;q=1"}, true},
		{[]string{"application/json;q=0.5", p}, true},
		{[]string{p + ";q=0.5", "application/json"}, false},
		// What can't be read counts for nothing.
		{[]string{p + ";q=2"}, false},
		{[]string{p + ";q=1.001"}, false},
		{[]string{p + ";q=0.1234"}, false},
		{[]string{p + ";q=.5"}, false},
		{[]string{p + ";q=-1"}, false},
		{[]string{p + ";q="}, false},
		{[]string{p + ";q"}, false},
		{[]string{p + ";q =1"}, false},
		{[]string{p + "x"}, false},
		{[]string{"application/problem json"}, false},
		{[]string{"application"}, false},
		{[]string{"application/"}, false},
		{[]string{"*;q=.2, " + p}, true},
		{[]string{`text/plain;a="` + p}, false},
		{[]string{`text/plain;a="\", ` + p}, false},
		{[]string{p + `;a="\";q=0`}, false},
		{[]string{",,, " + p + ",,"}, true},
		{[]string{p + strings.Repeat(",a/b", 1500)}, false},
		{[]string{p, strings.Repeat("a", 4<<10)}, false},
	} {
		if got := ratelimit.PrefersProblem(c.accept); got != c.want {
			t.Errorf("PrefersProblem(%.80q) = %v", c.accept, got)
		}
	}
}

// Whatever a client sends, the answer is one of the two and reading it costs
// no memory.
func FuzzPrefersProblem(f *testing.F) {
	f.Add("application/problem+json;q=0.5, */*;q=0.1")
	f.Add(`text/html;a="\",`)
	f.Add("application/json;q=1.000;q=0")
	f.Fuzz(func(t *testing.T, accept string) {
		lines := []string{accept}
		if ratelimit.PrefersProblem(lines) && !strings.Contains(strings.ToLower(accept), "application/problem+json") {
			t.Errorf("%q doesn't name what it is said to prefer", accept)
		}
		if n := testing.AllocsPerRun(1, func() { ratelimit.PrefersProblem(lines) }); n > 0 {
			t.Errorf("reading %q allocates %v times", accept, n)
		}
	})
}
