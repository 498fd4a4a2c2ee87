package echolimit

import (
	"sync/atomic"
	"unsafe" //nolint:depguard // see identityOf

	"github.com/labstack/echo/v4"
)

// handlers are the limited handlers of the handlers that there are. Echo puts its
// chain together anew for each request, and what comes next is one of the few
// routes' handlers each time, unless more middleware comes between: that makes
// another one for each request, and so does this one then. So a slot that is
// taken remains, and what finds none is not kept.
type handlers struct {
	// limit makes the limited handler.
	limit echo.MiddlewareFunc
	slots [handlerSlots]atomic.Pointer[handler]
}

const (
	handlerBits  = 8
	handlerSlots = 1 << handlerBits
	// handlerTries is in how many slots a handler can be.
	handlerTries = 4
)

// handler is a handler and what limits it. That it refers to next keeps another
// one from having its identity.
type handler struct{ next, limited echo.HandlerFunc }

// of returns what limits next.
func (h *handlers) of(next echo.HandlerFunc) echo.HandlerFunc {
	identity := identityOf(next)
	first := uint64(identity) * 0x9e3779b97f4a7c15 >> (64 - handlerBits) // Fibonacci hashing, as neighbours are common
	for i := range uint64(handlerTries) {
		slot := &h.slots[(first+i)%handlerSlots]
		kept := slot.Load()
		if kept == nil {
			made := &handler{next: next, limited: h.limit(next)}
			if slot.CompareAndSwap(nil, made) {
				return made.limited
			}
			kept = slot.Load()
		}
		if identityOf(kept.next) == identity {
			return kept.limited
		}
	}
	return h.limit(next)
}

// identityOf is the address of a function with the variables that it has. Two
// functions that have the same at the same time are one and the same.
func identityOf(f echo.HandlerFunc) uintptr {
	return uintptr(*(*unsafe.Pointer)(unsafe.Pointer(&f)))
}
