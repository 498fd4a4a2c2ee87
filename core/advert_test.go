package ratelimit_test

import (
	"strings"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

func TestAdvert(t *testing.T) {
	for _, c := range []struct {
		name                        string
		limit                       ratelimit.Limit
		member, oldMember, capacity string
	}{
		{"per-ip", ratelimit.PerMinute(100), `"per-ip";q=100;w=60`, `100;w=60`, "100"},
		{"log", ratelimit.SlidingLog(5, 15*time.Minute), `"log";q=5;w=900`, `5;w=900`, "5"},
		{"plan", ratelimit.TokenBucket(1000, time.Hour, 50), `"plan";q=1000;w=3600;floodgate-burst=50`, `1000;w=3600;floodgate-burst=50`, "50"},
		{"queue", ratelimit.LeakyBucket(10, 2*time.Second, 4), `"queue";q=10;w=2;floodgate-burst=4`, `10;w=2;floodgate-burst=4`, "5"},
		{"no queue", ratelimit.LeakyBucket(10, time.Second, 0), `"no queue";q=10;w=1;floodgate-burst=0`, `10;w=1;floodgate-burst=0`, "1"},
		{"shut", ratelimit.PerMinute(0), `"shut";q=0;w=60`, `0;w=60`, "0"},
		{"short", ratelimit.FixedWindow(1, ratelimit.MinWindow), `"short";q=1;w=1`, `1;w=1`, "1"},
		{"odd", ratelimit.FixedWindow(1, time.Second+time.Microsecond), `"odd";q=1;w=2`, `1;w=2`, "1"},
		{"max", ratelimit.TokenBucket(ratelimit.MaxQuota, time.Second, ratelimit.MaxQuota-1), `"max";q=999999999999999;w=1;floodgate-burst=999999999999998`, `999999999999999;w=1;floodgate-burst=999999999999998`, "999999999999998"},
		{`a"b\`, ratelimit.PerSecond(1), `"a\"b\\";q=1;w=1`, `1;w=1`, "1"},
		// These have none.
		{"free", ratelimit.Unlimited, "", "", ""},
		{"", ratelimit.PerSecond(1), "", "", ""},
		{"a\r\nSet-Cookie: x", ratelimit.PerSecond(1), "", "", ""},
	} {
		member, oldMember, capacity := ratelimit.Advert(c.name, c.limit)
		if member != c.member || oldMember != c.oldMember || capacity != c.capacity {
			t.Errorf("%q %v is told as %s, %s, %s; want %s, %s, %s", c.name, c.limit, member, oldMember, capacity, c.member, c.oldMember, c.capacity)
		}
	}
}

func TestPolicyName(t *testing.T) {
	for _, name := range []string{"a", " ~", "per-ip", "GET /search", `"\`, strings.Repeat("n", 64)} {
		if err := ratelimit.ValidatePolicyName(name); err != nil {
			t.Errorf("%q is refused: %v", name, err)
		}
	}
	for name, mend := range map[string]string{
		"":                      "give the policy a name",
		strings.Repeat("n", 65): "use at most 64",
		"a\x00":                 "printable ASCII",
		"a\n":                   "printable ASCII",
		"a\r\nX: y":             "printable ASCII",
		"a\x7f":                 "printable ASCII",
		"naïve":                 "printable ASCII",
	} {
		err := ratelimit.ValidatePolicyName(name)
		if err == nil || !strings.HasPrefix(err.Error(), "ratelimit: Policy.Name") || !strings.Contains(err.Error(), mend) {
			t.Errorf("%q: error is %v, want one that names Policy.Name and %q", name, err, mend)
		}
	}
}

func TestHeaderConfig(t *testing.T) {
	for draft := ratelimit.Draft11; draft <= ratelimit.NoDraft; draft++ {
		for x := ratelimit.ResetUnix; x <= ratelimit.NoXRateLimit; x++ {
			for body := ratelimit.BodyNegotiated; body <= ratelimit.BodyProblem; body++ {
				c := ratelimit.HeaderConfig{Draft: draft, XRateLimit: x, Body: body}
				if err := c.Validate(); err != nil {
					t.Errorf("%+v: %v", c, err)
				}
			}
		}
	}
	for field, c := range map[string]ratelimit.HeaderConfig{
		"HeaderConfig.Draft 5 is unknown: use Draft11":        {Draft: ratelimit.NoDraft + 1},
		"HeaderConfig.XRateLimit 3 is unknown: use ResetUnix": {XRateLimit: ratelimit.NoXRateLimit + 1},
		"HeaderConfig.Body 3 is unknown: use BodyNegotiated":  {Body: ratelimit.BodyProblem + 1},
	} {
		if err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), "ratelimit: "+field) {
			t.Errorf("%+v: error is %v, want %q", c, err, field)
		}
	}
}
