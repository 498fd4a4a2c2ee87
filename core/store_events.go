package ratelimit

import (
	"context"
	"errors"
	"time"
)

// What a store may tell of itself beside its answers, for metrics and logs, in
// types that need no import of the store. All of it is optional.

// ObservedStore is a store that tells of its calls to other processes.
type ObservedStore interface {
	Store
	// Watch adds an observer, for what begins from now on. It is safe for
	// concurrent use; there is no way to remove one.
	Watch(StoreObserver)
}

// MeasuredStore is a store that has counts and levels of its own.
type MeasuredStore interface {
	Store
	// Figures returns them, always the same ones and in the same order but for
	// their values. It is called now and then, not on the way of a request, and
	// is safe for concurrent use.
	Figures() []Figure
}

// SortingStore is a store that knows its errors.
type SortingStore interface {
	Store
	// ErrorKind sorts an error into one of a few kinds in snake_case, such as
	// "timeout", fit for a metric label; it is "" for nil.
	ErrorKind(err error) string
}

// StoreObserver is told what a store does that no [Observer] can see. Its
// functions must be fast and safe for concurrent use. A nil function is left
// out.
type StoreObserver struct {
	// Call is called after every call that left the process, on the goroutine
	// that made it: one of the store's own or a request's.
	Call func(StoreCall)
	// Breaker is called when the state of a server's circuit breaker changes.
	// It must not call the store.
	Breaker func(server string, from, to BreakerState)
}

// StoreCall is one call of a store to another process: a batch of decisions
// and adjustments.
type StoreCall struct {
	// Server is its address, "" if that isn't known.
	Server string
	// Requests is how many requests and adjustments travelled together.
	Requests int
	// Duration is how long the call took.
	Duration time.Duration
	// Late says that the callers did not wait that long: they were told that
	// there was no answer in time.
	Late bool
	// Err is why it failed, nil if it did not; see [SortingStore].
	Err error
}

// BreakerState is the state of a circuit breaker between a store and a server.
type BreakerState uint8

const (
	// BreakerClosed is the normal state: calls go to the server.
	BreakerClosed BreakerState = iota
	// BreakerHalfOpen lets a single call through, to see whether the server is
	// back; the others fail at once.
	BreakerHalfOpen
	// BreakerOpen lets no call through: all fail at once.
	BreakerOpen
)

// String returns "closed", "half-open" or "open".
func (s BreakerState) String() string {
	switch s {
	case BreakerClosed:
		return "closed"
	case BreakerHalfOpen:
		return "half-open"
	default:
		return "open"
	}
}

// Figure is one count or level of a store.
type Figure struct {
	// Name is the store's word for it in snake_case, in base units and without
	// what a monitoring system adds ("_total"): "keys", "denial_hits".
	Name string
	// Help says in a sentence what it is.
	Help string
	// Counter is whether it only ever grows while the process lives; else it is
	// a level that goes up and down.
	Counter bool
	// Value is what it is now.
	Value float64
}

// ErrorKind sorts an error of a store for a metric label: by what the store
// says if it is a [SortingStore], else into "timeout" and "other". It is "" for
// nil.
func ErrorKind(s Store, err error) string {
	if err == nil {
		return ""
	}
	if sorting, ok := s.(SortingStore); ok {
		return sorting.ErrorKind(err)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "timeout"
	}
	return "other"
}
