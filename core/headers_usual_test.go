package ratelimit_test

import (
	"math/rand/v2"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// someDecision is one that the usual way may be taken for, or just not.
func someDecision(random *rand.Rand) *ratelimit.Decision {
	pick := func(of ...int64) int64 { return of[random.IntN(len(of))] }
	limit := properLimits[random.IntN(len(properLimits))]
	if random.IntN(4) == 0 {
		limit = ratelimit.TokenBucket(pick(1_000_000_000, 1<<40), time.Hour, pick(1, 1_000_000_000, 1<<40))
	}
	capacity := limit.Capacity()
	result := ratelimit.Result{
		Allowed: random.IntN(2) == 0, Limit: capacity, Remaining: random.Int64N(capacity + 1), At: pick(0, 1_700_000_000_000_000, 1_700_000_000_999_999),
		ResetAfter: time.Duration(pick(0, 1, 999_999_999, 60_000_000_000, 1<<52)),
	}
	switch random.IntN(12) {
	case 0:
		result.Limit = pick(0, 5, 1<<60)
	case 1:
		result.Remaining = pick(-1, 1<<50, 1<<62)
	case 2:
		result.ResetAfter = ratelimit.Never
	}
	if !result.Allowed {
		result.RetryAfter = time.Duration(pick(1, 999_999_999, 1_000_000_001, 60_000_000_000, 5_000_000_000_000, int64(ratelimit.Never)))
	}
	name := []string{"p", "per-ip", `a "quoted" one`, strings.Repeat("long", 8)}[random.IntN(4)]
	d := ratelimit.Decision{Allowed: result.Allowed, Policy: name, Result: result, RetryAfter: result.RetryAfter}
	if !d.Allowed {
		d.Reason = ratelimit.ReasonRateLimited
		if random.IntN(6) == 0 {
			d.Reason = []ratelimit.Reason{ratelimit.ReasonBlocked, ratelimit.ReasonFailedClosed, ratelimit.ReasonCanceled, ratelimit.ReasonDenyListed}[random.IntN(4)]
		}
	} else if random.IntN(6) == 0 {
		d.Reason = []ratelimit.Reason{ratelimit.ReasonFailedOpen, ratelimit.ReasonExempt}[random.IntN(2)]
	}
	part := ratelimit.Part{Name: name, Limit: limit, Cost: 1, Result: result, Hidden: random.IntN(12) == 0, Shadow: random.IntN(12) == 0}
	parts := []ratelimit.Part{part, {Name: "other", Limit: limit, Result: ratelimit.Result{Allowed: true, Limit: capacity, Remaining: capacity}}}
	switch random.IntN(8) {
	case 0:
		d.Policy = "" // none binds
	case 1:
		return d.MadeOf(parts...)
	}
	return d.MadeOf(parts[:1]...)
}

// TestUsual compares the short way with the one for all responses, which are the
// same to the letter.
func TestUsual(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 11))
	before := []http.Header{
		{},
		{},
		{},
		{"Date": {"now"}, "Etag": {`"x"`}},
		{"X-Ratelimit-Limit": {"3"}},
		{"X-Ratelimit-Remaining": {"3"}},
		{"X-Ratelimit-Reset": {"3"}},
		{"Ratelimit": {`"o";r=1`}},
		{"Ratelimit-Policy": {`"o";q=1;w=1`}},
		{"Retry-After": {"99999"}},
		{"Cache-Control": {"public"}},
		{"Last-Modified": {"x"}},
		{"Expires": {"x"}},
		{"Date": {"now"}, "Vary": {"Origin"}},
	}
	accepts := [][]string{nil, nil, {"*/*"}, {"application/problem+json"}}
	short := make(map[bool]int)
	for n := range 20_000 {
		d, h := someDecision(random), ratelimit.HeaderConfig{}
		switch random.IntN(8) {
		case 0:
			h.Draft = ratelimit.Draft(random.IntN(int(ratelimit.NoDraft) + 1))
		case 1:
			h.XRateLimit = ratelimit.XRateLimit(random.IntN(3))
		case 2:
			h.ExposeHeaders = true
		case 3:
			h.Body = ratelimit.BodyForm(random.IntN(3))
		}
		header := before[random.IntN(len(before))].Clone()
		want, accept := header.Clone(), accepts[random.IntN(len(accepts))]
		h.ApplyAny(want, d)
		if d.Allowed {
			foreign := ratelimit.Foreign{Fields: header.Clone()}
			h.Apply(header, d)
			h.Apply(copying{foreign}, d)
			if !reflect.DeepEqual(foreign.Fields, want) {
				t.Fatalf("%d: %+v\n%+v\n%v in a header that copies, want\n%v", n, h, d, foreign.Fields, want)
			}
		} else {
			wantType, wantBody, wantStatus, _ := h.Answered(false, want.Clone(), d, accept)
			gotType, gotBody, gotStatus, took := h.Answered(true, header, d, accept)
			short[took]++
			if gotType != wantType || gotBody != wantBody || gotStatus != wantStatus {
				t.Fatalf("%d: %+v\n%+v\nanswered with %d %s %swant %d %s %s", n, h, d, gotStatus, gotType, gotBody, wantStatus, wantType, wantBody)
			}
		}
		if !reflect.DeepEqual(header, want) {
			t.Fatalf("%d: %+v\n%+v\n%v, want\n%v", n, h, d, header, want)
		}
	}
	if short[true] < 200 || short[false] < 200 {
		t.Errorf("%d refusals took the short way, %d the long one", short[true], short[false])
	}
}

// copying is a header that copies what it is given.
type copying struct{ ratelimit.Foreign }

func (c copying) None() bool { return len(c.Fields) == 0 }

func (c copying) SetBytes(name string, value []byte) { c.Set(name, string(value)) }
