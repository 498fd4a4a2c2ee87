package echolimit

import (
	"sync/atomic"
	"unsafe" //nolint:depguard // see identityOf

	"github.com/labstack/echo/v4"
)

// handlers are the limited handlers of routes' handlers. With each request Echo
// asks the middleware of a server for one around the same few, unless more
// middleware comes between. Nothing else is kept: what may have been made for one
// request may refer to all of it, and would take the place of one that comes
// again. What is kept remains; what finds no slot is made anew each time.
type handlers [handlerSlots]atomic.Pointer[handler]

const (
	handlerBits  = 8
	handlerSlots = 1 << handlerBits
	// handlerTries is in how many slots a handler can be.
	handlerTries = 4
)

// handler is a handler and what limits it. That it refers to next keeps another
// one from having its identity.
type handler struct{ next, limited echo.HandlerFunc }

// find returns what limits next. If it is not kept, free is the slot where it
// can be, nil if there is none.
func (h *handlers) find(next echo.HandlerFunc) (limited echo.HandlerFunc, free *atomic.Pointer[handler]) {
	identity := identityOf(next)
	first := uint64(identity) * 0x9e3779b97f4a7c15 >> (64 - handlerBits) // Fibonacci hashing, as neighbours are common
	for try := range uint64(handlerTries) {
		slot := &h[(first+try)%handlerSlots]
		kept := slot.Load()
		if kept == nil {
			return nil, slot
		}
		if identityOf(kept.next) == identity {
			return kept.limited, nil
		}
	}
	return nil, nil
}

// wanted reports whether next is the handler of the request's route.
func wanted(c echo.Context, next echo.HandlerFunc) bool {
	return next != nil && identityOf(c.Handler()) == identityOf(next) &&
		c.Get(echo.ContextKeyHeaderAllow) == nil // with which it is Echo's own, that it makes for one request
}

// identityOf is the address of a function with the variables that it has. Two
// functions that have the same at the same time are one and the same.
func identityOf(f echo.HandlerFunc) uintptr {
	return uintptr(*(*unsafe.Pointer)(unsafe.Pointer(&f)))
}
