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
	// ready has the line of a value that never changes, nil if the value is made
	// for this response.
	ready [fieldCount]*line
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
	f.values[i], f.ready[i] = value, nil
	f.sent |= 1 << i
}

func (f *fields) setReady(i field, l *line) {
	f.values[i], f.ready[i] = l[0], l
	f.sent |= 1 << i
}

func (f *fields) unset(i field)  { f.sent &^= 1 << i }
func (f *fields) remove(i field) { f.drop |= 1 << i }

// apply sets the fields of d on a response, before its handler runs.
func (h *HeaderConfig) apply(header ResponseHeader, d *Decision) {
	var f fields
	var t texts
	var stack [192]byte
	if d.Allowed && len(d.Policies()) == 0 {
		return
	}
	buf, some := h.render(stack[:0], &f, &t, d)
	if !some {
		return
	}
	native, ok := header.(http.Header)
	switch {
	case !ok:
		f.cut(string(buf), &t)
		h.merge(&f, header)
		f.sendTo(header)
	case len(native) > 0:
		f.cut(string(buf), &t)
		h.merge(&f, lines(native))
		f.writeTo(native, make([]string, f.made()))
	default:
		f.writeTo(native, f.cutSheet(buf, &t))
	}
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

// made is how many lines are made for this response.
func (f *fields) made() (n int) {
	for sent := f.sent; sent != 0; {
		if f.ready[sent.next()] == nil {
			n++
		}
	}
	return n
}

// writeTo is sendTo for an http.Header. The lines that are made for this
// response are put into made; each one's capacity is its length.
func (f *fields) writeTo(header http.Header, made []string) {
	for sent := f.sent; sent != 0; {
		i := sent.next()
		if l := f.ready[i]; l != nil {
			header[fieldNames[i]] = l[:]
			continue
		}
		made[0] = f.values[i]
		header[fieldNames[i]] = made[:1:1]
		made = made[1:]
	}
	if len(header) == bits.OnesCount16(uint16(f.sent)) {
		return // there is nothing else
	}
	for dropped := f.drop &^ f.sent; dropped != 0; {
		delete(header, fieldNames[dropped.next()])
	}
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
		f.setReady(fieldExpose, &exposed[h.Draft][h.XRateLimit])
	}
	return buf, true
}

// appendRefusal writes what is sent with a request that is not to go on. What
// a limiter further out has said of its own policies must not make a refusal
// look like quota to spare, so it goes, unless the refusal has nothing to do
// with quota.
func (h *HeaderConfig) appendRefusal(buf []byte, f *fields, t *texts, d *Decision) []byte {
	f.refused = true
	f.setReady(fieldCacheControl, noStore)
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
				f.setReady(fieldReset, lineOfSecond(reset))
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
		f.setReady(i, &a.capacityLine)
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
		f.setReady(i, &linesOfNumbers[n])
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

// sheet is all that most responses need for themselves, in one piece.
type sheet struct {
	lines [sheetLines]string
	text  [sheetText]byte
}

const (
	sheetLines = 2
	sheetText  = 32
)

// cutSheet is cut, and returns room for the lines that f needs.
func (f *fields) cutSheet(buf []byte, t *texts) (made []string) {
	n := bits.OnesCount16(uint16(t.made))
	if n == 0 {
		return nil
	}
	if n > sheetLines || len(buf) > sheetText {
		f.cut(string(buf), t)
		return make([]string, n)
	}
	s := new(sheet)
	copy(s.text[:], buf)
	f.cut(unsafe.String(&s.text[0], len(buf)), t) // nobody writes to it any more
	return s.lines[:n]
}
