package ratelimit

import (
	"errors"
	"fmt"
)

// compileEndpoints reads the tables of a policy.
func (p *policy) compileEndpoints() (err error) {
	if p.Tiers != nil && len(p.Endpoints) > 0 {
		return errors.New("Policy.Endpoints and Policy.Tiers are both set: use several policies with a Match, each with tiers of its own")
	}
	p.endpoints, err = newTable("Policy.Endpoints", p.Endpoints, func(of pattern, l Limit) (*PolicyLimit, error) {
		if err := p.validLimit(l); err != nil {
			return nil, err
		}
		made := p.complete(PolicyLimit{Endpoint: of.String(), part: joiner + string(textPartition(kindEndpoint, of.String())), Limit: l})
		return &made, nil
	})
	if err != nil {
		return err
	}
	p.costs, err = newTable("Policy.Costs", p.Costs, func(_ pattern, cost int64) (*int64, error) {
		if cost < 0 {
			return nil, fmt.Errorf("cost %d is negative: use 0 or more", cost)
		}
		return &cost, nil
	})
	return err
}

// hasDefault reports whether a policy without tiers has a limit for requests
// that none of its Endpoints is for.
func (p *policy) hasDefault() bool { return p.endpoints == nil || p.Limit != (Limit{}) }

// limitFor returns the limit that a policy without tiers has for r, nil if it
// has none.
func (l *Limiter) limitFor(p *policy, r *Request) *PolicyLimit {
	if p.endpoints == nil {
		return &p.fixed
	}
	l.checkRoute(p, p.endpoints.needsRoute, r)
	if limit := p.endpoints.find(r); limit != nil {
		return limit
	}
	if p.hasDefault() {
		return &p.fixed
	}
	return nil
}

// costByTable returns what Costs says of r.
func (l *Limiter) costByTable(p *policy, r *Request) (cost int64, found bool) {
	if p.costs == nil {
		return 0, false
	}
	l.checkRoute(p, p.costs.needsRoute, r)
	entry := p.costs.find(r)
	if entry == nil {
		return 0, false
	}
	return *entry, true
}

// checkCosts reports a cost that none of the policy's limits could ever admit,
// as far as they are known.
func (p *policy) checkCosts() error {
	if p.costs == nil || p.tiers != nil {
		return nil
	}
	most := int64(0)
	for _, limit := range p.limits() {
		if limit.Limit.IsUnlimited() {
			return nil
		}
		most = max(most, limit.Limit.Capacity())
	}
	for _, entry := range p.costs.entries {
		if cost := *entry.value; cost > most && most > 0 {
			return fmt.Errorf("Policy.Costs[%q]: cost %d is above what the policy's limit admits at once, %d: such a request could never pass", entry.pattern, cost, most)
		}
	}
	return nil
}
