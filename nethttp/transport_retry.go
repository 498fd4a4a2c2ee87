package httplimit

import (
	"math/rand/v2"
	"net/http"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// RetryIdempotent is the default of [Transport].Retry: a request may be sent
// again if doing it twice does no more than doing it once, because of its
// method (GET, HEAD, OPTIONS, TRACE, PUT, DELETE) or because it has an
// Idempotency-Key or X-Idempotency-Key.
//
// That a server answers 429 does not say that it did nothing: the refusal may
// come from something that it called halfway through.
func RetryIdempotent(r *http.Request, _ *http.Response) bool {
	switch r.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	_, key := r.Header["Idempotency-Key"]
	_, xKey := r.Header["X-Idempotency-Key"]
	return key || xKey
}

// RetryRefused is a [Transport].Retry for servers whose 429 means that nothing
// was done, as Floodgate's does: any request may then be sent again; after a
// 503 only those of [RetryIdempotent].
func RetryRefused(r *http.Request, res *http.Response) bool {
	return res.StatusCode == http.StatusTooManyRequests || RetryIdempotent(r, res)
}

func (t *Transport) mayRetry(r *http.Request, res *http.Response) bool {
	if t.Retry != nil {
		return t.Retry(r, res)
	}
	return RetryIdempotent(r, res)
}

// learn takes from a response what it says, and returns how long to wait if it
// is a refusal.
func (t *Transport) learn(g *gate, k ticket, res *http.Response, attempt int) (wait time.Duration, refused bool) {
	now := time.Now()
	asked, known := ratelimit.ReadRetryAfter(res.Header, now)
	advertised := ratelimit.ReadAdvertised(res.Header, now)
	switch {
	case res.StatusCode == http.StatusTooManyRequests:
		if !known {
			asked = exhaustedFor(advertised)
		}
	case res.StatusCode == http.StatusServiceUnavailable && known:
	default:
		g.told(k, now, advertised)
		return 0, false
	}
	return g.refused(k, now, advertised, func(row int) time.Duration {
		if asked > 0 {
			return later(asked)
		}
		return t.backoff(max(attempt, row))
	}), true
}

// exhaustedFor is how long a refusal's RateLimit says that there is nothing
// left, 0 if it doesn't.
func exhaustedFor(advertised []ratelimit.Advertised) (longest time.Duration) {
	for _, one := range advertised {
		if one.Remaining == 0 && one.EffectiveWindow != ratelimit.Never {
			longest = max(longest, one.EffectiveWindow)
		}
	}
	return longest
}

// later is d and up to a tenth more, so that clients that were told the same
// don't all come back at the same instant.
func later(d time.Duration) time.Duration {
	tenth := int64(d / 10)
	if d > ratelimit.Never-d/10 || tenth == 0 {
		return d
	}
	return d + time.Duration(rand.Int64N(tenth)) //nolint:gosec // nothing to guess
}

// backoff is a wait after so many refusals in a row, drawn from 0 to a bound
// that doubles with each.
func (t *Transport) backoff(row int) time.Duration {
	bound, most := orDefault(t.MinBackoff, time.Second/2), orDefault(t.MaxBackoff, 30*time.Second)
	for ; row > 1 && bound <= most/2; row-- {
		bound *= 2
	}
	if row > 1 {
		bound = most
	}
	return time.Duration(rand.Int64N(int64(min(bound, most, ratelimit.Never-1)) + 1)) //nolint:gosec // nothing to guess
}
