package httplimit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	httplimit "github.com/go-floodgate/floodgate/nethttp"
)

// script is a base that answers requests one after the other as it is told, and
// then with 200.
type script struct {
	answers []answer
	// latency is how long each answer takes.
	latency time.Duration

	mu     sync.Mutex
	sent   []sending
	bodies []*body
}

type answer struct {
	status int
	fields string // "Name: value", separated by newlines
	err    error
}

// sending is one request as the script saw it.
type sending struct {
	at   time.Time
	body string
}

// body is a response's, and knows what became of it.
type body struct {
	io.Reader
	closed int
}

func (b *body) Close() error {
	b.closed++
	return nil
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	var content []byte
	if r.Body != nil {
		content, _ = io.ReadAll(r.Body)
		r.Body.Close()
	}
	s.mu.Lock()
	n := len(s.sent)
	s.sent = append(s.sent, sending{time.Now(), string(content)})
	s.mu.Unlock()
	time.Sleep(s.latency)
	a := answer{status: 200}
	if n < len(s.answers) {
		a = s.answers[n]
	}
	if a.err != nil {
		return nil, a.err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &body{Reader: strings.NewReader(fmt.Sprint("answer ", n))}
	s.bodies = append(s.bodies, b)
	return &http.Response{StatusCode: a.status, Header: header(a.fields), Body: b, Request: r}, nil
}

// gaps are the times between the requests.
func (s *script) gaps() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var gaps []time.Duration
	for i := 1; i < len(s.sent); i++ {
		gaps = append(gaps, s.sent[i].at.Sub(s.sent[i-1].at))
	}
	return gaps
}

func header(text string) http.Header {
	h := http.Header{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		h.Add(name, value)
	}
	return h
}

func request(t testing.TB, ctx context.Context, method string, content io.Reader) *http.Request { //nolint:revive // t comes first in tests
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, "http://api.example/things", content)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// sendGet sends a GET and returns the status.
func sendGet(t testing.TB, transport http.RoundTripper) int {
	t.Helper()
	res, err := transport.RoundTrip(request(t, t.Context(), http.MethodGet, nil))
	if err != nil {
		if t.Context().Err() == nil { // else the test has failed already
			t.Error(err)
		}
		return 0
	}
	res.Body.Close()
	return res.StatusCode
}

const refused = 429

func TestWaitsAsLongAsTheServerAsks(t *testing.T) {
	for fields, want := range map[string]time.Duration{
		"Retry-After: 7": 7 * time.Second,
		"Retry-After: Sat, 01 Jan 2000 00:00:07 GMT":                                                   7 * time.Second, // the bubble's clock starts then
		"Date: Sat, 01 Jan 2000 05:00:00 GMT\nRetry-After: Sat, 01 Jan 2000 05:00:07 GMT":              7 * time.Second,
		"Retry-After: 7\nRateLimit: \"p\";r=0;t=1":                                                     7 * time.Second,
		"RateLimit: \"p\";r=0;t=7, \"q\";r=3;t=20":                                                     7 * time.Second,
		"RateLimit: limit=5, remaining=0, reset=7":                                                     7 * time.Second,
		"X-RateLimit-Remaining: 0\nX-RateLimit-Reset: 7":                                               7 * time.Second,
		"Date: Wed, 01 Jul 2026 12:00:00 GMT\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 1782907207": 7 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &script{answers: []answer{{status: refused, fields: fields}}}
			if got := sendGet(t, &httplimit.Transport{Base: s}); got != 200 {
				t.Errorf("%s: status %d", fields, got)
			}
			if gaps := s.gaps(); len(gaps) != 1 || gaps[0] < want || gaps[0] > want+want/10 {
				t.Errorf("%s: waited %v, want %v and at most a tenth more", fields, gaps, want)
			}
		})
	}
}

// Clients that are told the same time don't all come back at the same instant.
func TestWaitsDiffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := make(map[time.Duration]bool)
		for range 20 {
			s := &script{answers: []answer{{status: refused, fields: "Retry-After: 10"}}}
			sendGet(t, &httplimit.Transport{Base: s})
			waits[s.gaps()[0]] = true
		}
		if len(waits) < 10 {
			t.Errorf("20 clients waited %v", waits)
		}
	})
}

// Where the server says nothing the bound of a wait doubles, and the wait may
// be anything below it.
func TestBacksOffWithFullJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bounds := []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, 500 * time.Millisecond, 500 * time.Millisecond}
		var longest, shortest [5]time.Duration
		for round := range 200 {
			s := &script{}
			for range bounds {
				s.answers = append(s.answers, answer{status: refused})
			}
			transport := &httplimit.Transport{Base: s, MaxAttempts: 6, MinBackoff: bounds[0], MaxBackoff: bounds[4]}
			if got := sendGet(t, transport); got != 200 {
				t.Fatalf("status %d", got)
			}
			for i, gap := range s.gaps() {
				if gap > bounds[i] {
					t.Fatalf("wait %d was %v, want at most %v", i+1, gap, bounds[i])
				}
				longest[i] = max(longest[i], gap)
				if round == 0 || gap < shortest[i] {
					shortest[i] = gap
				}
			}
		}
		for i, bound := range bounds {
			if longest[i] < bound*9/10 || shortest[i] > bound/10 {
				t.Errorf("wait %d was between %v and %v, want about 0 to %v", i+1, shortest[i], longest[i], bound)
			}
		}
	})
}

func TestRetriesOnlyWhatIsSafe(t *testing.T) {
	type test struct {
		name     string
		method   string
		key      bool
		content  io.Reader
		answer   answer
		retry    func(*http.Request, *http.Response) bool
		attempts int
	}
	now := answer{status: refused, fields: "Retry-After: 1"}
	unavailable := answer{status: 503, fields: "Retry-After: 1"}
	opaque := func() io.Reader { return struct{ io.Reader }{strings.NewReader("content")} }
	for _, c := range []test{
		{"get", "GET", false, nil, now, nil, 2},
		{"no method", "", false, nil, now, nil, 2},
		{"put with a body", "PUT", false, strings.NewReader("content"), now, nil, 2},
		{"delete", "DELETE", false, nil, now, nil, 2},
		{"post", "POST", false, strings.NewReader("content"), now, nil, 1},
		{"patch", "PATCH", false, nil, now, nil, 1},
		{"post with a key", "POST", true, strings.NewReader("content"), now, nil, 2},
		{"post to a server that refuses first", "POST", false, strings.NewReader("content"), now, httplimit.RetryRefused, 2},
		{"a body that can't be had again", "PUT", false, opaque(), now, nil, 1},
		{"whatever the caller says", "POST", false, opaque(), now, func(*http.Request, *http.Response) bool { return true }, 1},
		{"not if the caller says so", "GET", false, nil, now, func(*http.Request, *http.Response) bool { return false }, 1},
		{"503 with a time", "GET", false, nil, unavailable, nil, 2},
		{"503 without", "GET", false, nil, answer{status: 503}, nil, 1},
		{"503 of a post", "POST", false, nil, unavailable, httplimit.RetryRefused, 1},
		{"another status", "GET", false, nil, answer{status: 500, fields: "Retry-After: 1"}, nil, 1},
		{"a redirect", "GET", false, nil, answer{status: 301, fields: "Retry-After: 1"}, nil, 1},
		{"an error", "GET", false, nil, answer{err: io.ErrUnexpectedEOF}, nil, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{answers: []answer{c.answer}}
				r := request(t, t.Context(), c.method, c.content)
				if c.method == "" {
					r.Method = ""
				}
				if c.key {
					r.Header.Set("Idempotency-Key", "1")
				}
				res, err := (&httplimit.Transport{Base: s, Retry: c.retry}).RoundTrip(r) //nolint:bodyclose // the body is in memory
				if !errors.Is(err, c.answer.err) {
					t.Fatalf("error %v", err)
				}
				if len(s.sent) != c.attempts {
					t.Errorf("sent %d times, want %d", len(s.sent), c.attempts)
				}
				for _, sent := range s.sent {
					if want := s.sent[0].body; sent.body != want || c.content != nil && want != "content" {
						t.Errorf("a body is %q, want %q", sent.body, want)
					}
				}
				if err != nil {
					return
				}
				want := 200
				if c.attempts == 1 {
					want = c.answer.status
				}
				if content, err := io.ReadAll(res.Body); err != nil || string(content) != fmt.Sprint("answer ", c.attempts-1) || res.StatusCode != want {
					t.Errorf("the response is %d %q (%v)", res.StatusCode, content, err)
				}
				if c.attempts == 2 && s.bodies[0].closed != 1 {
					t.Errorf("the refusal's body was closed %d times", s.bodies[0].closed)
				}
			})
		})
	}
}

// A wait that can't be used is not begun: the refusal is the response, at once.
func TestBounds(t *testing.T) {
	always := func(fields string) []answer {
		var all []answer
		for range 100 {
			all = append(all, answer{status: refused, fields: fields})
		}
		return all
	}
	for _, c := range []struct {
		name      string
		transport *httplimit.Transport
		deadline  time.Duration
		fields    string
		attempts  int
		took      time.Duration // at most a tenth more
	}{
		{"five attempts", &httplimit.Transport{}, 0, "Retry-After: 2", 5, 8 * time.Second},
		{"two attempts", &httplimit.Transport{MaxAttempts: 2}, 0, "Retry-After: 2", 2, 2 * time.Second},
		{"one attempt", &httplimit.Transport{MaxAttempts: 1}, 0, "Retry-After: 2", 1, 0},
		{"the deadline comes first", &httplimit.Transport{}, 2 * time.Second, "Retry-After: 2", 1, 0},
		{"the deadline comes later", &httplimit.Transport{}, 5 * time.Second, "Retry-After: 2", 3, 4 * time.Second},
		{"longer than a minute", &httplimit.Transport{}, 0, "Retry-After: 61", 1, 0},
		{"a minute in all", &httplimit.Transport{}, 0, "Retry-After: 25", 3, 50 * time.Second},
		{"longer than allowed", &httplimit.Transport{MaxWait: time.Second}, 0, "Retry-After: 2", 1, 0},
		{"for ever", &httplimit.Transport{}, 0, "Retry-After: 999999999999999", 1, 0},
		{"for ever, by a policy", &httplimit.Transport{}, 0, "RateLimit: \"p\";r=0;t=999999999999999", 1, 0},
		{"without pacing", &httplimit.Transport{NoPacing: true}, 0, "Retry-After: 2", 5, 8 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{answers: always(c.fields)}
				c.transport.Base = s
				ctx, cancel := t.Context(), context.CancelFunc(func() {})
				if c.deadline > 0 {
					ctx, cancel = context.WithTimeout(ctx, c.deadline)
				}
				defer cancel()
				start := time.Now()
				res, err := c.transport.RoundTrip(request(t, ctx, http.MethodGet, nil)) //nolint:bodyclose // the body is in memory
				took := time.Since(start)
				if err != nil || res.StatusCode != refused {
					t.Fatalf("response %v, error %v", res, err)
				}
				if content, err := io.ReadAll(res.Body); err != nil || string(content) != fmt.Sprint("answer ", c.attempts-1) {
					t.Errorf("the body is %q (%v)", content, err)
				}
				if len(s.sent) != c.attempts || took < c.took || took > c.took+c.took/10 {
					t.Errorf("sent %d times within %v, want %d and %v", len(s.sent), took, c.attempts, c.took)
				}
			})
		})
	}
}

// A request that its caller gives up is not sent again.
func TestCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []answer{{status: refused, fields: "Retry-After: 10"}}}
		transport := &httplimit.Transport{Base: s}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, cancel)
		content := &body{Reader: strings.NewReader("content")}
		r := request(t, ctx, http.MethodPut, strings.NewReader("content"))
		r.GetBody = func() (io.ReadCloser, error) { return content, nil }
		start := time.Now()
		res, err := transport.RoundTrip(r) //nolint:bodyclose // there is none
		if res != nil || !errors.Is(err, context.Canceled) || time.Since(start) != 3*time.Second || len(s.sent) != 1 {
			t.Errorf("after %v and %d attempts: response %v, error %v", time.Since(start), len(s.sent), res, err)
		}
		if content.closed != 1 || s.bodies[0].closed != 1 {
			t.Errorf("the next body was closed %d times, the refusal's %d", content.closed, s.bodies[0].closed)
		}
		// One that has not been sent at all is not either.
		r = request(t, ctx, http.MethodPut, nil)
		r.Body = content
		if res, err := transport.RoundTrip(r); res != nil || !errors.Is(err, context.Canceled) || content.closed != 2 || len(s.sent) != 1 { //nolint:bodyclose // there is none
			t.Errorf("response %v, error %v, body closed %d times, sent %d", res, err, content.closed, len(s.sent))
		}
	})
}

// The request that the caller gave is left as it was.
func TestRequestIsNotChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []answer{{status: refused, fields: "Retry-After: 1"}}}
		r := request(t, t.Context(), http.MethodPut, strings.NewReader("content"))
		before := r.Body
		var seen []time.Duration
		transport := &httplimit.Transport{Base: s, OnRetry: func(given *http.Request, res *http.Response, wait time.Duration) {
			if given != r || res.StatusCode != refused {
				t.Errorf("OnRetry got %v and %v", given, res)
			}
			seen = append(seen, wait)
		}}
		res, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if r.Body != before || len(r.Header) != 0 {
			t.Errorf("the request was changed: %v", r)
		}
		if len(seen) != 1 || seen[0] != s.gaps()[0] {
			t.Errorf("OnRetry was told %v, the waits were %v", seen, s.gaps())
		}
	})
}

func TestWithoutURL(t *testing.T) {
	r := request(t, t.Context(), http.MethodGet, nil)
	r.URL = nil
	if _, err := (&httplimit.Transport{}).RoundTrip(r); err == nil { //nolint:bodyclose // there is none
		t.Error("a request without a URL is no error")
	}
}
