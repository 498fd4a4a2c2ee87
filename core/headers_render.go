package ratelimit

import (
	"math/bits"
	"net/http"
	"strconv"
	"unsafe" //nolint:depguard // see cutSheet

	"github.com/go-floodgate/floodgate/core/internal/sfv"
)

// fields are the response fields of one decision: at first as if the response
// had none of them yet, after merge as they are to be.
type fields struct {
	// values holds the value of each field that is in sent.
	values [fieldCount]string
	sent   fieldSet
	// drop are the fields that are to be removed if they are not sent.
	drop fieldSet
	// refused is whether the decision is a denial, whose fields take the place
	// of what is there rather than join it.
	refused bool
	// limit and remaining are the binding policy's, retryAfter in seconds and
	// at is the store's clock: what values says, as numbers.
	limit, remaining, retryAfter, at int64
}

// fieldSet has a bit for each field.
type fieldSet uint16

func (s fieldSet) has(i field) bool { return s&(1<<i) != 0 }

// next takes the first field out of s.
func (s *fieldSet) next() field {
	i := field(bits.TrailingZeros16(uint16(*s)))
	*s &= *s - 1
	return i
}

// set makes value that of a field; unset leaves the field out.
func (f *fields) set(i field, value string) {
	f.values[i] = value
	f.sent |= 1 << i
}

func (f *fields) unset(i field)  { f.sent &^= 1 << i }
func (f *fields) remove(i field) { f.drop |= 1 << i }

// apply sets the fields of d on a response, before its handler runs. It returns
// room for more lines of the same response, if there is some.
func (h *HeaderConfig) apply(header ResponseHeader, d *Decision, room *room) (left []string) {
	if d.Allowed && h.Draft == NoDraft && h.XRateLimit == NoXRateLimit && !h.ExposeHeaders {
		return nil
	}
	switch header := header.(type) {
	case http.Header:
		if h.applyUsual(header, d, room) {
			return nil
		}
	case CopyingHeader:
		if h.copyUsual(header, d, room) {
			return nil
		}
	}
	return h.applyAny(header, d)
}

// applyAny is apply for all fields there are.
func (h *HeaderConfig) applyAny(header ResponseHeader, d *Decision) (room []string) {
	var f fields
	var t texts
	var stack [192]byte
	if d.Allowed && len(d.Policies()) == 0 {
		return nil
	}
	buf, some := h.render(stack[:0], &f, &t, d)
	if !some {
		return nil
	}
	native, ok := header.(http.Header)
	switch {
	case !ok:
		f.cut(string(buf), &t)
		h.merge(&f, header)
		f.sendTo(header)
		return nil
	case len(native) > 0:
		f.cut(string(buf), &t)
		h.merge(&f, lines(native))
		return f.writeTo(native, make([]string, f.lines()))
	}
	return f.writeTo(native, f.cutSheet(buf, &t))
}

// sendTo sets and removes the fields one by one.
func (f *fields) sendTo(header ResponseHeader) {
	for sent := f.sent; sent != 0; {
		i := sent.next()
		header.Set(fieldNames[i], f.values[i])
	}
	for dropped := f.drop &^ f.sent; dropped != 0; {
		header.Del(fieldNames[dropped.next()])
	}
}

// count is how many fields are sent.
func (f *fields) count() int { return bits.OnesCount16(uint16(f.sent)) }

// lines is how many lines the response needs room for.
func (f *fields) lines() int {
	if f.refused {
		return f.count() + answerFields
	}
	return f.count()
}

// writeTo is sendTo for an http.Header. The fields' lines are put into room,
// which is this response's alone: whoever edits a header in place edits no
// other's. Each one's capacity is its length. It returns what is left of room.
func (f *fields) writeTo(header http.Header, room []string) (left []string) {
	for sent := f.sent; sent != 0; {
		i := sent.next()
		room[0] = f.values[i]
		header[fieldNames[i]] = room[:1:1]
		room = room[1:]
	}
	if len(header) == f.count() {
		return room // there is nothing else
	}
	for dropped := f.drop &^ f.sent; dropped != 0; {
		delete(header, fieldNames[dropped.next()])
	}
	return room
}

// render fills f with what d says, except for what it appends to buf, which t
// knows the parts of. It returns false if d has nothing to say.
func (h *HeaderConfig) render(buf []byte, f *fields, t *texts, d *Decision) (_ []byte, some bool) {
	if d.Allowed {
		binding := d.advertisedPolicy()
		buf = h.appendMembers(buf, f, t, d, binding)
		buf = h.appendBinding(buf, f, t, binding)
		if len(buf) == 0 && f.sent == 0 {
			return buf, false
		}
	} else {
		buf = h.appendRefusal(buf, f, t, d)
	}
	if h.ExposeHeaders {
		f.set(fieldExpose, exposed[h.Draft][h.XRateLimit])
	}
	return buf, true
}

// appendRefusal writes what is sent with a request that is not to go on. What
// a limiter further out has said of its own policies must not make a refusal
// look like quota to spare, so it goes, unless the refusal has nothing to do
// with quota.
func (h *HeaderConfig) appendRefusal(buf []byte, f *fields, t *texts, d *Decision) []byte {
	f.refused = true
	f.set(fieldCacheControl, noStore)
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
		binding := d.advertisedPolicy()
		buf = h.appendMembers(buf, f, t, d, binding)
		buf = h.appendBinding(buf, f, t, binding)
		f.at = d.Result.At
	}
	seconds, known := d.retryAfterSeconds()
	if !known {
		f.remove(fieldRetryAfter)
		return buf
	}
	f.retryAfter = seconds
	return f.number(buf, t, fieldRetryAfter, seconds)
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
		if t.remaining.to > 0 && f.remaining >= readyNumbers {
			t.is(fieldRemaining, t.remaining)
		} else {
			buf = f.number(buf, t, fieldRemaining, f.remaining)
		}
		if reset, known := p.Result.resetUnix(); known {
			if h.XRateLimit == ResetDelta {
				buf = f.number(buf, t, fieldReset, ceilSeconds(p.Result.ResetAfter))
			} else {
				f.set(fieldReset, textOfSecond(reset))
			}
		}
	}
	switch h.Draft {
	case Draft07:
		buf = appendDraft07(buf, f, p)
		t.end(buf, fieldRateLimit)
	case Draft06:
		buf = f.appendLimit(buf, t, fieldDraftLimit, p.advert)
		buf = f.number(buf, t, fieldDraftRemaining, f.remaining)
		buf = f.number(buf, t, fieldDraftReset, p.oldReset())
	}
	return buf
}

// appendLimit writes the limit. It is the capacity, whose text is ready,
// unless the store has its own mind.
func (f *fields) appendLimit(buf []byte, t *texts, i field, a *advert) []byte {
	if f.limit == a.capacity {
		f.set(i, a.capacityText)
		return buf
	}
	return f.number(buf, t, i, f.limit)
}

// texts knows which part of a buffer is which field's value. The buffer itself
// is handed from function to function, so that it can lie on the stack.
type texts struct {
	start int32
	made  fieldSet
	parts [fieldCount]part
	// remaining is where the binding policy's has been written already.
	remaining part
}

type part struct{ from, to int32 }

// end makes what was appended since the last end the value of a field.
func (t *texts) end(buf []byte, i field) {
	n := int32(len(buf))
	if n > t.start {
		t.is(i, part{t.start, n})
	}
	t.start = n
}

func (t *texts) is(i field, p part) {
	t.parts[i] = p
	t.made |= 1 << i
}

// number makes n the value of a field.
func (f *fields) number(buf []byte, t *texts, i field, n int64) []byte {
	if n >= 0 && n < readyNumbers {
		f.set(i, textsOfNumbers[n])
		return buf
	}
	buf = strconv.AppendInt(buf, n, 10)
	t.end(buf, i)
	return buf
}

// cut makes f's values parts of one string.
func (f *fields) cut(all string, t *texts) {
	for made := t.made; made != 0; {
		i := made.next()
		f.set(i, all[t.parts[i].from:t.parts[i].to])
	}
}

// A sheet is all that a response needs for itself, in one piece: of most that
// are allowed, and of most others.
type (
	sheet struct {
		lines [5]string
		text  [32]byte
	}
	largeSheet struct {
		lines [8 + answerFields]string
		text  [32]byte
	}
)

// cutSheet is cut, and returns room for the lines that f needs, and for those of
// a refusal's answer.
func (f *fields) cutSheet(buf []byte, t *texts) (room []string) {
	f.sent |= t.made
	n := f.lines()
	if len(buf) == 0 {
		return make([]string, n)
	}
	var text []byte
	switch {
	case len(buf) > len(sheet{}.text), n > len(largeSheet{}.lines):
		f.cut(string(buf), t)
		return make([]string, n)
	case n > len(sheet{}.lines):
		s := new(largeSheet)
		room, text = s.lines[:n], s.text[:len(buf)]
	default:
		s := new(sheet)
		room, text = s.lines[:n], s.text[:len(buf)]
	}
	copy(text, buf)
	f.cut(unsafe.String(&text[0], len(text)), t) // nobody writes to it any more
	return room
}
