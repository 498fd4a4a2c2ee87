package redisstore

import "time"

// Observer is told what a store does that no [ratelimit.Observer] can see, for
// metrics and logs. Its functions must be fast and safe for concurrent use. A
// nil function is left out.
type Observer struct {
	// Call is called after every call that left the process, from a goroutine
	// of the store's own.
	Call func(Call)
	// Breaker is called when the state of a server's circuit breaker changes,
	// under a lock: it must not call the store.
	Breaker func(server string, from, to BreakerState)
}

// Call is one call to Redis: a batch of decisions and adjustments.
type Call struct {
	// Server is the address, "" for a client whose address isn't known.
	Server string
	// Requests is how many requests and adjustments travelled together.
	Requests int
	// Duration is how long the call took.
	Duration time.Duration
	// Late says that the callers did not wait that long: they were told
	// [ErrTimeout].
	Late bool
	// Err is why it failed, nil if it did not; see [ErrorKind].
	Err error
}

// Stats are counts since the store was made.
type Stats struct {
	// Calls and FailedCalls count calls that left the process, Requests the
	// requests and adjustments they carried.
	Calls, FailedCalls, Requests uint64
	// Timeouts counts requests that had no answer within their budget,
	// BreakerRefusals those that failed because the circuit breaker was open.
	Timeouts, BreakerRefusals uint64
	// GivenBack counts requests that were denied in one place after another
	// place had charged them; see the package documentation on Cluster.
	GivenBack uint64
	// DenialHits counts requests answered by the denial cache.
	DenialHits uint64
	// LeasedUnits counts units taken ahead, LeaseSpent those of them that
	// were spent, LeaseReturned those given back, and LeaseHits the requests
	// that they answered.
	LeasedUnits, LeaseSpent, LeaseReturned, LeaseHits uint64
	// Abandoned is how many calls nobody waits for any more, at present.
	Abandoned int
}
