package ratelimit

import (
	"net/http"
	"strconv"

	"github.com/go-floodgate/floodgate/core/internal/sfv"
)

// fields are the response fields of one decision: at first as if the response
// had none of them yet, after merge as they are to be.
type fields struct {
	// values holds each field's value, empty if it is not sent.
	values [fieldCount]string
	// drop has a bit for each field that is to be removed if it is not sent.
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
	var f fields
	if d.Allowed && len(d.Policies()) == 0 || !h.render(&f, d) {
		return
	}
	native, ok := header.(http.Header)
	if !ok {
		h.merge(&f, header)
		f.sendTo(header)
		return
	}
	if len(native) > 0 {
		h.merge(&f, lines(native))
	}
	f.writeTo(native)
}

// sendTo sets and removes the fields one by one.
func (f *fields) sendTo(header ResponseHeader) {
	for i, value := range f.values {
		if value != "" {
			header.Set(fieldNames[i], value)
		} else if f.dropped(field(i)) {
			header.Del(fieldNames[i])
		}
	}
}

// writeTo is sendTo for an http.Header, which gets slices of one array. Their
// capacity is their length, so that whoever appends to one copies it.
func (f *fields) writeTo(header http.Header) {
	var sent [fieldCount]field
	n := 0
	for i := range f.values {
		if f.values[i] != "" {
			sent[n] = field(i)
			n++
		} else if f.drop != 0 && f.dropped(field(i)) {
			delete(header, fieldNames[i])
		}
	}
	all := make([]string, n)
	for n, i := range sent[:n] {
		all[n] = f.values[i]
		header[fieldNames[i]] = all[n : n+1 : n+1]
	}
}

func (f *fields) remove(i field)       { f.drop |= 1 << i }
func (f *fields) dropped(i field) bool { return f.drop&(1<<i) != 0 }

// render fills f with what d says. It returns false if d has nothing to say.
func (h *HeaderConfig) render(f *fields, d *Decision) bool {
	var stack [256]byte
	var t texts
	buf := stack[:0]
	if d.Allowed {
		buf = h.appendMembers(buf, f, &t, d)
		buf = h.appendBinding(buf, f, &t, d.advertisedPolicy())
		if len(buf) == 0 && f.values[fieldPolicy] == "" {
			return false
		}
	} else {
		buf = h.appendRefusal(buf, f, &t, d)
	}
	if h.ExposeHeaders {
		f.values[fieldExpose] = exposed[h.Draft][h.XRateLimit]
	}
	if len(buf) > 0 {
		f.cut(string(buf), &t)
	}
	return true
}

// appendRefusal writes what is sent with a request that is not to go on. What
// a limiter further out has said of its own policies must not make a refusal
// look like quota to spare, so it goes, unless the refusal has nothing to do
// with quota.
func (h *HeaderConfig) appendRefusal(buf []byte, f *fields, t *texts, d *Decision) []byte {
	f.refused = true
	f.values[fieldCacheControl] = "no-store"
	f.remove(fieldETag)
	f.remove(fieldLastModified)
	f.remove(fieldExpires)
	if d.Reason == ReasonCanceled {
		return buf
	}
	for i := fieldLimit; i <= fieldRateLimit; i++ {
		f.remove(i)
	}
	if d.Reason != ReasonFailedClosed {
		buf = h.appendMembers(buf, f, t, d)
		buf = h.appendBinding(buf, f, t, d.advertisedPolicy())
		f.at = d.Result.At
	}
	seconds, known := d.retryAfterSeconds()
	if !known {
		f.remove(fieldRetryAfter)
		return buf
	}
	f.retryAfter = seconds
	return t.number(buf, fieldRetryAfter, seconds)
}

// appendBinding writes the fields that tell of one policy only, if there is
// one to tell of.
func (h *HeaderConfig) appendBinding(buf []byte, f *fields, t *texts, p *PolicyResult) []byte {
	if p == nil {
		return buf
	}
	f.limit, f.remaining = sfv.ClampInteger(p.Result.Limit), sfv.ClampInteger(p.Result.Remaining)
	if h.XRateLimit != NoXRateLimit {
		buf = f.appendLimit(buf, t, fieldLimit, p.advert)
		buf = t.number(buf, fieldRemaining, f.remaining)
		if reset, known := p.Result.resetUnix(); known {
			if h.XRateLimit == ResetDelta {
				reset = ceilSeconds(p.Result.ResetAfter)
			}
			buf = t.number(buf, fieldReset, reset)
		}
	}
	switch h.Draft {
	case Draft07:
		buf = appendDraft07(buf, f, p)
		t.end(buf, fieldRateLimit)
	case Draft06:
		buf = f.appendLimit(buf, t, fieldDraftLimit, p.advert)
		buf = t.number(buf, fieldDraftRemaining, f.remaining)
		buf = t.number(buf, fieldDraftReset, p.oldReset())
	}
	return buf
}

// appendLimit writes the limit. It is the capacity, whose text is ready,
// unless the store has its own mind.
func (f *fields) appendLimit(buf []byte, t *texts, i field, a *advert) []byte {
	if f.limit == a.capacity {
		f.values[i] = a.capacityText
		return buf
	}
	return t.number(buf, i, f.limit)
}

// texts knows which part of a buffer is which field's value. The buffer itself
// is handed from function to function, so that it can lie on the stack.
type texts struct {
	start int32
	parts [fieldCount]struct{ from, to int32 }
}

// end makes what was appended since the last end the value of a field.
func (t *texts) end(buf []byte, i field) {
	n := int32(len(buf))
	t.parts[i].from, t.parts[i].to = t.start, n
	t.start = n
}

func (t *texts) number(buf []byte, i field, n int64) []byte {
	buf = strconv.AppendInt(buf, n, 10)
	t.end(buf, i)
	return buf
}

// cut makes f's values parts of one string.
func (f *fields) cut(all string, t *texts) {
	for i := range t.parts {
		if part := &t.parts[i]; part.to > part.from {
			f.values[i] = all[part.from:part.to]
		}
	}
}
