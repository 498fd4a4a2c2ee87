package ratelimit

import (
	"context"
	"time"
)

// Observer is told what a [Limiter] does, for metrics and logs. Its functions
// are called within the request: they must be fast, safe for concurrent use,
// and keep nothing of what they are given. A nil function is left out.
type Observer struct {
	// Decision is called for every decision, whatever it is.
	Decision func(context.Context, *Observation)
	// StoreFailure is called for every call to a store that failed. The end of
	// a request's own context is none.
	StoreFailure func(context.Context, *StoreFailure)
	// Untimed says that Decision has no use for [Observation.StoreTime]: the
	// clock is not read for it, which may cost as much as the store in memory.
	Untimed bool
}

// Observation is one decision as an [Observer] sees it.
type Observation struct {
	// Decision is what was decided.
	Decision *Decision
	// Method is the request's method and Route its pattern in one spelling
	// for all frameworks; both are empty for a decision without a request.
	// Both may be used as metric labels: Method is "OTHER" if it is none of
	// HTTP's own, and Route is never a raw path.
	Method, Route string
	// StoreTime is how long the store took, 0 if it was not asked or all
	// observers are Untimed.
	StoreTime time.Duration
}

// StoreFailure is one failed call to a store.
type StoreFailure struct {
	// Operation is "take", "adjust" or "reset".
	Operation string
	// Fallback is whether it was the fallback store that failed.
	Fallback bool
	// Kind sorts Err into one of a few kinds and may be used as a metric label:
	// what the store itself says ([SortingStore]), else "timeout" or "other".
	Kind string
	// Err is the store's error.
	Err error
}
