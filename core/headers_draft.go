package ratelimit

import (
	"strconv"

	"github.com/go-floodgate/floodgate/core/internal/sfv"
)

// appendMembers writes RateLimit-Policy, and RateLimit in the drafts in which
// it has a member for each policy: on a denial for each violated one. Policies
// that clients are not told about have no part in either.
func (h *HeaderConfig) appendMembers(buf []byte, f *fields, t *texts, d *Decision, binding *PolicyResult) []byte {
	if h.Draft == NoDraft {
		return buf
	}
	policies, told := d.Policies(), 0
	for i := range policies {
		if p := &policies[i]; p.advertised() {
			told++
			f.set(fieldPolicy, h.policyMember(p.advert))
		}
	}
	if told > 1 {
		for i := range policies {
			if p := &policies[i]; p.advertised() {
				buf = t.separate(buf)
				buf = append(buf, h.policyMember(p.advert)...)
			}
		}
		t.end(buf, fieldPolicy)
	}
	if h.Draft > Draft12Preview || d.Reason == ReasonFailedOpen {
		return buf
	}
	for i := range policies {
		if p := &policies[i]; p.advertised() && (d.Allowed || p.Violated()) {
			buf = t.separate(buf)
			var remaining part
			if buf, remaining = appendMember(buf, p, h.Draft); p == binding {
				t.remaining = remaining
			}
		}
	}
	t.end(buf, fieldRateLimit)
	return buf
}

func (h *HeaderConfig) policyMember(a *advert) string {
	if h.Draft == Draft07 || h.Draft == Draft06 {
		return a.oldMember
	}
	return a.member
}

// separate sets the next member of a List off from the one before.
func (t *texts) separate(buf []byte) []byte {
	if len(buf) > int(t.start) {
		buf = append(buf, ", "...)
	}
	return buf
}

// appendMember appends p's member of RateLimit. Its window is optional and
// left out if no wait brings the client anything. It says where what remains
// has been written.
func appendMember(buf []byte, p *PolicyResult, draft Draft) (_ []byte, remaining part) {
	available, window := ";r=", ";t="
	if draft == Draft12Preview {
		available, window = ";a=", ";w="
	}
	buf = append(buf, p.advert.name...)
	buf = append(buf, available...)
	remaining.from = int32(len(buf))
	buf = strconv.AppendInt(buf, sfv.ClampInteger(p.Result.Remaining), 10)
	remaining.to = int32(len(buf))
	if seconds, known := p.effectiveWindow(); known {
		buf = append(buf, window...)
		buf = strconv.AppendInt(buf, seconds, 10)
	}
	if draft == Draft12Preview {
		buf = append(buf, ";c="...)
		buf = strconv.AppendInt(buf, sfv.ClampInteger(p.Cost), 10)
	}
	return buf, remaining
}

// appendDraft07 appends RateLimit as draft-07 has it: of the binding policy
// alone.
func appendDraft07(buf []byte, f *fields, p *PolicyResult) []byte {
	buf = append(buf, draft07Limit...)
	buf = strconv.AppendInt(buf, f.limit, 10)
	buf = append(buf, draft07Remaining...)
	buf = strconv.AppendInt(buf, f.remaining, 10)
	buf = append(buf, ", reset="...)
	return strconv.AppendInt(buf, p.oldReset(), 10)
}

const (
	draft07Limit     = "limit="
	draft07Remaining = ", remaining="
)

// oldReset is reset of drafts 06 and 07, in seconds from now: when the key is
// as good as new, and on a denial the instant of Retry-After. Those drafts
// require it, so what never comes is as far off as an Integer can tell.
func (p *PolicyResult) oldReset() int64 {
	if p.Violated() {
		if seconds, known := retrySeconds(p.Result.RetryAfter); known {
			return seconds
		}
	}
	if p.Result.ResetAfter == Never {
		return mostSeconds
	}
	return ceilSeconds(p.Result.ResetAfter)
}
