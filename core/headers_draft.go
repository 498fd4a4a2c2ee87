package ratelimit

import (
	"strconv"

	"github.com/go-floodgate/floodgate/core/internal/sfv"
)

// renderMembers writes RateLimit-Policy, and RateLimit in the drafts in which
// it has a member for each policy: on a denial for each violated one. Policies
// that clients are not told about have no part in either.
func (h *HeaderConfig) renderMembers(f *fields, t *texts, d *Decision) {
	if h.Draft == NoDraft {
		return
	}
	policies, told := d.Policies(), 0
	for i := range policies {
		if p := &policies[i]; p.advertised() {
			told++
			f.values[fieldPolicy] = h.policyMember(p.advert)
		}
	}
	if told > 1 {
		for i := range policies {
			if p := &policies[i]; p.advertised() {
				t.member()
				t.buf = append(t.buf, h.policyMember(p.advert)...)
			}
		}
		t.end(fieldPolicy)
	}
	if h.Draft > Draft12Preview || d.Reason == ReasonFailedOpen {
		return
	}
	for i := range policies {
		if p := &policies[i]; p.advertised() && (d.Allowed || p.Violated()) {
			t.member()
			t.rateLimit(p, h.Draft)
		}
	}
	t.end(fieldRateLimit)
}

func (h *HeaderConfig) policyMember(a *advert) string {
	if h.Draft == Draft07 || h.Draft == Draft06 {
		return a.oldMember
	}
	return a.member
}

// member separates a member of a List from the one before.
func (t *texts) member() {
	if len(t.buf) > t.start {
		t.buf = append(t.buf, ", "...)
	}
}

// rateLimit appends p's member of RateLimit. Its window is optional and left
// out if no wait brings the client anything.
func (t *texts) rateLimit(p *PolicyResult, draft Draft) {
	available, window := ";r=", ";t="
	if draft == Draft12Preview {
		available, window = ";a=", ";w="
	}
	t.buf = append(t.buf, p.advert.name...)
	t.buf = append(t.buf, available...)
	t.buf = strconv.AppendInt(t.buf, sfv.ClampInteger(p.Result.Remaining), 10)
	if seconds, known := p.effectiveWindow(); known {
		t.buf = append(t.buf, window...)
		t.buf = strconv.AppendInt(t.buf, seconds, 10)
	}
	if draft == Draft12Preview {
		t.buf = append(t.buf, ";c="...)
		t.buf = strconv.AppendInt(t.buf, sfv.ClampInteger(p.Cost), 10)
	}
}

// draft07 writes RateLimit as draft-07 has it: of the binding policy alone.
func (t *texts) draft07(f *fields, p *PolicyResult) {
	t.buf = append(t.buf, draft07Limit...)
	t.buf = strconv.AppendInt(t.buf, f.limit, 10)
	t.buf = append(t.buf, draft07Remaining...)
	t.buf = strconv.AppendInt(t.buf, f.remaining, 10)
	t.buf = append(t.buf, ", reset="...)
	t.buf = strconv.AppendInt(t.buf, p.oldReset(), 10)
	t.end(fieldRateLimit)
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
