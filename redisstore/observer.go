package redisstore

import (
	"slices"
	"sync"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// Observer is told what a store does that no [ratelimit.Observer] can see; see
// [ratelimit.StoreObserver].
type Observer = ratelimit.StoreObserver

// Call is one call to Redis: a batch of decisions and adjustments; see
// [ratelimit.StoreCall]. Late means that the callers were told [ErrTimeout];
// [ErrorKind] sorts its Err.
type Call = ratelimit.StoreCall

// BreakerState is the state of a server's circuit breaker; see
// [ratelimit.BreakerState].
type BreakerState = ratelimit.BreakerState

// The states of a circuit breaker.
const (
	// BreakerClosed is the normal state: calls go to Redis.
	BreakerClosed = ratelimit.BreakerClosed
	// BreakerHalfOpen lets a single call through, to see whether Redis is
	// back; the others fail at once.
	BreakerHalfOpen = ratelimit.BreakerHalfOpen
	// BreakerOpen lets no call through: all fail at once.
	BreakerOpen = ratelimit.BreakerOpen
)

var (
	_ ratelimit.ObservedStore = (*Store)(nil)
	_ ratelimit.MeasuredStore = (*Store)(nil)
	_ ratelimit.SortingStore  = (*Store)(nil)
)

// observers are those who are told, in the order in which they came.
type observers struct {
	mu  sync.RWMutex
	all []Observer
}

// Watch adds an observer, as [WithObserver] does, to a store that is there
// already. It is told of what begins from now on.
func (s *Store) Watch(o Observer) {
	s.observers.mu.Lock()
	defer s.observers.mu.Unlock()
	// What others are reading stays as it is.
	s.observers.all = append(slices.Clip(s.observers.all), o)
}

// current are the observers there are. No lock is held while they are told.
func (o *observers) current() []Observer {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.all
}

func (o *observers) called(call Call) {
	for _, one := range o.current() {
		if one.Call != nil {
			one.Call(call)
		}
	}
}

func (o *observers) changed(server string, from, to BreakerState) {
	for _, one := range o.current() {
		if one.Breaker != nil {
			one.Breaker(server, from, to)
		}
	}
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
