package ratelimit

import (
	"net/http"
	"sync"
)

// What the tests of fields and bodies, which lie outside the package because
// they count with package algorithm, need of its inside.

// Part is one policy's part in a decision under test.
type Part struct {
	Name           string
	Limit          Limit
	Cost           int64
	Hidden, Shadow bool
	Result         Result
}

// MadeOf returns d with these parts in it.
func (d Decision) MadeOf(parts ...Part) *Decision {
	for _, p := range parts {
		limit := &PolicyLimit{Policy: p.Name, Limit: p.Limit, Hidden: p.Hidden, Shadow: p.Shadow}
		limit.advert = newAdvert(p.Name, p.Limit)
		d.add(limit, p.Cost, &p.Result)
	}
	return &d
}

// Apply is apply, ApplyAny applyAny.
func (h HeaderConfig) Apply(header ResponseHeader, d *Decision) {
	oneRoom.Lock()
	defer oneRoom.Unlock()
	h.apply(header, d, &oneRoom.room)
}

var oneRoom struct {
	sync.Mutex
	room room
}

func (h HeaderConfig) ApplyAny(header ResponseHeader, d *Decision) { h.applyAny(header, d) }

// Validate is validate.
func (h HeaderConfig) Validate() error { return h.validate() }

// BodyOf is denialBody.
func BodyOf(d *Decision, h HeaderConfig, accept ...string) (contentType, body string, status int) {
	contentType, content, status := denialBody(nil, d, accept, &h)
	return contentType, string(content), status
}

// Foreign is a header that is no http.Header as far as apply can see.
type Foreign struct{ Fields http.Header }

func (f Foreign) Get(name string) string { return lines(f.Fields).Get(name) }
func (f Foreign) Set(name, value string) { f.Fields.Set(name, value) }
func (f Foreign) Del(name string)        { f.Fields.Del(name) }

// Internals that are tested directly.
var (
	ValidatePolicyName = validatePolicyName
	PrefersProblem     = prefersProblem
)

// Advert returns the texts of a policy's advert, empty if it has none.
func Advert(name string, l Limit) (member, oldMember, capacity string) {
	a := newAdvert(name, l)
	if a == nil {
		return "", "", ""
	}
	return a.member, a.oldMember, a.capacityText
}

// MakeBody is denialBody without what a test makes of it.
func MakeBody(b []byte, d *Decision, accept []string) { denialBody(b, d, accept, &HeaderConfig{}) }

// Answered is what a refusal is answered with, by the way that is taken and by
// the one for all refusals.
func (h HeaderConfig) Answered(usual bool, header http.Header, d *Decision, accept []string) (contentType, body string, status int, took bool) {
	var a Answer
	if usual {
		took = h.refuseUsual(header, d, accept, &a, new(room))
	}
	if !took {
		h.applyAny(header, d)
		a.ContentType, a.Body, a.Status = denialBody(nil, d, accept, &h)
	}
	return a.ContentType, string(a.Body), a.Status, took
}
