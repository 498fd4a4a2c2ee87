package redisstore

import ratelimit "github.com/go-floodgate/floodgate/core"

// Figures returns the store's [Stats] and the state of its circuit breakers,
// for [ratelimit.MeasuredStore].
func (s *Store) Figures() []ratelimit.Figure {
	stats := s.Stats()
	var open, halfOpen int
	for _, l := range s.router.all() {
		switch BreakerState(l.breaker.state.Load()) {
		case BreakerOpen:
			open++
		case BreakerHalfOpen:
			halfOpen++
		}
	}
	count := func(name, help string, value uint64) ratelimit.Figure {
		return ratelimit.Figure{Name: name, Help: help, Counter: true, Value: float64(value)}
	}
	level := func(name, help string, value int) ratelimit.Figure {
		return ratelimit.Figure{Name: name, Help: help, Value: float64(value)}
	}
	return []ratelimit.Figure{
		level("open_breakers", "Servers whose circuit breaker is open: they are not asked.", open),
		level("half_open_breakers", "Servers whose circuit breaker is half open: a single call probes whether they are back.", halfOpen),
		level("abandoned_calls", "Calls that nobody waits for any more and that wait for the client's own timeouts.", stats.Abandoned),
		count("timeouts", "Requests that had no answer within their budget.", stats.Timeouts),
		count("breaker_refusals", "Requests that failed because a circuit breaker was open.", stats.BreakerRefusals),
		count("given_back", "Requests that were denied in one place after another place had charged them.", stats.GivenBack),
		count("denial_hits", "Requests that the cache of denials answered.", stats.DenialHits),
		count("leased_units", "Units of hot keys that were taken ahead.", stats.LeasedUnits),
		count("lease_spent_units", "Units taken ahead that requests have spent.", stats.LeaseSpent),
		count("lease_returned_units", "Units taken ahead that were given back unspent.", stats.LeaseReturned),
		count("lease_hits", "Requests that units taken ahead answered.", stats.LeaseHits),
	}
}
