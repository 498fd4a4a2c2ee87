package ratelimit

import (
	"net/http"
	"strconv"
	"unsafe" //nolint:depguard // see usualSheet

	"github.com/go-floodgate/floodgate/core/internal/sfv"
)

// Most responses by far get the same five fields, with which one policy tells of
// a request that it has let through, and have none of them yet. They are written
// here without the detours that the others need, in half the time (BenchmarkApply).
// What is written is the same; TestUsual compares them.

// usual returns the one policy that the fields are about, nil if they are not
// the usual ones.
func (h *HeaderConfig) usual(d *Decision) *PolicyResult {
	if h.Draft != Draft11 || h.XRateLimit != ResetUnix || h.ExposeHeaders ||
		!d.Allowed || d.Reason != ReasonWithinLimits || d.Policy == "" || d.count != 1 || d.more != nil {
		return nil
	}
	p := &d.inline[0]
	if !p.advertised() || p.Result.Limit != p.advert.capacity || uint64(p.Result.Remaining) > sfv.MaxInteger ||
		p.Result.ResetAfter == Never || len(p.advert.name) > usualName {
		return nil
	}
	return p
}

// usualText is enough for a name in quotes and two Integers with their keys.
const (
	usualName = 24
	usualText = usualName + 2*(len(";r=")+15)
)

// appendUsual appends the value of RateLimit, and says where what remains stands
// in it.
func appendUsual(buf []byte, p *PolicyResult) (_ []byte, from, to int) {
	buf = append(append(buf, p.advert.name...), ";r="...)
	from = len(buf)
	buf = strconv.AppendInt(buf, p.Result.Remaining, 10)
	to = len(buf)
	if seconds, known := p.effectiveWindow(); known {
		buf = append(buf, ";t="...)
		buf = strconv.AppendInt(buf, seconds, 10)
	}
	return buf, from, to
}

// usualSheet is what such a response needs for itself, in one piece: its lines,
// and the text that differs from one to the next, which nobody writes to when
// the lines have been made of it.
type usualSheet struct {
	lines [5]string
	text  [32]byte
}

// applyUsual sets the fields if they are the usual ones, and reports whether
// they are.
func (h *HeaderConfig) applyUsual(header http.Header, d *Decision) bool {
	p := h.usual(d)
	if p == nil || len(header) > 0 && hasUsual(header) {
		return false
	}
	var room [usualText]byte
	buf, from, to := appendUsual(room[:0], p)
	s := new(usualSheet)
	text := unsafe.String(&s.text[0], copy(s.text[:], buf))
	if len(text) < len(buf) {
		text = string(buf)
	}
	reset, _ := p.Result.resetUnix()
	s.lines = [...]string{p.advert.capacityText, text[from:to], textOfSecond(reset), text, p.advert.member}
	header[nameLimit] = s.lines[0:1:1]
	header[nameRemaining] = s.lines[1:2:2]
	header[nameReset] = s.lines[2:3:3]
	header[nameRateLimit] = s.lines[3:4:4]
	header[namePolicy] = s.lines[4:5:5]
	return true
}

func hasUsual(header http.Header) bool {
	for _, name := range [...]string{nameLimit, nameRemaining, nameReset, nameRateLimit, namePolicy} {
		if _, there := header[name]; there {
			return true
		}
	}
	return false
}

// CopyingHeader is a [ResponseHeader] of a framework that copies what it is
// given.
type CopyingHeader interface {
	ResponseHeader
	// None reports whether the response has no field yet but what the framework
	// sets by itself.
	None() bool
	// SetBytes is Set for a value that is not to be kept.
	SetBytes(name string, value []byte)
}

// copyUsual is applyUsual for a header that copies, with room for the text.
func (h *HeaderConfig) copyUsual(header CopyingHeader, d *Decision, room *[usualText]byte) bool {
	p := h.usual(d)
	if p == nil || !header.None() {
		return false
	}
	buf, from, to := appendUsual(room[:0], p)
	reset, _ := p.Result.resetUnix()
	header.Set(nameLimit, p.advert.capacityText)
	header.SetBytes(nameRemaining, buf[from:to])
	header.Set(nameReset, textOfSecond(reset))
	header.SetBytes(nameRateLimit, buf)
	header.Set(namePolicy, p.advert.member)
	return true
}
