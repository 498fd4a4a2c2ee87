package ratelimit

import (
	"net/http"
	"strconv"

	"github.com/go-floodgate/floodgate/core/internal/sfv"
)

// unadvertised stands in a body for a policy that clients are not told about.
const unadvertised = `"unadvertised"`

// problemTypes is where the problem types of the draft are registered.
const problemTypes = "https://iana.org/assignments/http-problem-types#"

// Status is the HTTP status of the answer to a refused request: 429 if a
// policy refuses it; 403 if its client is on a deny list; 503 if it is refused
// because the store failed or its context ended. It is 0 for an allowed request, whose answer is the handler's.
func (d *Decision) Status() int {
	switch {
	case d.Allowed:
		return 0
	case d.Reason == ReasonFailedClosed, d.Reason == ReasonCanceled:
		return http.StatusServiceUnavailable
	case d.Reason == ReasonDenyListed:
		return http.StatusForbidden
	}
	return http.StatusTooManyRequests
}

// denialBody appends to b and returns the representation that a refused request is answered
// with, in the form that accept (the Accept lines of the request) and cfg ask
// for. Nothing of it depends on the framework, and nothing in it is a client's
// text, a key, an address or an error. For an allowed request it returns
// nothing.
func denialBody(b []byte, d *Decision, accept []string, cfg *HeaderConfig) (contentType string, body []byte, status int) {
	status = d.Status()
	switch {
	case status == 0:
		return "", nil, 0
	case cfg.Body == BodyProblem, cfg.Body == BodyNegotiated && prefersProblem(accept):
		return typeProblem, d.problemBody(b, status), status
	}
	return typeJSON, d.jsonBody(b), status
}

// jsonBody is the plain form. All refusals have the same members; what isn't
// known, or not for the client to know, is null.
func (d *Decision) jsonBody(b []byte) []byte {
	policy, result, told := "null", &Result{}, false
	if d.Status() == http.StatusTooManyRequests {
		policy = unadvertised
		if p := d.advertisedPolicy(); p != nil {
			policy, result, told = p.advert.name, &p.Result, true
		}
	}
	reset, known := result.resetUnix()
	seconds, wait := d.retryAfterSeconds()
	var room [4][20]byte
	return appendRest(d.appendError(b), policy,
		appendNumber(room[0][:0], sfv.ClampInteger(result.Limit), told),
		appendNumber(room[1][:0], sfv.ClampInteger(result.Remaining), told),
		appendNumber(room[2][:0], reset, told && known),
		appendNumber(room[3][:0], seconds, wait))
}

// appendError appends the beginning of a body in the plain form.
func (d *Decision) appendError(b []byte) []byte {
	b = append(b, `{"error":"`...)
	b = append(b, d.errorName()...)
	b = append(b, `","message":"`...)
	return d.appendMessage(b)
}

// appendRest appends the rest of it.
func appendRest[T ~string | ~[]byte](b []byte, policy string, limit, remaining, reset, retryAfter T) []byte {
	b = append(b, `","limit":`...)
	b = append(b, limit...)
	b = append(b, `,"remaining":`...)
	b = append(b, remaining...)
	b = append(b, `,"reset":`...)
	b = append(b, reset...)
	b = append(b, `,"retry_after":`...)
	b = append(b, retryAfter...)
	b = append(b, `,"policy":`...)
	b = append(b, policy...)
	return append(b, "}\n"...)
}

func appendNumber(b []byte, n int64, known bool) []byte {
	if !known {
		return append(b, "null"...)
	}
	return strconv.AppendInt(b, n, 10)
}

// unavailableSeconds is the Retry-After of a refusal because the store failed.
const unavailableSeconds = 1

// retryAfterSeconds is what Retry-After says of a refusal, if it is sent.
func (d *Decision) retryAfterSeconds() (seconds int64, known bool) {
	switch d.Reason {
	case ReasonFailedClosed:
		return unavailableSeconds, true
	case ReasonCanceled, ReasonDenyListed:
		return 0, false
	}
	return retrySeconds(d.RetryAfter)
}

// errorName is the stable name of a refusal, for programs.
func (d *Decision) errorName() string {
	switch d.Reason {
	case ReasonFailedClosed:
		return "rate_limiter_unavailable"
	case ReasonCanceled:
		return "request_canceled"
	case ReasonDenyListed:
		return "access_denied"
	case ReasonBlocked:
		return "abnormal_usage_detected"
	}
	return "rate_limit_exceeded"
}

// appendMessage appends the explanation for people. It holds nothing that JSON
// would have to escape.
func (d *Decision) appendMessage(b []byte) []byte {
	switch d.Reason {
	case ReasonFailedClosed:
		b = append(b, "The service cannot take requests at the moment."...)
	case ReasonCanceled:
		return append(b, "The request ended before it could be served."...)
	case ReasonDenyListed:
		return append(b, "Access is denied."...)
	case ReasonBlocked:
		b = append(b, "Blocked after too many refused requests."...)
	default:
		b = append(b, "Too many requests."...)
	}
	seconds, known := d.retryAfterSeconds()
	if !known {
		return append(b, " This one exceeds what the limit ever allows; waiting does not help."...)
	}
	b = append(b, " Try again in "...)
	b = strconv.AppendInt(b, seconds, 10)
	if seconds == 1 {
		return append(b, " second."...)
	}
	return append(b, " seconds."...)
}

// problemBody is the form of RFC 9457. A canceled request and one from a deny
// list are no problems that the draft has a type for, so their title is the
// status phrase.
func (d *Decision) problemBody(b []byte, status int) []byte {
	kind, title := problemTypes+"quota-exceeded", "Quota Exceeded"
	switch d.Reason {
	case ReasonFailedClosed:
		kind, title = problemTypes+"temporary-reduced-capacity", "Temporary Reduced Capacity"
	case ReasonBlocked:
		kind, title = problemTypes+"abnormal-usage-detected", "Abnormal Usage Detected"
	case ReasonCanceled, ReasonDenyListed:
		kind, title = "about:blank", http.StatusText(status)
	}
	b = append(b, `{"type":"`...)
	b = append(b, kind...)
	b = append(b, `","title":"`...)
	b = append(b, title...)
	b = append(b, `","status":`...)
	b = strconv.AppendInt(b, int64(status), 10)
	b = append(b, `,"detail":"`...)
	b = d.appendMessage(b)
	b = append(b, '"')
	if status == http.StatusTooManyRequests {
		b = append(b, `,"violated-policies":[`...)
		b = d.appendViolated(b)
		b = append(b, ']')
	}
	return append(b, "}\n"...)
}

// appendViolated appends the names of the violated policies that clients are
// told about, or a stand-in if there is none: the list is never empty.
func (d *Decision) appendViolated(b []byte) []byte {
	before := len(b)
	policies := d.Policies()
	for i := range policies {
		if p := &policies[i]; p.advertised() && p.Violated() {
			if len(b) > before {
				b = append(b, ',')
			}
			b = append(b, p.advert.name...)
		}
	}
	if len(b) == before {
		b = append(b, unadvertised...)
	}
	return b
}
