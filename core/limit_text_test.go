package ratelimit

import (
	"encoding/json"
	"flag"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func TestParseLimit(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		text string
		want Limit
		// canonical is what String prints, if it is not text itself.
		canonical string
	}{
		{text: "100/min", want: PerMinute(100)},
		{text: "100/s", want: PerSecond(100)},
		{text: "100/h", want: PerHour(100)},
		{text: "100/d", want: PerDay(100)},
		{text: "0/min", want: PerMinute(0)},
		{text: "5/15min", want: SlidingWindow(5, 15*time.Minute)},
		{text: "7/366d", want: SlidingWindow(7, MaxWindow)},
		{text: "7/ms", want: SlidingWindow(7, MinWindow)},
		{text: "7/1001us", want: SlidingWindow(7, 1001*time.Microsecond)},
		{text: "7/36h", want: SlidingWindow(7, 36*time.Hour)},
		{text: "999999999999999/d", want: PerDay(MaxQuota)},
		{text: "fixed_window 20/d", want: FixedWindow(20, day)},
		{text: "sliding_log 5/15min", want: SlidingLog(5, 15*time.Minute)},
		{text: "token_bucket 1000/h burst 50", want: TokenBucket(1000, time.Hour, 50)},
		{text: "leaky_bucket 10/2s queue 4", want: LeakyBucket(10, 2*time.Second, 4)},
		{text: "unlimited", want: Unlimited},

		{text: "token_bucket 1000/h", want: TokenBucket(1000, time.Hour, 1000), canonical: "token_bucket 1000/h burst 1000"},
		{text: "token_bucket 0/h", want: TokenBucket(0, time.Hour, 1), canonical: "token_bucket 0/h burst 1"},
		{text: "leaky_bucket 10/2s", want: LeakyBucket(10, 2*time.Second, 0)},
		{text: "leaky_bucket 10/2s queue 0", want: LeakyBucket(10, 2*time.Second, 0), canonical: "leaky_bucket 10/2s"},
		{text: "sliding_window 5/min", want: PerMinute(5), canonical: "5/min"},
		{text: "sliding-window 5/min", want: PerMinute(5), canonical: "5/min"},
		{text: " \t Token-Bucket \n 1000/H   BURST  50 ", want: TokenBucket(1000, time.Hour, 50), canonical: "token_bucket 1000/h burst 50"},
		{text: "UNLIMITED", want: Unlimited, canonical: "unlimited"},
		{text: "005/01min", want: PerMinute(5), canonical: "5/min"},
		{text: "5/60s", want: PerMinute(5), canonical: "5/min"},
		{text: "5/1500ms", want: SlidingWindow(5, 1500*time.Millisecond)},
		{text: "5/90m", want: SlidingWindow(5, 90*time.Minute), canonical: "5/90min"},
		{text: "5/1h30m", want: SlidingWindow(5, 90*time.Minute), canonical: "5/90min"},
		{text: "5/1h30m0s", want: SlidingWindow(5, 90*time.Minute), canonical: "5/90min"},
		{text: "5/1d12h", want: SlidingWindow(5, 36*time.Hour), canonical: "5/36h"},
		{text: "5/1h0m0s", want: PerHour(5), canonical: "5/h"},
		{text: "5/2000µs", want: SlidingWindow(5, 2*time.Millisecond), canonical: "5/2ms"},
		{text: "5/2000μs", want: SlidingWindow(5, 2*time.Millisecond), canonical: "5/2ms"},
	} {
		got, err := ParseLimit(c.text)
		if err != nil || got != c.want {
			t.Errorf("ParseLimit(%q) = %#v, %v, want %#v", c.text, got, err, c.want)
			continue
		}
		canonical := c.canonical
		if canonical == "" {
			canonical = c.text
		}
		if got.String() != canonical {
			t.Errorf("ParseLimit(%q).String() = %q, want %q", c.text, got, canonical)
		}
	}
}

func TestParseLimitUnits(t *testing.T) {
	for unit, want := range map[string]time.Duration{
		"ms": time.Millisecond,
		"s":  time.Second, "sec": time.Second, "second": time.Second, "seconds": time.Second,
		"m": time.Minute, "min": time.Minute, "minute": time.Minute, "minutes": time.Minute,
		"h": time.Hour, "hr": time.Hour, "hour": time.Hour, "hours": time.Hour,
		"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour,
	} {
		for count, text := range map[time.Duration]string{1: "7/" + unit, 3: "7/3" + unit} {
			if got, err := ParseLimit(text); err != nil || got != SlidingWindow(7, count*want) {
				t.Errorf("ParseLimit(%q) = %v, %v, want a window of %v", text, got, err, count*want)
			}
		}
	}
	if got, err := ParseLimit("7/1000us"); err != nil || got.Window != time.Millisecond {
		t.Errorf(`ParseLimit("7/1000us") = %v, %v, want a window of 1ms`, got, err)
	}
}

func TestParseLimitErrors(t *testing.T) {
	for _, c := range []struct{ text, names string }{
		{"", "empty"},
		{" \t", "empty"},
		{"100", `no window: put a "/"`},
		{"100/", `window is missing after "/"`},
		{"/min", "quota is missing"},
		{"/", "quota is missing"},
		{"100 per min", `"100" has no window`},
		{"100 / min", `"100" has no window`},
		{"100/min per ip", `unexpected "per"`},
		{"100/min/ip", `second "/"`},
		{"100/min 5", `unexpected "5"`},
		{"100/min unlimited", `unexpected "unlimited"`},
		{"unlimited 100/min", "stands alone"},
		{"token_bucket", "quota/window is missing after token_bucket"},
		{"gcra 100/min", `algorithm "gcra" is unknown`},
		{"algorithm(7) 100/min", "is unknown"},
		{"token_bucket token_bucket 5/s", `algorithm "token_bucket" is unknown`},
		{"5/s token_bucket", `unexpected "token_bucket"`},
		{"burst 5 token_bucket 10/s", `algorithm "burst" is unknown`},

		{"-5/min", "negative"},
		{"+5/min", "not a whole number"},
		{"1.5/min", "not a whole number"},
		{"1e3/min", "not a whole number"},
		{"1_000/min", "not a whole number"},
		{"1,000/min", "not a whole number"},
		{"0x10/min", "not a whole number"},
		{"٣/min", "not a whole number"},
		{"1000000000000000/min", "too large"},
		{"99999999999999999999999999/min", "too large"},
		{"sliding_log 1000001/min", "Limit.Quota 1000001 is too large for a sliding log"},

		{"100/fortnight", `unknown unit "fortnight"`},
		{"100/month", "unknown unit"},
		{"100/w", "unknown unit"},
		{"100/5ns", "unknown unit"},
		{"100/60", "no unit after 60"},
		{"100/1h30", "no unit after 30"},
		{"100/1.5h", "fraction"},
		{"100/-1h", "negative"},
		{"100/1h-30m", "unknown unit"},
		{"100/+1h", "unknown unit"},
		{"100/m5s", "no number before m"},
		{"100/30m1h", "out of order"},
		{"100/1m1m", "out of order"},
		{"100/1m1minute", "out of order"},
		{"100/0s", "Limit.Window 0s is out of range"},
		{"100/us", "out of range"},
		{"100/999us", "out of range"},
		{"100/367d", "too long: use at most 366d"},
		{"100/366d1us", "too long"},
		{"100/9223372036854775807d", "too long"},
		{"100/99999999999999999999us", "too long"},
		{"100/213503982334602d", "too long"},

		{"100/min burst 5", "burst has no meaning for sliding_window"},
		{"fixed_window 100/min queue 5", "queue has no meaning for fixed_window"},
		{"token_bucket 100/min queue 5", "queue has no meaning for token_bucket"},
		{"leaky_bucket 100/min burst 5", "burst has no meaning for leaky_bucket"},
		{"token_bucket 100/min burst", "burst has no number"},
		{"token_bucket 100/min burst=5", `unexpected "burst=5"`},
		{"token_bucket 100/min 5", `unexpected "5"`},
		{"token_bucket 100/min burst 5 burst 5", "burst is given twice"},
		{"leaky_bucket 100/min queue 5 queue 6", "queue is given twice"},
		{"token_bucket 100/min burst 5 queue 6", `unexpected "queue"`},
		{"token_bucket 100/min burst 5 please", `unexpected "please"`},
		{"token_bucket 100/min burst 0", "Limit.Burst 0 is below 1"},
		{"token_bucket 100/min burst -1", "burst \"-1\" is negative"},
		{"token_bucket 100/min burst 1.5", "not a whole number"},
		{"token_bucket 100/min burst 999999999999999999999", "too large"},
		{"token_bucket 1/d burst 999999999", "100 years"},
		{"leaky_bucket 100/min queue -1", "queue \"-1\" is negative"},
		{"unset", "is unknown"},
	} {
		l, err := ParseLimit(c.text)
		if err == nil {
			t.Errorf("ParseLimit(%q) = %v, want an error with %q", c.text, l, c.names)
			continue
		}
		checkLimitError(t, c.text, l, err)
		if !strings.Contains(err.Error(), c.names) {
			t.Errorf("ParseLimit(%q): %q, want it to say %q", c.text, err, c.names)
		}
	}
}

// checkLimitError fails unless err is what a refused text has to get.
func checkLimitError(t *testing.T, text string, l Limit, err error) {
	t.Helper()
	message := err.Error()
	switch {
	case l != Limit{}:
		t.Errorf("ParseLimit(%q) returns %#v beside its error", text, l)
	case !strings.HasPrefix(message, "ratelimit: limit ") || strings.Count(message, "ratelimit: ") != 1:
		t.Errorf("ParseLimit(%q): %q, want the prefix once", text, message)
	case !strings.Contains(message, `"100/min"`):
		t.Errorf("ParseLimit(%q): %q shows no example", text, message)
	case len(message) > 1000:
		t.Errorf("ParseLimit of %d bytes: an error of %d bytes", len(text), len(message))
	}
}

func TestParseLimitBoundsItsErrors(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	digits := strings.Repeat("9", 1<<20)
	for _, text := range []string{
		long, long + "/min", digits, digits + "/min", "5/" + long, "5/" + digits, "5/" + digits + "d", "5/min " + long,
		"5/5" + long, "token_bucket 5/min burst " + digits, "token_bucket 5/min burst 5 " + long,
	} {
		l, err := ParseLimit(text)
		if err == nil {
			t.Fatalf("ParseLimit(%.20q…) = %v, want an error", text, l)
		}
		checkLimitError(t, text[:20], l, err)
	}
}

func TestLimitStringOfInvalid(t *testing.T) {
	if got := (Limit{}).String(); got != "unset" {
		t.Errorf("Limit{}.String() = %q, want unset", got)
	}
	for _, l := range []Limit{
		{},
		{Quota: 5},
		{Algorithm: 99, Quota: 5, Window: time.Second},
		{Algorithm: 255, Quota: math.MinInt64, Window: math.MinInt64, Burst: math.MinInt64},
		{Algorithm: AlgorithmTokenBucket, Quota: math.MaxInt64, Window: math.MaxInt64, Burst: math.MaxInt64},
		{Algorithm: algorithmUnlimited, Quota: 1},
		{Algorithm: AlgorithmSlidingWindow, Quota: 5, Window: time.Minute, Burst: 5},
		{Algorithm: AlgorithmFixedWindow, Quota: -1, Window: time.Minute},
		{Algorithm: AlgorithmFixedWindow, Quota: 1, Window: time.Second + 1},
		TokenBucket(5, time.Minute, 0),
	} {
		text := l.String()
		if (l != Limit{} && !strings.HasPrefix(text, "invalid limit: ")) || len(text) > 200 {
			t.Errorf("String of %#v is %q", l, text)
		}
		if parsed, err := ParseLimit(text); err == nil {
			t.Errorf("String of the invalid %#v is %q, which reads as %#v", l, text, parsed)
		}
		if l != (Limit{}) {
			if marshalled, err := l.MarshalText(); err == nil {
				t.Errorf("MarshalText of the invalid %#v = %q, want an error", l, marshalled)
			}
		}
	}
}

// randomLimit returns a valid limit, the extremes among them often.
func randomLimit(random *rand.Rand) Limit {
	pick := func(least, most int64) int64 {
		switch random.IntN(6) {
		case 0:
			return least
		case 1:
			return most
		case 2:
			return least + random.Int64N(min(most-least+1, 100))
		case 3:
			return most - random.Int64N(min(most-least+1, 100))
		case 4:
			// Each order of magnitude as likely as any other.
			span := most - least
			return least + random.Int64N(span>>random.IntN(60)+1)
		default:
			return least + random.Int64N(most-least+1)
		}
	}
	for {
		l := Limit{
			Algorithm: []Algorithm{AlgorithmSlidingWindow, AlgorithmFixedWindow, AlgorithmSlidingLog, AlgorithmTokenBucket, AlgorithmLeakyBucket, algorithmUnlimited}[random.IntN(6)],
			Quota:     pick(0, MaxQuota),
			Window:    time.Duration(pick(int64(MinWindow/time.Microsecond), int64(MaxWindow/time.Microsecond))) * time.Microsecond,
		}
		if unit := windowUnits[random.IntN(len(windowUnits))].span; random.IntN(2) == 0 && l.Window >= unit {
			l.Window -= l.Window % unit
		}
		switch {
		case l.Algorithm == AlgorithmSlidingLog:
			l.Quota %= MaxLogQuota + 1
		case l.Algorithm.Bucket():
			l.Burst = pick(0, MaxQuota)
		case l.Algorithm == algorithmUnlimited:
			l = Unlimited
		}
		if l.Validate() == nil {
			return l
		}
	}
}

func TestLimitTextRoundTrip(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	seen := map[Algorithm]int{}
	for range 50_000 {
		l := randomLimit(random)
		seen[l.Algorithm]++
		checkRoundTrip(t, l)
		if t.Failed() {
			return
		}
	}
	for a := AlgorithmSlidingWindow; a <= algorithmUnlimited; a++ {
		if seen[a] < 100 && a != AlgorithmPenalty {
			t.Errorf("%v was tried only %d times", a, seen[a])
		}
	}
}

// checkRoundTrip fails unless the valid limit l comes back from its text
// forms, spelled in any way.
func checkRoundTrip(t *testing.T, l Limit) {
	t.Helper()
	text := l.String()
	for _, spelling := range []string{
		text,
		strings.ToUpper(text),
		"  " + strings.ReplaceAll(strings.ReplaceAll(text, "_", "-"), " ", " \t ") + "\n",
	} {
		if got, err := ParseLimit(spelling); err != nil || got != l {
			t.Errorf("ParseLimit(%q) = %#v, %v, want %#v", spelling, got, err, l)
		}
	}
	marshalled, err := l.MarshalText()
	if err != nil || string(marshalled) != text {
		t.Errorf("MarshalText of %#v = %q, %v, want %q", l, marshalled, err, text)
	}
	var unmarshalled Limit
	if err := unmarshalled.UnmarshalText(marshalled); err != nil || unmarshalled != l {
		t.Errorf("UnmarshalText(%q) = %#v, %v, want %#v", marshalled, unmarshalled, err, l)
	}
}

func TestLimitInJSONAndFlags(t *testing.T) {
	type config struct {
		Login, Plan, Unset Limit
	}
	want := config{Login: SlidingLog(5, 15*time.Minute), Plan: TokenBucket(1000, time.Hour, 50)}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	const wantText = `{"Login":"sliding_log 5/15min","Plan":"token_bucket 1000/h burst 50","Unset":""}`
	if string(text) != wantText {
		t.Errorf("in JSON: %s, want %s", text, wantText)
	}
	got := config{Unset: PerMinute(1)}
	if err := json.Unmarshal(text, &got); err != nil || got != want {
		t.Errorf("back from JSON: %v, %v, want %v", got, err, want)
	}

	var limit Limit
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.TextVar(&limit, "limit", PerMinute(100), "")
	if err := flags.Parse([]string{"-limit", "5/s"}); err != nil || limit != PerSecond(5) {
		t.Errorf("from a flag: %v, %v, want 5/s", limit, err)
	}
}

func TestUnmarshalTextKeepsTheLimitOnError(t *testing.T) {
	for _, text := range []string{"5 per min", " "} {
		l := PerMinute(5)
		if err := l.UnmarshalText([]byte(text)); err == nil || l != PerMinute(5) {
			t.Errorf("UnmarshalText(%q) = %v and leaves %v, want an error and 5/min", text, err, l)
		}
	}
}

func FuzzParseLimit(f *testing.F) {
	f.Add("100/min")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := ParseLimit(text)
		if err != nil {
			checkLimitError(t, text, l, err)
			return
		}
		if err := l.Validate(); err != nil {
			t.Errorf("ParseLimit(%q) = %#v, which is invalid: %v", text, l, err)
		}
		checkRoundTrip(t, l)
	})
}
