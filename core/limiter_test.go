package ratelimit_test

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// quiet keeps diagnostics out of the output of tests that are not about them.
var quiet = ratelimit.Logger(nil)

func mustNew(t *testing.T, store ratelimit.Store, options ...ratelimit.Option) *ratelimit.Limiter {
	t.Helper()
	l, err := ratelimit.New(store, append([]ratelimit.Option{quiet}, options...)...)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return l
}

// begin decides a request and returns its call and response fields.
func begin(l *ratelimit.Limiter, r *fakeRequest) (*ratelimit.Call, http.Header) {
	call, header := new(ratelimit.Call), http.Header{}
	l.Begin(call, r, header)
	return call, header
}

func TestNewNamesWhatIsWrongAndTheMend(t *testing.T) {
	good := ratelimit.Policy{Name: "p", Limit: ratelimit.PerMinute(1)}
	with := func(change func(*ratelimit.Policy)) ratelimit.Policy {
		p := good
		change(&p)
		return p
	}
	limit := func(l ratelimit.Limit) ratelimit.Policy {
		return with(func(p *ratelimit.Policy) { p.Limit = l })
	}
	tiers := func(change func(*ratelimit.Tiers)) ratelimit.Policy {
		set := &ratelimit.Tiers{
			Resolve: func(*ratelimit.Request) (ratelimit.Identity, error) { return ratelimit.Identity{}, nil },
			Limits:  map[string]ratelimit.Limit{"free": ratelimit.PerMinute(1)},
			Default: "free",
		}
		change(set)
		return with(func(p *ratelimit.Policy) { p.Limit, p.Tiers = ratelimit.Limit{}, set })
	}
	var nilStore *modelStore
	tests := []struct {
		name    string
		store   ratelimit.Store
		options []ratelimit.Option
		// says are what the message must name: the field and the mend.
		says []string
	}{
		{"nil store", nil, []ratelimit.Option{good}, []string{"store is nil", "memstore.New()"}},
		{"nil pointer as store", nilStore, []ratelimit.Option{good}, []string{"store is nil"}},
		{"no policy", newModelStore(), nil, []string{"no policy", "ratelimit.Policy"}},
		{"empty policies", newModelStore(), []ratelimit.Option{ratelimit.Policies{}}, []string{"no policy"}},
		{"nil option", newModelStore(), []ratelimit.Option{good, nil}, []string{"option 2", "leave it out"}},
		{"no name", newModelStore(), []ratelimit.Option{with(func(p *ratelimit.Policy) { p.Name = "" })}, []string{"Policy.Name", "per-ip"}},
		{"unprintable name", newModelStore(), []ratelimit.Option{with(func(p *ratelimit.Policy) { p.Name = "a\r\nb" })}, []string{"Policy.Name", "printable ASCII"}},
		{"name not ASCII", newModelStore(), []ratelimit.Option{with(func(p *ratelimit.Policy) { p.Name = "défaut" })}, []string{"Policy.Name", "printable ASCII"}},
		{"duplicate name", newModelStore(), []ratelimit.Option{good, good}, []string{`"p"`, "twice", "unique"}},
		{"limit not set", newModelStore(), []ratelimit.Option{limit(ratelimit.Limit{})}, []string{`policy "p"`, "Limit is not set", "PerMinute"}},
		{"negative quota", newModelStore(), []ratelimit.Option{limit(ratelimit.PerMinute(-5))}, []string{"Limit.Quota", "negative", "Unlimited"}},
		{"quota too large", newModelStore(), []ratelimit.Option{limit(ratelimit.PerMinute(1 << 60))}, []string{"Limit.Quota", "at most"}},
		{"log quota too large", newModelStore(), []ratelimit.Option{limit(ratelimit.SlidingLog(2_000_000, time.Hour))}, []string{"Limit.Quota", "SlidingWindow"}},
		{"no window", newModelStore(), []ratelimit.Option{limit(ratelimit.FixedWindow(5, 0))}, []string{"Limit.Window", "out of range"}},
		{"negative window", newModelStore(), []ratelimit.Option{limit(ratelimit.FixedWindow(5, -time.Second))}, []string{"Limit.Window", "out of range"}},
		{"window of 290 years", newModelStore(), []ratelimit.Option{limit(ratelimit.FixedWindow(5, 290*365*24*time.Hour))}, []string{"Limit.Window", "out of range"}},
		{"window with nanoseconds", newModelStore(), []ratelimit.Option{limit(ratelimit.FixedWindow(5, time.Second+1))}, []string{"Limit.Window", "microseconds", "round"}},
		{"burst below 1", newModelStore(), []ratelimit.Option{limit(ratelimit.TokenBucket(5, time.Second, 0))}, []string{"Limit.Burst", "below 1"}},
		{"negative queue", newModelStore(), []ratelimit.Option{limit(ratelimit.LeakyBucket(5, time.Second, -1))}, []string{"Limit.Burst", "negative"}},
		{"burst without bucket", newModelStore(), []ratelimit.Option{limit(ratelimit.Limit{Algorithm: ratelimit.AlgorithmFixedWindow, Quota: 1, Window: time.Second, Burst: 3})}, []string{"Limit.Burst", "no meaning"}},
		{"burst that never comes back", newModelStore(), []ratelimit.Option{limit(ratelimit.TokenBucket(1, 24*time.Hour, 1_000_000))}, []string{"Limit.Burst", "100 years"}},
		{"wait over 30 s", newModelStore(), []ratelimit.Option{limit(ratelimit.LeakyBucket(1, time.Second, 31))}, []string{"Limit.Burst", "31s", "at most 30"}},
		{"unknown algorithm", newModelStore(), []ratelimit.Option{limit(ratelimit.Limit{Algorithm: 99, Quota: 1, Window: time.Second})}, []string{"Limit.Algorithm", "constructor"}},
		{"unlimited with a quota", newModelStore(), []ratelimit.Option{limit(ratelimit.Limit{Algorithm: ratelimit.Unlimited.Algorithm, Quota: 1})}, []string{"Unlimited", "as it is"}},
		{"unknown failure policy", newModelStore(), []ratelimit.Option{with(func(p *ratelimit.Policy) { p.OnStoreFailure = 9 })}, []string{"Policy.OnStoreFailure", "FailOpen"}},
		{"FailLocal without Fallback", newModelStore(), []ratelimit.Option{with(func(p *ratelimit.Policy) { p.OnStoreFailure = ratelimit.FailLocal })}, []string{"FailLocal", "ratelimit.Fallback("}},
		{"Fallback without store", newModelStore(), []ratelimit.Option{good, ratelimit.Fallback(nil, 1)}, []string{"Fallback", "memstore.New()"}},
		{"Fallback without replicas", newModelStore(), []ratelimit.Option{good, ratelimit.Fallback(newModelStore(), 0)}, []string{"Fallback", "replicas 0"}},
		{"bad match", newModelStore(), []ratelimit.Option{with(func(p *ratelimit.Policy) { p.Match = "GET search" })}, []string{"Policy.Match", `"GET /search"`}},
		{"match with a word too many", newModelStore(), []ratelimit.Option{with(func(p *ratelimit.Policy) { p.Match = "GET /a /b" })}, []string{"Policy.Match", "/b"}},
		{"empty alternative", newModelStore(), []ratelimit.Option{with(func(p *ratelimit.Policy) { p.Match = "GET /a," })}, []string{"Policy.Match", "empty"}},
		{"header key without a name", newModelStore(), []ratelimit.Option{with(func(p *ratelimit.Policy) { p.Key = ratelimit.ByHeader("") })}, []string{"ByHeader", "X-API-Key"}},
		{"empty combination", newModelStore(), []ratelimit.Option{with(func(p *ratelimit.Policy) { p.Key = ratelimit.Combine() })}, []string{"Combine", "at least one"}},
		{"error inside a combination", newModelStore(), []ratelimit.Option{with(func(p *ratelimit.Policy) {
			p.Key = ratelimit.FirstOf(ratelimit.ByIP(), ratelimit.Combine(ratelimit.ByCookie("")))
		})}, []string{"ByCookie"}},
		{"bad kind", newModelStore(), []ratelimit.Option{with(func(p *ratelimit.Policy) {
			p.Key = ratelimit.ByFunc("ip:", func(*ratelimit.Request) string { return "" })
		})}, []string{"ByFunc", "lower-case"}},
		{"bad proxy", newModelStore(), []ratelimit.Option{good, ratelimit.TrustProxies("10.0.0.0/33")}, []string{"TrustProxies", "10.0.0.0/33"}},
		{"bad header name", newModelStore(), []ratelimit.Option{good, ratelimit.ClientIPHeader("")}, []string{"ClientIPHeader", "X-Forwarded-For"}},
		{"bad prefix length", newModelStore(), []ratelimit.Option{good, ratelimit.IPPrefixes(33, 64)}, []string{"IPPrefixes", "8 to 32"}},
		{"bad IPv6 prefix length", newModelStore(), []ratelimit.Option{good, ratelimit.IPPrefixes(32, 0)}, []string{"IPPrefixes", "16 to 128"}},
		{"bad exempt network", newModelStore(), []ratelimit.Option{good, ratelimit.Exempt(ratelimit.ExemptIPs("ten"))}, []string{"ExemptIPs", "ten"}},
		{"exempt translated network", newModelStore(), []ratelimit.Option{good, ratelimit.Exempt(ratelimit.ExemptIPs("64:ff9b::/96"))}, []string{"ExemptIPs", "IPv4 network"}},
		{"exempt nobody in particular", newModelStore(), []ratelimit.Option{good, ratelimit.Exempt(ratelimit.ExemptUsers(""))}, []string{"ExemptUsers", "leave it out"}},
		{"policy exemption", newModelStore(), []ratelimit.Option{with(func(p *ratelimit.Policy) { p.Exempt = []ratelimit.Exemption{ratelimit.ExemptIf(nil)} })}, []string{"ExemptIf"}},
		{"unknown draft", newModelStore(), []ratelimit.Option{good, ratelimit.Headers(ratelimit.HeaderConfig{Draft: 99})}, []string{"HeaderConfig.Draft", "Draft11"}},
		{"tiers and limit", newModelStore(), []ratelimit.Option{func() ratelimit.Policy {
			p := tiers(func(*ratelimit.Tiers) {})
			p.Limit = ratelimit.PerMinute(1)
			return p
		}()}, []string{"Policy.Limit and Policy.Tiers"}},
		{"tiers and key", newModelStore(), []ratelimit.Option{func() ratelimit.Policy {
			p := tiers(func(*ratelimit.Tiers) {})
			p.Key = ratelimit.ByUser()
			return p
		}()}, []string{"Policy.Key and Policy.Tiers"}},
		{"tiers without resolver", newModelStore(), []ratelimit.Option{tiers(func(s *ratelimit.Tiers) { s.Resolve = nil })}, []string{"Tiers.Resolve"}},
		{"tiers without limits", newModelStore(), []ratelimit.Option{tiers(func(s *ratelimit.Tiers) { s.Limits = nil })}, []string{"Tiers.Limits"}},
		{"tiers without default", newModelStore(), []ratelimit.Option{tiers(func(s *ratelimit.Tiers) { s.Default = "gold" })}, []string{"Tiers.Default", "gold"}},
		{"tiers by a bad key", newModelStore(), []ratelimit.Option{tiers(func(s *ratelimit.Tiers) { s.By = ratelimit.ByHeader("") })}, []string{"Tiers.By", "ByHeader"}},
		{"tiers with a bad key and a policy's", newModelStore(), []ratelimit.Option{func() ratelimit.Policy {
			p := tiers(func(*ratelimit.Tiers) {})
			p.Key = ratelimit.ByHeader("")
			return p
		}()}, []string{"Policy.Key and Policy.Tiers"}},
		{"cached for no time", newModelStore(), []ratelimit.Option{tiers(func(s *ratelimit.Tiers) { s.By, s.MaxAge = ratelimit.ByUser(), -1 })}, []string{"Tiers.MaxAge", "0 is 30s"}},
		{"cached for too long", newModelStore(), []ratelimit.Option{tiers(func(s *ratelimit.Tiers) { s.By, s.MaxAge = ratelimit.ByUser(), 25*time.Hour })}, []string{"Tiers.MaxAge", "up to 24h"}},
		{"fewer than no known tiers", newModelStore(), []ratelimit.Option{tiers(func(s *ratelimit.Tiers) { s.By, s.MaxKnown = ratelimit.ByUser(), -1 })}, []string{"Tiers.MaxKnown", "negative"}},
		{"fewer than no unknown tiers", newModelStore(), []ratelimit.Option{tiers(func(s *ratelimit.Tiers) { s.By, s.MaxUnknown = ratelimit.ByUser(), -1 })}, []string{"Tiers.MaxUnknown", "negative"}},
		{"age of what is not cached", newModelStore(), []ratelimit.Option{tiers(func(s *ratelimit.Tiers) { s.MaxAge = time.Second })}, []string{"Tiers.MaxAge", "set Tiers.By"}},
		{"default tier exempt", newModelStore(), []ratelimit.Option{tiers(func(s *ratelimit.Tiers) { s.Exempt, s.Default = []string{"staff"}, "staff" })}, []string{"Tiers.Exempt", "not known"}},
		{"empty tier exempt", newModelStore(), []ratelimit.Option{tiers(func(s *ratelimit.Tiers) { s.Exempt = []string{""} })}, []string{"Tiers.Exempt", "not known"}},
		{"tier limited and exempt", newModelStore(), []ratelimit.Option{tiers(func(s *ratelimit.Tiers) { s.Exempt = []string{"free"} })}, []string{"Tiers.Exempt", "Tiers.Limits", `"free"`}},
		{"tier with a bad limit", newModelStore(), []ratelimit.Option{tiers(func(s *ratelimit.Tiers) { s.Limits["free"] = ratelimit.PerMinute(-1) })}, []string{`Tiers.Limits["free"]`, "Quota", "negative"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l, err := ratelimit.New(test.store, append(test.options, quiet)...)
			if err == nil || l != nil {
				t.Fatalf("New returned %v, %v; want an error", l, err)
			}
			if !strings.HasPrefix(err.Error(), "ratelimit: ") || strings.Count(err.Error(), "ratelimit: ") != 1 {
				t.Errorf("the message %q does not begin with the package's name, once", err)
			}
			for _, part := range test.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the message %q does not say %q", err, part)
				}
			}
		})
	}
}

func TestMust(t *testing.T) {
	l := mustNew(t, newModelStore(), ratelimit.Policy{Name: "p", Limit: ratelimit.PerMinute(1)})
	if ratelimit.Must(l, nil) != l {
		t.Error("Must does not return its limiter")
	}
	defer func() {
		if recover() == nil {
			t.Error("Must does not panic on an error")
		}
	}()
	ratelimit.Must(nil, errors.New("no"))
}

// records is a slog.Handler that keeps what it is given.
type records struct {
	slog.Handler
	codes []string
}

func newRecords() (*slog.Logger, *records) {
	r := &records{}
	text := slog.NewTextHandler(writer(func(line []byte) {
		for field := range strings.FieldsSeq(string(line)) {
			if code, ok := strings.CutPrefix(field, "code="); ok {
				r.codes = append(r.codes, code)
			}
		}
	}), nil)
	return slog.New(text), r
}

type writer func([]byte)

func (w writer) Write(line []byte) (int, error) {
	w(line)
	return len(line), nil
}
