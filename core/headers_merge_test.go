package ratelimit_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// one is an allowed decision of one policy of 100 per minute.
func one(name string, limit, remaining int64) *ratelimit.Decision {
	return ratelimit.Decision{Allowed: true, Policy: name}.MadeOf(ratelimit.Part{
		Name: name, Limit: ratelimit.PerMinute(limit), Cost: 1, Result: allowed(limit, remaining, 10*time.Second),
	})
}

// refusal is a denial by one policy of one per minute.
func refusal(name string, wait time.Duration) *ratelimit.Decision {
	return ratelimit.Decision{Reason: ratelimit.ReasonRateLimited, Policy: name, RetryAfter: wait, Result: denied}.MadeOf(ratelimit.Part{
		Name: name, Limit: ratelimit.PerMinute(1), Cost: 1, Result: ratelimit.Result{Limit: 1, RetryAfter: wait, ResetAfter: wait, At: start},
	})
}

var hiddenRefusal = ratelimit.Decision{Reason: ratelimit.ReasonRateLimited, RetryAfter: time.Second, Result: denied}.MadeOf(
	ratelimit.Part{Name: "secret", Limit: perIP, Hidden: true, Cost: 1, Result: denied})

// merges says what becomes of fields that are there when others are set.
var merges = []struct {
	name      string
	config    ratelimit.HeaderConfig
	there     http.Header
	decisions []*ratelimit.Decision
	want      string
}{
	{
		name:      "three limiters, the one in the middle has the least left",
		decisions: []*ratelimit.Decision{one("a", 100, 50), one("b", 10, 1), one("c", 1000, 900)},
		want: `Ratelimit: "a";r=50;t=10, "b";r=1;t=10, "c";r=900;t=10
			Ratelimit-Policy: "a";q=100;w=60, "b";q=10;w=60, "c";q=1000;w=60
			X-Ratelimit-Limit: 10
			X-Ratelimit-Remaining: 1
			X-Ratelimit-Reset: 1700000011`,
	},
	{
		name:      "the outer one stands if both have as much left",
		decisions: []*ratelimit.Decision{one("a", 100, 50), one("b", 10, 5)},
		want: `Ratelimit: "a";r=50;t=10, "b";r=5;t=10
			Ratelimit-Policy: "a";q=100;w=60, "b";q=10;w=60
			X-Ratelimit-Limit: 100
			X-Ratelimit-Remaining: 50
			X-Ratelimit-Reset: 1700000011`,
	},
	{
		name:      "a limit of zero has nothing left",
		decisions: []*ratelimit.Decision{one("shut", 0, 0), one("b", 10, 1)},
		want: `Ratelimit: "shut";r=0, "b";r=1;t=10
			Ratelimit-Policy: "shut";q=0;w=60, "b";q=10;w=60
			X-Ratelimit-Limit: 0
			X-Ratelimit-Remaining: 0
			X-Ratelimit-Reset: 1700000011`,
	},
	{
		// Faults row 158.
		name:      "the inner one denies",
		decisions: []*ratelimit.Decision{one("a", 100, 0), refusal("b", time.Minute)},
		want: `Cache-Control: no-store
			Ratelimit: "b";r=0;t=60
			Ratelimit-Policy: "a";q=100;w=60, "b";q=1;w=60
			Retry-After: 60
			X-Ratelimit-Limit: 1
			X-Ratelimit-Remaining: 0
			X-Ratelimit-Reset: 1700000061`,
	},
	{
		name:      "an inner hidden one denies: nothing looks like quota to spare",
		decisions: []*ratelimit.Decision{one("a", 100, 99), hiddenRefusal},
		want: `Cache-Control: no-store
			Ratelimit-Policy: "a";q=100;w=60
			Retry-After: 1`,
	},
	{
		name:      "an inner one fails closed",
		decisions: []*ratelimit.Decision{one("a", 100, 99), {Reason: ratelimit.ReasonFailedClosed}},
		want: `Cache-Control: no-store
			Ratelimit-Policy: "a";q=100;w=60
			Retry-After: 1`,
	},
	{
		name:      "an inner one is canceled",
		decisions: []*ratelimit.Decision{one("a", 100, 99), {Reason: ratelimit.ReasonCanceled}},
		want: `Cache-Control: no-store
			Ratelimit: "a";r=99;t=10
			Ratelimit-Policy: "a";q=100;w=60
			X-Ratelimit-Limit: 100
			X-Ratelimit-Remaining: 99
			X-Ratelimit-Reset: 1700000011`,
	},
	{
		name: "an inner one failed open",
		decisions: []*ratelimit.Decision{
			one("a", 100, 99),
			ratelimit.Decision{Allowed: true, Reason: ratelimit.ReasonFailedOpen}.MadeOf(ratelimit.Part{Name: "b", Limit: perIP, Result: ratelimit.Result{Allowed: true}}),
		},
		want: `Ratelimit: "a";r=99;t=10
			Ratelimit-Policy: "a";q=100;w=60, "b";q=100;w=60
			X-Ratelimit-Limit: 100
			X-Ratelimit-Remaining: 99
			X-Ratelimit-Reset: 1700000011`,
	},
	{
		name: "several lines become one, other fields stay",
		there: http.Header{
			"Ratelimit-Policy": {`"x";q=1;w=1`, "", `"y";q=2;w=2`},
			"Ratelimit":        {`"x";r=1;t=1`, `"y";r=2;t=2`},
			"Etag":             {`"e"`}, "Cache-Control": {"public"}, "X-Other": {"1", "2"},
		},
		decisions: []*ratelimit.Decision{one("a", 100, 50)},
		want: `Cache-Control: public
			Etag: "e"
			Ratelimit: "x";r=1;t=1, "y";r=2;t=2, "a";r=50;t=10
			Ratelimit-Policy: "x";q=1;w=1, "y";q=2;w=2, "a";q=100;w=60
			X-Other: 1
			X-Other: 2
			X-Ratelimit-Limit: 100
			X-Ratelimit-Remaining: 50
			X-Ratelimit-Reset: 1700000011`,
	},
	{
		name: "a denial lets nothing be stored or revalidated",
		there: http.Header{
			"Cache-Control": {"public, max-age=600", "immutable"}, "Etag": {`"e"`}, "Last-Modified": {"x"}, "Expires": {"x"}, "Vary": {"Origin"},
		},
		decisions: []*ratelimit.Decision{{Reason: ratelimit.ReasonFailedClosed}},
		want: `Cache-Control: no-store
			Retry-After: 1
			Vary: Origin`,
	},
	{
		name: "X-RateLimit fields that can't be read are replaced",
		there: http.Header{
			"X-Ratelimit-Limit": {"10, 10;w=1"}, "X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"1"},
		},
		config:    ratelimit.HeaderConfig{Draft: ratelimit.NoDraft},
		decisions: []*ratelimit.Decision{one("a", 100, 50)},
		want: `X-Ratelimit-Limit: 100
			X-Ratelimit-Remaining: 50
			X-Ratelimit-Reset: 1700000011`,
	},
	{
		name:      "half of X-RateLimit is no policy",
		there:     http.Header{"X-Ratelimit-Limit": {"10"}, "X-Ratelimit-Reset": {"1", "2"}},
		config:    ratelimit.HeaderConfig{Draft: ratelimit.NoDraft},
		decisions: []*ratelimit.Decision{one("a", 100, 50)},
		want: `X-Ratelimit-Limit: 100
			X-Ratelimit-Remaining: 50
			X-Ratelimit-Reset: 1700000011`,
	},
	{
		name:   "a reset that isn't known doesn't keep another's",
		there:  http.Header{"X-Ratelimit-Limit": {"10"}, "X-Ratelimit-Remaining": {"9"}, "X-Ratelimit-Reset": {"1"}},
		config: ratelimit.HeaderConfig{Draft: ratelimit.NoDraft},
		decisions: []*ratelimit.Decision{ratelimit.Decision{Allowed: true, Policy: "shut"}.MadeOf(ratelimit.Part{
			Name: "shut", Limit: ratelimit.TokenBucket(0, time.Second, 2), Cost: 1, Result: allowed(2, 1, ratelimit.Never),
		})},
		want: `X-Ratelimit-Limit: 2
			X-Ratelimit-Remaining: 1`,
	},
	{
		name:      "draft 06: the least left",
		config:    ratelimit.HeaderConfig{Draft: ratelimit.Draft06, XRateLimit: ratelimit.NoXRateLimit},
		decisions: []*ratelimit.Decision{one("a", 100, 50), one("b", 10, 1), one("c", 1000, 900)},
		want: `Ratelimit-Limit: 10
			Ratelimit-Policy: 100;w=60, 10;w=60, 1000;w=60
			Ratelimit-Remaining: 1
			Ratelimit-Reset: 10`,
	},
	{
		name:      "draft 07: the least left",
		config:    ratelimit.HeaderConfig{Draft: ratelimit.Draft07, XRateLimit: ratelimit.NoXRateLimit},
		decisions: []*ratelimit.Decision{one("a", 100, 50), one("b", 10, 1), one("c", 1000, 900)},
		want: `Ratelimit: limit=10, remaining=1, reset=10
			Ratelimit-Policy: 100;w=60, 10;w=60, 1000;w=60`,
	},
	{
		name:      "names are exposed once",
		config:    ratelimit.HeaderConfig{Draft: ratelimit.NoDraft, XRateLimit: ratelimit.ResetUnix, ExposeHeaders: true},
		there:     http.Header{"Access-Control-Expose-Headers": {"X-Total,x-ratelimit-RESET", "*"}},
		decisions: []*ratelimit.Decision{one("a", 100, 50), one("b", 100, 60)},
		want: `Access-Control-Expose-Headers: X-Total,x-ratelimit-RESET, *, X-RateLimit-Limit, X-RateLimit-Remaining, Retry-After
			X-Ratelimit-Limit: 100
			X-Ratelimit-Remaining: 50
			X-Ratelimit-Reset: 1700000011`,
	},
}

func TestMerge(t *testing.T) {
	for _, c := range merges {
		t.Run(c.name, func(t *testing.T) {
			native, foreign := http.Header{}, http.Header{}
			if c.there != nil {
				native, foreign = c.there.Clone(), c.there.Clone()
			}
			for _, d := range c.decisions {
				c.config.Apply(native, d)
				c.config.Apply(ratelimit.Foreign{Fields: foreign}, d)
			}
			if got, want := written(native), flush(c.want); got != want {
				t.Errorf("fields are\n%s\nwant\n%s", got, want)
			}
			if got, want := written(foreign), written(native); got != want {
				t.Errorf("through another kind of header the fields are\n%s\nnot\n%s", got, want)
			}
		})
	}
}

// A wait that is there and longer stays; whatever else is there goes. The
// denial is one of five seconds at 1700000000.25.
func TestMergeRetryAfter(t *testing.T) {
	date := func(unix int64) string { return time.Unix(unix, 0).UTC().Format(http.TimeFormat) }
	for _, c := range []struct {
		there []string
		want  string
	}{
		{nil, "5"},
		{[]string{"4"}, "5"},
		{[]string{"5"}, "5"},
		{[]string{"6"}, "6"},
		{[]string{"6", "900", "7"}, "900"},
		{[]string{" 6"}, "6"},
		{[]string{"0"}, "5"},
		{[]string{"-6"}, "5"},
		{[]string{"6.5"}, "5"},
		{[]string{"6s"}, "5"},
		{[]string{"1e9"}, "5"},
		{[]string{"9999999999999999"}, "5"},
		{[]string{date(1_700_000_006)}, "5"},
		{[]string{date(1_700_000_007)}, date(1_700_000_007)},
		{[]string{date(1_600_000_000)}, "5"},
	} {
		h := http.Header{}
		if c.there != nil {
			h["Retry-After"] = c.there
		}
		ratelimit.HeaderConfig{}.Apply(h, refusal("a", 5*time.Second))
		if got := strings.Join(h["Retry-After"], "|"); got != c.want {
			t.Errorf("%q and 5 became %q, want %q", c.there, got, c.want)
		}
	}
	h := http.Header{"Retry-After": {"6"}}
	ratelimit.HeaderConfig{}.Apply(h, refusal("a", ratelimit.Never))
	if got, ok := h["Retry-After"]; ok {
		t.Errorf("a request that can never pass is told to retry after %v", got)
	}
	h = http.Header{"Retry-After": {date(time.Now().Unix() + 3600)}}
	ratelimit.HeaderConfig{}.Apply(h, &ratelimit.Decision{Reason: ratelimit.ReasonFailedClosed})
	if got := h.Get("Retry-After"); got == "1" {
		t.Error("without a store's clock a date an hour from now was lowered to 1")
	}
}

// The slices given to an http.Header are not to be reached through each other.
func TestValuesDoNotOverlap(t *testing.T) {
	h := http.Header{}
	ratelimit.HeaderConfig{}.Apply(h, one("a", 100, 50))
	before := written(h)
	for name := range h {
		if values := h[name]; cap(values) != 1 {
			t.Errorf("%s has room for %d values", name, cap(values))
		}
		h.Add(name, "added")
	}
	for name := range h {
		h[name] = h[name][:1]
	}
	if got := written(h); got != before {
		t.Errorf("adding to fields changed others:\n%s\nwas\n%s", got, before)
	}
}
