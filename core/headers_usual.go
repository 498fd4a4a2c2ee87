package ratelimit

import (
	"net/http"
	"slices"
	"strconv"
	"unsafe" //nolint:depguard // see usualSheet

	"github.com/go-floodgate/floodgate/core/internal/sfv"
)

// Most responses by far get the same five fields, with which one policy tells of
// a request that it has let through, and have none of them yet. They are written
// here without the detours that the others need, in less time (BenchmarkApply).
// What is written is the same; TestUsual compares them.

// usual returns the one policy that the fields are about, nil if they are not
// the usual ones.
func (h *HeaderConfig) usual(d *Decision) *PolicyResult {
	if h.Draft != Draft11 || h.XRateLimit != ResetUnix || h.ExposeHeaders || d.Policy == "" || d.count != 1 || d.more != nil {
		return nil
	}
	p := &d.inline[0]
	if d.Allowed && d.Reason != ReasonWithinLimits || !d.Allowed && d.Reason != ReasonRateLimited || d.Allowed != p.Result.Allowed {
		return nil
	}
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
	buf = append(buf, p.advert.remaining...)
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

// sheets are those of the next few responses, since to allocate several at once
// costs little more than to allocate one. As long as one of them is referred to
// none goes, which is half a kilobyte at most.
type sheets[S usualSheet | refusalSheet] struct {
	left []S
}

func (s *sheets[S]) next(atOnce int) *S {
	n := len(s.left)
	if n == 0 {
		s.left, n = make([]S, atOnce), atOnce
	}
	s.left = s.left[:n-1]
	return &s.left[:n][n-1]
}

// atOnce are as many as the allocator gives for the least.
const (
	sheetsAtOnce   = 4
	refusalsAtOnce = 2
)

// applyUsual sets the fields if they are the usual ones, and reports whether
// they are.
func (h *HeaderConfig) applyUsual(header http.Header, d *Decision, room *room) bool {
	p := h.usual(d)
	if p == nil || !d.Allowed || hasAny(header, usualNames) {
		return false
	}
	s := room.sheets.next(sheetsAtOnce)
	buf, from, to := appendUsual(s.text[:0], p) // or in memory of its own, if it is longer
	text := unsafe.String(unsafe.SliceData(buf), len(buf))
	reset, _ := p.Result.resetUnix()
	// One by one: a processor waits for words that it reads together when they
	// have just been written apart.
	s.lines[0] = p.advert.capacityText
	s.lines[1] = text[from:to]
	s.lines[2] = textOfSecond(reset)
	s.lines[3] = text
	s.lines[4] = p.advert.member
	header[nameLimit] = s.lines[0:1:1]
	header[nameRemaining] = s.lines[1:2:2]
	header[nameReset] = s.lines[2:3:3]
	header[nameRateLimit] = s.lines[3:4:4]
	header[namePolicy] = s.lines[4:5:5]
	return true
}

// room is what writing the fields of one response after another takes.
type room struct {
	sheets   sheets[usualSheet]
	refusals sheets[refusalSheet]
	text     [usualText]byte
}

// refusalSheet is a usualSheet for a refusal.
type refusalSheet struct {
	lines [7 + answerFields]string
	text  [32]byte
}

// refuseUsual sets the fields of a refusal, and makes the answer to a request
// with these Accept lines, if both are the usual ones: see [HeaderConfig.apply]
// and denialBody. It reports whether they are.
func (h *HeaderConfig) refuseUsual(header http.Header, d *Decision, accept []string, a *Answer, room *room) bool {
	p := h.usual(d)
	if p == nil || hasAny(header, refusalNames) || d.RetryAfter == Never || h.Body == BodyProblem || h.Body == BodyNegotiated && prefersProblem(accept) {
		return false
	}
	s := room.refusals.next(refusalsAtOnce)
	buf, from, to := appendUsual(s.text[:0], p)
	text := unsafe.String(unsafe.SliceData(buf), len(buf))
	reset, _ := p.Result.resetUnix()
	limit, remaining, resetText := p.advert.capacityText, text[from:to], textOfSecond(reset)
	retryAfter := text[to+len(";t="):] // it is the same wait
	s.lines[0] = limit
	s.lines[1] = remaining
	s.lines[2] = resetText
	s.lines[3] = text
	s.lines[4] = p.advert.member
	s.lines[5] = retryAfter
	s.lines[6] = noStore
	header[nameLimit] = s.lines[0:1:1]
	header[nameRemaining] = s.lines[1:2:2]
	header[nameReset] = s.lines[2:3:3]
	header[nameRateLimit] = s.lines[3:4:4]
	header[namePolicy] = s.lines[4:5:5]
	header[nameRetryAfter] = s.lines[5:6:6]
	header[nameCacheControl] = s.lines[6:7:7]
	a.Status, a.ContentType, a.room = http.StatusTooManyRequests, typeJSON, s.lines[7:]
	a.Body = appendRest(d.appendError(a.Body[:0]), p.advert.name, limit, remaining, resetText, retryAfter)
	return true
}

// The fields that must not be there yet: those that are set, and those that a
// refusal removes.
var (
	usualNames   = []string{nameLimit, nameRemaining, nameReset, nameRateLimit, namePolicy}
	refusalNames = append(slices.Clip(usualNames),
		nameRetryAfter, nameCacheControl, fieldNames[fieldETag], fieldNames[fieldLastModified], fieldNames[fieldExpires])
)

func hasAny(header http.Header, names []string) bool {
	if len(header) == 0 {
		return false
	}
	for _, name := range names {
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

// copyUsual is applyUsual for a header that copies.
func (h *HeaderConfig) copyUsual(header CopyingHeader, d *Decision, room *room) bool {
	p := h.usual(d)
	if p == nil || !d.Allowed || !header.None() {
		return false
	}
	buf, from, to := appendUsual(room.text[:0], p)
	reset, _ := p.Result.resetUnix()
	header.Set(nameLimit, p.advert.capacityText)
	header.SetBytes(nameRemaining, buf[from:to])
	header.Set(nameReset, textOfSecond(reset))
	header.SetBytes(nameRateLimit, buf)
	header.Set(namePolicy, p.advert.member)
	return true
}
