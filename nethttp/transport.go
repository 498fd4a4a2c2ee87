package httplimit

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"
)

// Transport is an [http.RoundTripper] for clients of servers that limit, with
// Floodgate or anything else. Its zero value is ready:
//
//	client := &http.Client{Transport: &httplimit.Transport{}}
//
// A request that is refused (429, or 503 with Retry-After) is sent again after
// the time that the server asks for, in Retry-After or else in RateLimit. Where
// it says nothing the waits grow exponentially and are drawn at random from 0
// up (full jitter). Only what is safe to repeat is: see Retry; and a body only
// if the request has a GetBody, as those of [http.NewRequest] have. A wait that
// would end after the context's deadline or after MaxWait is not begun: the
// refusal is then the response. A refusal that is not the response is read to
// its end, if that is near, so that its connection is used again.
//
// Requests are also slowed down before they are refused. From RateLimit and
// RateLimit-Policy, or the older fields (see [ratelimit.ReadAdvertised]), the
// Transport knows for each host how much is left. It has no more requests under
// way than half of that, and learns how much goes for each: what it costs, and
// what others use. The last eighth (or the last four) is spread over the time
// that it has to do for, but not thinner than the quota over its window. While
// nothing is known (at first, and when the time is over for which a response or
// a refusal holds) one request goes first and the others wait for what it
// brings, so that requests that waited together don't all come at once; if it
// takes long they follow at the pace of the quota, if that is known, or else
// twice as many every quarter of a second. They go in the order they came. One
// that would wait for longer than MaxWait or half the time to its deadline goes
// out of turn, and at once if no response is awaited that could change that:
// whether to refuse it is for the server to say. Of a server that says nothing of
// quotas none of this is felt after its first response. What has a quota of its
// own on a host, such as its log-in, is told apart by Key: without that the
// scarcest quota that a response names is what all requests are spread over.
//
// It remembers at most 256 hosts. It starts no goroutine that outlives a
// request. Its fields must not be changed after its first use; it is then safe
// for concurrent use.
type Transport struct {
	// Base sends the requests; nil is [http.DefaultTransport].
	Base http.RoundTripper
	// MaxAttempts is how often one request is sent at most; 0 or less is 5, 1
	// never sends a request again.
	MaxAttempts int
	// MaxWait is how long one request is held back at most, counted from when
	// it came; 0 or less is one minute.
	MaxWait time.Duration
	// MinBackoff bounds the first wait where the server doesn't say how long;
	// 0 or less is half a second. Each refusal in a row doubles the bound, up
	// to MaxBackoff; 0 or less is half a minute.
	MinBackoff, MaxBackoff time.Duration
	// Retry reports whether a refused request may be sent again; nil is
	// [RetryIdempotent]. It must neither change the response nor read its body.
	Retry func(*http.Request, *http.Response) bool
	// Key tells requests to one host apart that have quotas of their own, such
	// as those of several users or of an expensive route; nil takes each host
	// for one. Keys should be few: 256 hosts and keys are remembered together.
	Key func(*http.Request) string
	// NoPacing turns the slowing down off: requests are held back only after
	// they were refused themselves.
	NoPacing bool
	// OnRetry, if set, is called before each wait that follows a refusal, with
	// the refusal and how long the wait will be. It must not read the body.
	OnRetry func(*http.Request, *http.Response, time.Duration)

	gates gates
}

// RoundTrip sends a request as [Transport] says. The error is the base's, or
// the context's if that ends while the request is held back.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	if r.URL == nil {
		return base.RoundTrip(r) // which says what is wrong
	}
	came := time.Now()
	latest := came.Add(orDefault(t.MaxWait, time.Minute))
	g := t.gateOf(r)
	defer t.gates.release(g)
	earliest := came
	for attempt, sent := 1, r; ; attempt++ {
		ticket, err := g.enter(r.Context(), turn{came, earliest, patience(r.Context(), earliest, latest)})
		if err != nil {
			closeBody(sent)
			return nil, err
		}
		res, err := base.RoundTrip(sent)
		if err != nil {
			g.failed(ticket)
			return res, err
		}
		wait, refused := t.learn(g, ticket, res, attempt)
		if !refused || attempt >= orDefault(t.MaxAttempts, 5) || !t.mayRetry(r, res) || !inTime(r.Context(), wait, latest) {
			return res, nil
		}
		again, ok := rewound(r)
		if !ok {
			return res, nil
		}
		if t.OnRetry != nil {
			t.OnRetry(r, res, wait)
		}
		earliest = time.Now().Add(wait)
		discard(res)
		sent = again
	}
}

// gateOf returns the gate that r has to pass, nil if there is none.
func (t *Transport) gateOf(r *http.Request) *gate {
	if t.NoPacing {
		return nil
	}
	key := ""
	if t.Key != nil {
		key = t.Key(r)
	}
	return t.gates.of(r.URL.Host, key)
}

// patience is how long a request waits for its turn at most: until latest, and
// for half the time that is left to its deadline when it may go.
func patience(ctx context.Context, earliest, latest time.Time) time.Time {
	if deadline, ok := ctx.Deadline(); ok {
		if half := earliest.Add(deadline.Sub(earliest) / 2); half.Before(latest) {
			return half
		}
	}
	return latest
}

// inTime reports whether a wait ends before the context's deadline and before
// latest, and the context has not ended already.
func inTime(ctx context.Context, wait time.Duration, latest time.Time) bool {
	end := time.Now().Add(wait)
	if deadline, ok := ctx.Deadline(); ok && !end.Before(deadline) {
		return false
	}
	return ctx.Err() == nil && !end.After(latest)
}

// rewound is r with its body at the start again.
func rewound(r *http.Request) (*http.Request, bool) {
	again := r.WithContext(r.Context())
	if r.Body == nil || r.Body == http.NoBody {
		return again, true
	}
	if r.GetBody == nil {
		return nil, false
	}
	body, err := r.GetBody()
	again.Body = body
	return again, err == nil
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
}

// What discard reads at most of a response, and for how long.
const (
	maxDrain     = 64 << 10
	maxDrainTime = 250 * time.Millisecond
)

// discard reads a response to its end, so that its connection is free for the
// next request, unless the end is far: then it costs the connection.
func discard(res *http.Response) {
	closed := sync.OnceFunc(func() { _ = res.Body.Close() })
	defer closed()
	if res.ContentLength > maxDrain {
		return
	}
	timer := time.AfterFunc(maxDrainTime, closed)
	defer timer.Stop()
	_, _ = io.CopyN(io.Discard, res.Body, maxDrain)
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

func orDefault[N int | time.Duration](n, standard N) N {
	if n <= 0 {
		return standard
	}
	return n
}
