package redisstore

import (
	"errors"
	"reflect"
	"sync/atomic"
)

// counters are the numbers behind [Stats].
type counters struct {
	calls, failed, requests       atomic.Uint64
	timeouts, refusals            atomic.Uint64
	givenBack                     atomic.Uint64
	denialHits                    atomic.Uint64
	leased, spent, returned, hits atomic.Uint64
}

// note notes why a request failed.
func (c *counters) note(err error) {
	switch {
	case errors.Is(err, ErrBreakerOpen):
		c.refusals.Add(1)
	case errors.Is(err, ErrTimeout):
		c.timeouts.Add(1)
	}
}

// called notes a call to Redis and tells the observer of it.
func (s *Store) called(call Call) {
	s.counters.calls.Add(1)
	s.counters.requests.Add(uint64(call.Requests))
	if call.Err != nil {
		s.counters.failed.Add(1)
	}
	s.router.called(call.Err)
	s.observers.called(call)
}

// Stats returns what the store has counted.
func (s *Store) Stats() Stats {
	c := &s.counters
	stats := Stats{
		Calls: c.calls.Load(), FailedCalls: c.failed.Load(), Requests: c.requests.Load(),
		Timeouts: c.timeouts.Load(), BreakerRefusals: c.refusals.Load(),
		GivenBack: c.givenBack.Load(), DenialHits: c.denialHits.Load(),
		LeasedUnits: c.leased.Load(), LeaseSpent: c.spent.Load(), LeaseReturned: c.returned.Load(), LeaseHits: c.hits.Load(),
	}
	for _, l := range s.router.all() {
		l.mu.Lock()
		stats.Abandoned += l.abandoned
		l.mu.Unlock()
	}
	return stats
}

func isNil(v any) bool {
	if v == nil {
		return true
	}
	value := reflect.ValueOf(v)
	return value.Kind() == reflect.Pointer && value.IsNil()
}
