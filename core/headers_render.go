package ratelimit

import (
	"net/http"
	"strconv"

	"github.com/go-floodgate/floodgate/core/internal/sfv"
)

// fields are the response fields of one decision: at first as if the response
// had none of them yet, after merge as they are to be.
type fields struct {
	// values holds each field's value, empty if it is not sent. An http.Header
	// is given slices of this array.
	values [fieldCount]string
	// drop has a bit for each field that is to be removed.
	drop uint16
	// refused is whether the decision is a denial, whose fields take the place
	// of what is there rather than join it.
	refused bool
	// limit and remaining are the binding policy's, retryAfter in seconds and
	// at is the store's clock: what values says, as numbers.
	limit, remaining, retryAfter, at int64
}

// apply sets the fields of d on a response, before its handler runs.
func (h *HeaderConfig) apply(header ResponseHeader, d *Decision) {
	if native, ok := header.(http.Header); ok {
		f := new(fields)
		if h.render(f, d) {
			h.merge(f, lines(native))
			f.writeTo(native)
		}
		return
	}
	var f fields
	if !h.render(&f, d) {
		return
	}
	h.merge(&f, header)
	for i, value := range f.values {
		if value != "" {
			header.Set(fieldNames[i], value)
		} else if f.dropped(field(i)) {
			header.Del(fieldNames[i])
		}
	}
}

// writeTo gives header slices of f's own array. Their capacity is their
// length, so that whoever appends to one copies it.
func (f *fields) writeTo(header http.Header) {
	for i := range f.values {
		if f.values[i] != "" {
			header[fieldNames[i]] = f.values[i : i+1 : i+1]
		} else if f.dropped(field(i)) {
			delete(header, fieldNames[i])
		}
	}
}

func (f *fields) remove(i field)       { f.drop |= 1 << i }
func (f *fields) dropped(i field) bool { return f.drop&(1<<i) != 0 }

// render fills f with what d says. It returns false if d has nothing to say.
func (h *HeaderConfig) render(f *fields, d *Decision) bool {
	var stack [256]byte
	t := texts{buf: stack[:0]}
	if d.Allowed {
		h.renderMembers(f, &t, d)
		if d.Reason != ReasonFailedOpen {
			h.renderBinding(f, &t, d.advertisedPolicy())
		}
		if len(t.buf) == 0 && f.values[fieldPolicy] == "" {
			return false
		}
	} else {
		h.renderRefusal(f, &t, d)
	}
	if h.ExposeHeaders {
		f.values[fieldExpose] = exposed[h.Draft][h.XRateLimit]
	}
	t.moveTo(f)
	return true
}

// renderRefusal is render for a request that is not to go on. What a limiter
// further out has said of its own policies must not make a refusal look like
// quota to spare, so it goes, unless the refusal has nothing to do with quota.
func (h *HeaderConfig) renderRefusal(f *fields, t *texts, d *Decision) {
	f.refused = true
	f.values[fieldCacheControl] = "no-store"
	f.remove(fieldETag)
	f.remove(fieldLastModified)
	f.remove(fieldExpires)
	if d.Reason == ReasonCanceled {
		return
	}
	for i := fieldLimit; i <= fieldRateLimit; i++ {
		f.remove(i)
	}
	if d.Reason == ReasonFailedClosed {
		f.retryAfter = unavailableSeconds
		t.number(fieldRetryAfter, unavailableSeconds)
		return
	}
	h.renderMembers(f, t, d)
	h.renderBinding(f, t, d.advertisedPolicy())
	f.at = d.Result.At
	seconds, known := retrySeconds(d.RetryAfter)
	if !known {
		f.remove(fieldRetryAfter)
		return
	}
	f.retryAfter = seconds
	t.number(fieldRetryAfter, seconds)
}

// unavailableSeconds is the Retry-After of a refusal because the store failed.
const unavailableSeconds = 1

// renderBinding writes the fields that tell of one policy only, if there is
// one to tell of.
func (h *HeaderConfig) renderBinding(f *fields, t *texts, p *PolicyResult) {
	if p == nil {
		return
	}
	f.limit, f.remaining = sfv.ClampInteger(p.Result.Limit), sfv.ClampInteger(p.Result.Remaining)
	if h.XRateLimit != NoXRateLimit {
		f.limitText(t, fieldLimit, p.advert)
		t.number(fieldRemaining, f.remaining)
		if reset, known := p.Result.resetUnix(); known {
			if h.XRateLimit == ResetDelta {
				reset = ceilSeconds(p.Result.ResetAfter)
			}
			t.number(fieldReset, reset)
		}
	}
	switch h.Draft {
	case Draft07:
		t.draft07(f, p)
	case Draft06:
		f.limitText(t, fieldDraftLimit, p.advert)
		t.number(fieldDraftRemaining, f.remaining)
		t.number(fieldDraftReset, p.oldReset())
	}
}

// limitText writes the limit. It is the capacity, whose text is ready, unless
// the store has its own mind.
func (f *fields) limitText(t *texts, i field, a *advert) {
	if f.limit == a.capacity {
		f.values[i] = a.capacityText
	} else {
		t.number(i, f.limit)
	}
}

// texts collects values that are to be parts of one string.
type texts struct {
	buf   []byte
	start int
	ends  [fieldCount]struct{ from, to int }
}

// end makes what was appended since the last end the value of a field.
func (t *texts) end(i field) {
	t.ends[i].from, t.ends[i].to = t.start, len(t.buf)
	t.start = len(t.buf)
}

func (t *texts) number(i field, n int64) {
	t.buf = strconv.AppendInt(t.buf, n, 10)
	t.end(i)
}

// moveTo turns what was collected into one string and f's values into parts
// of it.
func (t *texts) moveTo(f *fields) {
	if len(t.buf) == 0 {
		return
	}
	all := string(t.buf)
	for i := range t.ends {
		if e := &t.ends[i]; e.to > e.from {
			f.values[i] = all[e.from:e.to]
		}
	}
}
