package ratelimit_test

import (
	"math"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// received is a client's clock, 40 s behind that of the servers in these tests
// that tell theirs.
var received = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

const serverDate = "Wed, 01 Jul 2026 12:00:40 GMT"

// fieldsOf makes a header of lines "Name: value".
func fieldsOf(text ...string) http.Header {
	header := http.Header{}
	for _, line := range text {
		name, value, _ := strings.Cut(line, ": ")
		header.Add(name, value)
	}
	return header
}

func TestReadAdvertised(t *testing.T) {
	type all = []ratelimit.Advertised
	for _, test := range []struct {
		name   string
		fields []string
		want   all
	}{
		{"draft 11", []string{
			`RateLimit: "plan";r=9;t=324, "ip";r=99;t=110`, `RateLimit-Policy: "ip";q=100;w=60, "plan";q=100;w=3600;floodgate-burst=10`,
		}, all{
			{Policy: "plan", Limit: 10, Quota: 100, Window: time.Hour, Remaining: 9, EffectiveWindow: 324 * time.Second},
			{Policy: "ip", Limit: 100, Quota: 100, Window: time.Minute, Remaining: 99, EffectiveWindow: 110 * time.Second},
		}},
		{"several lines", []string{`RateLimit: "a";r=1;t=2`, `RateLimit: "b";r=3;t=4`}, all{
			{Policy: "a", Remaining: 1, EffectiveWindow: 2 * time.Second}, {Policy: "b", Remaining: 3, EffectiveWindow: 4 * time.Second},
		}},
		{"no window", []string{`RateLimit: "a";r=1`}, all{{Policy: "a", Remaining: 1, EffectiveWindow: ratelimit.Never}}},
		{"another unit", []string{`RateLimit: "a";r=1;t=2`, `RateLimit-Policy: "a";q=7;qu="content-bytes"`}, all{
			{Policy: "a", Unit: "content-bytes", Limit: 7, Quota: 7, Remaining: 1, EffectiveWindow: 2 * time.Second},
		}},
		{"the default unit", []string{`RateLimit: "a";r=1;t=2`, `RateLimit-Policy: "a";q=7;qu="requests"`}, all{
			{Policy: "a", Limit: 7, Quota: 7, Remaining: 1, EffectiveWindow: 2 * time.Second},
		}},
		{"a malformed policy", []string{`RateLimit: "a";r=1;t=2`, `RateLimit-Policy: "a";q=7;w=1s`}, all{
			{Policy: "a", Remaining: 1, EffectiveWindow: 2 * time.Second},
		}},
		{"a policy without quota", []string{`RateLimit: "a";r=1;t=2`, `RateLimit-Policy: "a";w=9`}, all{
			{Policy: "a", Remaining: 1, EffectiveWindow: 2 * time.Second},
		}},
		{"draft 12", []string{`RateLimit: "a";a=5;w=60;c=2`}, all{
			{Policy: "a", Remaining: 5, EffectiveWindow: time.Minute, Cost: 2},
		}},
		{"draft 07", []string{`RateLimit: limit=100, remaining=50, reset=30`}, all{
			{Limit: 100, Remaining: 50, EffectiveWindow: 30 * time.Second},
		}},
		{"draft 07 without reset", []string{`RateLimit: remaining=50`}, all{{Remaining: 50, EffectiveWindow: ratelimit.Never}}},
		{"draft 06", []string{`RateLimit-Limit: 10, 10;w=1`, `RateLimit-Remaining: 3`, `RateLimit-Reset: 7`}, all{
			{Limit: 10, Remaining: 3, EffectiveWindow: 7 * time.Second},
		}},
		{"X- with a Unix time", []string{`X-RateLimit-Limit: 10`, `X-RateLimit-Remaining: 3`, `X-RateLimit-Reset: 1782907205`}, all{
			{Limit: 10, Remaining: 3, EffectiveWindow: 5 * time.Second},
		}},
		{"X- by the server's clock", []string{`Date: ` + serverDate, `X-RateLimit-Remaining: 3`, `X-RateLimit-Reset: 1782907245`}, all{
			{Remaining: 3, EffectiveWindow: 5 * time.Second},
		}},
		{"X- with milliseconds", []string{`X-RateLimit-Remaining: 3`, `X-RateLimit-Reset: 1782907205250`}, all{
			{Remaining: 3, EffectiveWindow: 5250 * time.Millisecond},
		}},
		{"X- with a delta", []string{`X-RateLimit-Remaining: 3`, `X-RateLimit-Reset: 5`}, all{
			{Remaining: 3, EffectiveWindow: 5 * time.Second},
		}},
		{"X- in the past", []string{`X-RateLimit-Remaining: 0`, `X-RateLimit-Reset: 1782907100`}, all{{}}},
		{"a date instead of a reset", []string{`X-RateLimit-Remaining: 0`, `X-RateLimit-Reset: ` + serverDate}, all{{EffectiveWindow: ratelimit.Never}}},
		{"the richest form wins", []string{`RateLimit: "a";r=1;t=2`, `X-RateLimit-Remaining: 3`}, all{
			{Policy: "a", Remaining: 1, EffectiveWindow: 2 * time.Second},
		}},
		{"a malformed form gives way", []string{`RateLimit: "a";r=-1;t=2`, `X-RateLimit-Remaining: 3`}, all{
			{Remaining: 3, EffectiveWindow: ratelimit.Never},
		}},
		{"as long as can be", []string{`RateLimit: "a";r=1;t=999999999999999`}, all{
			{Policy: "a", Remaining: 1, EffectiveWindow: math.MaxInt64 / time.Second * time.Second},
		}},
		{"from a cache", []string{`RateLimit: "a";r=1;t=2`, `X-RateLimit-Remaining: 3`, `Age: 7`}, nil},
		{"fresh from a cache", []string{`RateLimit: "a";r=1`, `Age: 0`}, all{{Policy: "a", Remaining: 1, EffectiveWindow: ratelimit.Never}}},
		{"nothing", nil, nil},
		{"a token for a name", []string{`RateLimit: a;r=1`}, nil},
		{"nothing left out", []string{`RateLimit: "a";t=1`}, nil},
		{"a decimal", []string{`RateLimit: "a";r=1;t=0.5`}, nil},
		{"one bad member", []string{`RateLimit: "a";r=1, "b";t=1`}, nil},
		{"an empty field", []string{`RateLimit: `}, nil},
		{"negative", []string{`X-RateLimit-Remaining: -1`}, nil},
		{"a megabyte", []string{`RateLimit: "a";r=1` + strings.Repeat(`, "a";r=1`, 1<<17)}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := ratelimit.ReadAdvertised(fieldsOf(test.fields...), received); !reflect.DeepEqual(got, test.want) {
				t.Errorf("read %+v\nwant %+v", got, test.want)
			}
		})
	}
}

func TestReadRetryAfter(t *testing.T) {
	for _, test := range []struct {
		fields []string
		want   time.Duration
		ok     bool
	}{
		{[]string{`Retry-After: 120`}, 2 * time.Minute, true},
		{[]string{`Retry-After: 0`}, 0, true},
		{[]string{`Retry-After:  7 `}, 7 * time.Second, true},
		{[]string{`Retry-After: 999999999999999`}, math.MaxInt64 / time.Second * time.Second, true},
		{[]string{`Retry-After: 5`, `Retry-After: 10`, `Retry-After: soon`}, 10 * time.Second, true},
		{[]string{`Retry-After: Wed, 01 Jul 2026 12:00:50 GMT`}, 50 * time.Second, true},
		{[]string{`Retry-After: Wed, 01 Jul 2026 12:00:50 GMT`, `Date: ` + serverDate}, 10 * time.Second, true},
		{[]string{`Retry-After: Wednesday, 01-Jul-26 12:00:50 GMT`}, 50 * time.Second, true},
		{[]string{`Retry-After: Wed, 01 Jul 2026 11:00:00 GMT`}, 0, true},
		{nil, 0, false},
		{[]string{`Retry-After: `}, 0, false},
		{[]string{`Retry-After: 1.5`}, 0, false},
		{[]string{`Retry-After: -1`}, 0, false},
		{[]string{`Retry-After: +5`}, 0, false},
		{[]string{`Retry-After: 5, 10`}, 0, false},
		{[]string{`Retry-After: 1e3`}, 0, false},
		{[]string{`Retry-After: 2026-07-01T12:00:50Z`}, 0, false},
	} {
		got, ok := ratelimit.ReadRetryAfter(fieldsOf(test.fields...), received)
		if got != test.want || ok != test.ok {
			t.Errorf("%q: %v, %v; want %v, %v", test.fields, got, ok, test.want, test.ok)
		}
	}
}

// What a limiter writes is read as it was decided, in every form.
func TestReadsWhatIsWritten(t *testing.T) {
	decision := ratelimit.Decision{Allowed: true, Policy: "p"}.MadeOf(
		ratelimit.Part{Name: "p", Limit: perIP, Cost: 1, Result: allowed(100, 42, 9750*time.Millisecond)})
	decision.Result = allowed(100, 42, 9750*time.Millisecond)
	for _, config := range []ratelimit.HeaderConfig{
		{},
		{XRateLimit: ratelimit.NoXRateLimit},
		{Draft: ratelimit.Draft12Preview},
		{Draft: ratelimit.Draft07},
		{Draft: ratelimit.Draft06},
		{Draft: ratelimit.NoDraft},
		{Draft: ratelimit.NoDraft, XRateLimit: ratelimit.ResetDelta},
	} {
		header := http.Header{}
		config.Apply(header, decision)
		all := ratelimit.ReadAdvertised(header, time.UnixMicro(start))
		if len(all) != 1 || all[0].Remaining != 42 || all[0].Limit != 100 ||
			all[0].EffectiveWindow < 9750*time.Millisecond || all[0].EffectiveWindow > 11*time.Second {
			t.Errorf("%+v: read %+v of\n%s", config, all, written(header))
		}
	}
}

func FuzzReadAdvertised(f *testing.F) {
	f.Add(`"a";r=1;t=2`, `"a";q=1;w=2`, "10")
	f.Add(`limit=1, remaining=2, reset=3`, "", "1785738360")
	f.Fuzz(func(t *testing.T, member, policy, number string) {
		header := http.Header{}
		header.Set("RateLimit", member)
		header.Set("RateLimit-Policy", policy)
		header.Set("X-RateLimit-Remaining", number)
		header.Set("X-RateLimit-Reset", number)
		header.Set("Retry-After", number)
		for _, one := range ratelimit.ReadAdvertised(header, received) {
			if one.Remaining < 0 || one.EffectiveWindow < 0 || one.Limit < 0 || one.Quota < 0 || one.Window < 0 || one.Cost < 0 {
				t.Errorf("negative: %+v", one)
			}
		}
		if wait, _ := ratelimit.ReadRetryAfter(header, received); wait < 0 {
			t.Errorf("Retry-After is %v", wait)
		}
	})
}
