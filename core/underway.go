package ratelimit

import (
	"context"
	"net/http"
	"reflect"
	"sync/atomic"
	"unsafe" //nolint:depguard // see addressOf
)

// underway knows the requests whose handlers run within one limiter by their
// identities' addresses. It is a table of groups, each a cache line; who finds
// no place there is marked in the context instead.
type underway struct {
	groups [underwayGroups][groupSize]atomic.Uintptr
}

const (
	underwayBits   = 8
	underwayGroups = 1 << underwayBits
	groupSize      = 8
)

// place is where an address is; 0 is nowhere.
type place uint16

// group is the one where an address is, if anywhere. Allocators hand out
// neighbouring addresses, which Fibonacci hashing (Knuth, volume 3, section 6.4)
// spreads.
func (u *underway) group(address uintptr) (index uint64) {
	return uint64(address) * 0x9e3779b97f4a7c15 >> (64 - underwayBits)
}

func (u *underway) has(address uintptr) bool {
	if address == 0 {
		return false
	}
	group := &u.groups[u.group(address)]
	for i := range group {
		if group[i].Load() == address {
			return true
		}
	}
	return false
}

// enter notes an address that is not there, and returns its place, 0 if there is
// no room. (Nobody else enters the same one meanwhile: it is one request's.)
func (u *underway) enter(address uintptr) (p place, there bool) {
	if address == 0 {
		return 0, false
	}
	index := u.group(address)
	group, free := &u.groups[index], groupSize
	for i := range group {
		switch group[i].Load() {
		case address:
			return 0, true
		case 0:
			free = min(free, i)
		}
	}
	for i := free; i < groupSize; i++ {
		if group[i].Load() == 0 && group[i].CompareAndSwap(0, address) {
			return place(index*groupSize+uint64(i)) + 1, false
		}
	}
	return 0, false
}

func (u *underway) leave(p place) { u.groups[(p-1)/groupSize][(p-1)%groupSize].Store(0) }

// UnderWay returns how many requests are known by their identity at the moment.
// It is for the tests of adapters: when no handler runs, it has to be 0.
func (l *Limiter) UnderWay() (n int) {
	for i := range l.underway.groups {
		for j := range l.underway.groups[i] {
			if l.underway.groups[i][j].Load() != 0 {
				n++
			}
		}
	}
	return n
}

// addressOf is the address of a map or of what a pointer points to, 0 of
// anything else.
func addressOf(thing any) uintptr {
	if thing == nil {
		return 0
	}
	switch reflect.TypeOf(thing).Kind() { //nolint:exhaustive // the others have no address
	case reflect.Map, reflect.Pointer:
		// reflect.Value.Pointer, but for its cost: an interface holds a pointer in
		// its second word as it is.
		return (*[2]uintptr)(unsafe.Pointer(&thing))[1]
	}
	return 0
}

// KnownBy says by what the request is known again while its handler runs: by a
// map or pointer that nothing but this request has and that it keeps on its way,
// such as the header map of its response. An adapter calls it before
// [Limiter.Begin], and in the end [Call.Leave]. Without it the limiter marks the
// context of every request, which costs net/http a copy of the request.
func (c *Call) KnownBy(identity any) { c.identity, c.address = identity, addressOf(identity) }

// KnownByHeader is [Call.KnownBy] for a header that its caller refers to until
// it has called [Call.Leave], so that the Call needn't.
func (c *Call) KnownByHeader(header http.Header) {
	c.address = *(*uintptr)(unsafe.Pointer(&header)) // as in addressOf
}

// KnownByTurn is [Call.KnownBy] for what a framework uses for one request after
// another, with a number that differs each time: should a handler still run when
// its request is long over, the next ones are not taken for it. Two requests at
// once are taken for one by a chance of 1 in 2^48 or less.
func (c *Call) KnownByTurn(identity any, turn uint64) {
	c.KnownBy(identity)
	if c.address != 0 {
		c.address ^= uintptr(turn * 0x9e3779b97f4a7c15) // odd, so that all turns of one address differ
	}
}

// enter makes the request known by its identity until it leaves, and reports
// whether it has come through its limiter before. Its identity isn't enough if
// the handler is to find the Call in its context, or if the limiter is mounted
// in several places, since middleware between them may give the response another
// header.
func (c *Call) enter(ctx context.Context) (again bool) {
	l := c.limiter
	if l.marked.Load() {
		for outer := callOf(ctx); outer != nil; outer = outer.outer {
			if outer.limiter == l {
				return true
			}
		}
	}
	if l.reserves || l.mounts.Load() > 1 {
		return l.underway.has(c.address)
	}
	c.place, again = l.underway.enter(c.address)
	return again
}

// mark makes the request known by its context while its handler runs.
func (c *Call) mark(ctx context.Context) {
	if l := c.limiter; !l.marked.Load() {
		l.marked.Store(true)
	}
	c.Context, c.outer, c.marks = ctx, callOf(ctx), true
}

// Marks reports whether the handler has to run with the Call as its context.
func (c *Call) Marks() bool { return c.marks }

// Leave says that the handler has returned or panicked: the request is not
// known by its identity any more, which may belong to another one from now on.
// Again it does nothing. It reports whether nothing refers to the Call, which
// then may be used for another request.
func (c *Call) Leave() (free bool) {
	c.unknown()
	c.address = 0
	if c.identity != nil {
		c.identity = nil
	}
	if c.deciding {
		c.deciding, c.work = false, nil // somebody's function has panicked in the midst of it
	}
	if c.marks || c.settling != nil || c.refused {
		return false
	}
	if c.Context != nil {
		c.Context, c.outer = nil, nil
	}
	if !c.kept {
		c.limiter, c.proceed = nil, false
	}
	return true
}

// unknown gives up the place of the request, if it has one.
func (c *Call) unknown() {
	if c.place != 0 {
		c.limiter.underway.leave(c.place)
		c.place = 0
	}
}
