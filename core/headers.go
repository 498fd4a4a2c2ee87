package ratelimit

import "fmt"

// HeaderConfig says which response fields and bodies clients get. The zero
// value sends X-RateLimit-Limit, -Remaining and -Reset (Unix seconds),
// RateLimit and RateLimit-Policy of draft-11, Retry-After on refusals, and a
// body in the form the client prefers. It is given to [New] with [Headers].
//
// Policies that are hidden, in shadow or unlimited are in none of the fields. A
// request let through because the store failed has RateLimit-Policy alone; one
// refused because of that (503) has Retry-After: 1 and none of the others, and
// one whose client is on a deny list (403) has none at all. What is not known is
// left out: a wait, if waiting does not help.
type HeaderConfig struct {
	// Draft is the form of the RateLimit fields; the zero value is Draft11.
	Draft Draft
	// XRateLimit is the form of the X-RateLimit fields; the zero value is
	// ResetUnix.
	XRateLimit XRateLimit
	// ExposeHeaders adds the names of the fields to
	// Access-Control-Expose-Headers, so that scripts of other origins can read
	// them. What is there stays. The limiter has to run inside (after) the
	// CORS middleware: without Access-Control-Allow-Origin a script sees
	// a network error instead of a 429.
	ExposeHeaders bool
	// Body is the form of the body of refusals; the zero value is
	// BodyNegotiated.
	Body BodyForm
}

// Draft is a version of the Internet-Draft draft-ietf-httpapi-ratelimit-headers.
// None of them is a standard; they differ in what goes over the wire.
type Draft uint8

const (
	// Draft11 sends RateLimit: "name";r=99;t=1 and RateLimit-Policy:
	// "name";q=100;w=60, a member for each policy. r is what is left: a
	// client that takes no more than that within the next t seconds is not
	// refused. (More may come back meanwhile.)
	Draft11 Draft = iota
	// Draft12Preview is what pull request 166 of the draft makes of Draft11:
	// r is called a, t is called w, and c is the request's cost. It may change
	// with the draft.
	Draft12Preview
	// Draft07 sends RateLimit: limit=100, remaining=99, reset=1 of the binding
	// policy, and RateLimit-Policy: 100;w=60.
	Draft07
	// Draft06 sends RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset
	// of the binding policy, and RateLimit-Policy: 100;w=60.
	Draft06
	// NoDraft sends none of the RateLimit fields.
	NoDraft

	draftCount
)

// XRateLimit is a form of the X-RateLimit-Limit, -Remaining and -Reset fields,
// which tell of the binding policy.
type XRateLimit uint8

const (
	// ResetUnix has X-RateLimit-Reset in seconds since the Unix epoch.
	ResetUnix XRateLimit = iota
	// ResetDelta has X-RateLimit-Reset in seconds from now.
	ResetDelta
	// NoXRateLimit sends none of the three.
	NoXRateLimit

	xRateLimitCount
)

// BodyForm is the form of the body of a refusal.
type BodyForm uint8

const (
	// BodyNegotiated is BodyProblem for clients whose Accept names
	// application/problem+json and does not prefer application/json, else
	// BodyJSON.
	BodyNegotiated BodyForm = iota
	// BodyJSON is always application/json.
	BodyJSON
	// BodyProblem is always application/problem+json (RFC 9457).
	BodyProblem

	bodyFormCount
)

func (h *HeaderConfig) validate() error {
	switch {
	case h.Draft >= draftCount:
		return fmt.Errorf("ratelimit: HeaderConfig.Draft %d is unknown: use Draft11, Draft12Preview, Draft07, Draft06 or NoDraft", h.Draft)
	case h.XRateLimit >= xRateLimitCount:
		return fmt.Errorf("ratelimit: HeaderConfig.XRateLimit %d is unknown: use ResetUnix, ResetDelta or NoXRateLimit", h.XRateLimit)
	case h.Body >= bodyFormCount:
		return fmt.Errorf("ratelimit: HeaderConfig.Body %d is unknown: use BodyNegotiated, BodyJSON or BodyProblem", h.Body)
	}
	return nil
}

// ResponseHeader is a response's header fields before they are sent. It is for
// the authors of adapters; an [net/http.Header] is one and is written to in the
// fastest way, and then a [CopyingHeader].
type ResponseHeader interface {
	// Get returns the value of the field: its lines joined by ", " if there
	// are several, empty if there is none.
	Get(name string) string
	// Set makes value the field's only line.
	Set(name, value string)
	// Del removes all lines of the field.
	Del(name string)
}

// field is one of the response fields that a limiter writes.
type field uint8

const (
	fieldLimit field = iota
	fieldRemaining
	fieldReset
	fieldRateLimit
	fieldPolicy
	fieldDraftLimit
	fieldDraftRemaining
	fieldDraftReset
	fieldRetryAfter
	fieldCacheControl
	fieldETag
	fieldLastModified
	fieldExpires
	fieldExpose

	fieldCount
)

const (
	nameLimit     = "X-Ratelimit-Limit"
	nameRemaining = "X-Ratelimit-Remaining"
	nameReset     = "X-Ratelimit-Reset"
	nameRateLimit = "Ratelimit"
	namePolicy    = "Ratelimit-Policy"

	nameRetryAfter   = "Retry-After"
	nameCacheControl = "Cache-Control"
	noStore          = "no-store"
)

// fieldNames are the names in the form in which net/http keys its map. Names of
// fields are case-insensitive, and HTTP/2 sends them in lower case anyway.
var fieldNames = [fieldCount]string{
	fieldLimit:          nameLimit,
	fieldRemaining:      nameRemaining,
	fieldReset:          nameReset,
	fieldRateLimit:      nameRateLimit,
	fieldPolicy:         namePolicy,
	fieldDraftLimit:     "Ratelimit-Limit",
	fieldDraftRemaining: "Ratelimit-Remaining",
	fieldDraftReset:     "Ratelimit-Reset",
	fieldRetryAfter:     nameRetryAfter,
	fieldCacheControl:   nameCacheControl,
	fieldETag:           "Etag",
	fieldLastModified:   "Last-Modified",
	fieldExpires:        "Expires",
	fieldExpose:         "Access-Control-Expose-Headers",
}

// exposed are the names for Access-Control-Expose-Headers of every
// configuration, as people write them.
var exposed = func() (names [draftCount][xRateLimitCount]string) {
	drafts := [draftCount]string{
		Draft11:        "RateLimit, RateLimit-Policy, ",
		Draft12Preview: "RateLimit, RateLimit-Policy, ",
		Draft07:        "RateLimit, RateLimit-Policy, ",
		Draft06:        "RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, RateLimit-Policy, ",
	}
	for draft := range draftCount {
		for x := range xRateLimitCount {
			three := "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, "
			if x == NoXRateLimit {
				three = ""
			}
			names[draft][x] = three + drafts[draft] + "Retry-After"
		}
	}
	return names
}()
