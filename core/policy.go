package ratelimit

import (
	"errors"
	"fmt"
	"time"
)

// Policy is a named limit with a key: who may do how much of what. It is an
// [Option] of [New].
type Policy struct {
	// Name is what clients see in RateLimit-Policy, what metrics and logs say,
	// and part of the stored key: printable ASCII, unique within a Limiter.
	// The same name in two limiters on one store is the same count.
	Name string
	// Key says whose quota a request uses; the zero KeyBuilder is ByIP(). With
	// Tiers it must not be set: their resolver says who.
	Key KeyBuilder
	// Limit is the limit, unless Tiers is set. With Endpoints it is for the
	// requests that none of them is for.
	Limit Limit
	// Endpoints gives routes limits of their own, by patterns as in Match:
	//
	//	map[string]ratelimit.Limit{
	//		"POST /api/login": ratelimit.SlidingLog(5, 15*time.Minute),
	//		"/admin/...":      ratelimit.PerMinute(30),
	//	}
	//
	// Of the entries that are for a request the most specific one is its
	// limit: a route before "/...", a longer path before a shorter one, and on
	// the same path one with the request's method before one without. Each
	// entry is a quota of its own for each key, whatever the number of routes
	// it is for. A request that no entry is for falls under Limit, all of them
	// under one quota; without a Limit the policy is not for them.
	//
	// An entry that matches no route limits nothing: see
	// [Limiter.CheckRoutes].
	Endpoints map[string]Limit
	// Tiers gives each client the limit of its plan.
	Tiers *Tiers
	// Match restricts the policy to a method and a route pattern: "GET
	// /search", "/search", "POST", or several separated by commas. Empty is
	// every request. Patterns are written as the framework does ("/u/{id}",
	// "/u/:id") and compared as they are written; HEAD is GET. "/admin/..." is
	// the route "/admin" and all routes below it, whereas "/files/*" is the
	// catch-all route of that name.
	Match string
	// Cost says how many units a request costs; nil is 1 each. A cost of 0 is
	// a look; a negative one is taken as 1.
	Cost func(*Request) int64
	// Costs says how many units requests cost by patterns, of which the most
	// specific one counts as in Endpoints; 0 is a look. Requests that no entry
	// is for cost what Cost says.
	Costs map[string]int64
	// Settles says that the handler tells afterwards what the request has
	// cost, with [Settle]. What Cost or Costs says is then an estimate, charged
	// ahead; it stays if the handler tells nothing.
	Settles bool
	// Counts says which requests count, by how they end; the zero Outcome is
	// all of them. A request is charged while its handler runs and given back
	// if it does not count.
	Counts Outcome
	// Exempt lists who the policy is not for.
	Exempt []Exemption
	// Penalty blocks who is refused by the policy again and again; nil is
	// nobody. In shadow it does nothing.
	Penalty *Penalty
	// OnStoreFailure says what happens when the store fails; the default is
	// FailOpen.
	OnStoreFailure FailurePolicy
	// Shadow makes the policy count and report but never refuse. It is not
	// advertised to clients.
	Shadow bool
	// EnforcedPercent is for how many of its keys the policy is enforced, 1 to
	// 100 percent; 0 is all. For the other keys it is in shadow. Which keys
	// they are depends on the policy's name and the key alone, so that it is
	// the same in every process and stays so, and a key that the policy is
	// enforced for stays among them when the percentage grows. Shadow goes
	// before it.
	EnforcedPercent int
	// Hidden keeps the policy from clients: it refuses, but its numbers and
	// name are in no header and no body.
	Hidden bool
}

// Policies is a list of policies, such as a preset returns. It is an [Option]
// of [New].
type Policies []Policy

// FailurePolicy says what a store failure means for the requests of a policy.
// In one request FailClosed beats FailLocal beats FailOpen.
type FailurePolicy uint8

const (
	// FailOpen lets requests through: availability first.
	FailOpen FailurePolicy = iota
	// FailClosed refuses requests with 503.
	FailClosed
	// FailLocal decides with the store given to [Fallback], with the limits
	// divided by the number of replicas.
	FailLocal
)

// String returns "open", "closed" or "local".
func (f FailurePolicy) String() string {
	switch f {
	case FailOpen:
		return "open"
	case FailClosed:
		return "closed"
	case FailLocal:
		return "local"
	}
	return fmt.Sprintf("FailurePolicy(%d)", uint8(f))
}

// maxWait is the longest that a leaky bucket may hold an HTTP request back.
const maxWait = 30 * time.Second

// policy is a Policy as a Limiter works with it.
type policy struct {
	Policy
	match match
	// fixed is what applies without tiers.
	fixed PolicyLimit
	tiers *tierSet
	// penalty is what guards every limit of the policy, nil if nothing does.
	penalty *PolicyLimit
	// endpoints and costs are nil without entries.
	endpoints *table[PolicyLimit]
	costs     *table[int64]
	// offences are its refusals by key, nil if nobody wants to know.
	offences *offences
	// lines thin out what is logged of it, nil if nothing is.
	lines *refusalLines
	// settles is whether a charge may have to be changed afterwards.
	settles bool
	// keyed is whether the Policy has a key of its own. With tiers the key is
	// Tiers.By.
	keyed bool
	// plain is whether every request is charged 1 of the one limit there is,
	// under its key, and nothing else has to be asked.
	plain bool
	// keyNeedsRoute is whether the key can't do without the route.
	keyNeedsRoute bool
	// replicas divide the limits of the fallback store; 0 if it is not asked.
	replicas int64
}

func compilePolicy(p Policy) (*policy, error) {
	if err := validatePolicyName(p.Name); err != nil {
		return nil, err
	}
	compiled := &policy{Policy: p, settles: p.Settles || !p.Counts.everything(), keyed: len(p.Key.parts) > 0 || p.Key.err != nil}
	if p.Tiers != nil && !compiled.keyed {
		compiled.Key = p.Tiers.By
	}
	compiled.Key = compiled.Key.orDefault()
	compiled.keyNeedsRoute = compiled.Key.needs()&needsRoute != 0
	if err := compiled.compile(); err != nil {
		return nil, fmt.Errorf("ratelimit: policy %q: %w", p.Name, trimPrefix(err))
	}
	return compiled, nil
}

func (p *policy) compile() (err error) {
	if p.Key.err != nil && p.Tiers == nil {
		return p.Key.err
	}
	if p.match, err = parseMatch(p.Match); err != nil {
		return fmt.Errorf("Policy.Match: %w", err)
	}
	if p.OnStoreFailure > FailLocal {
		return fmt.Errorf("Policy.OnStoreFailure %d is unknown: use FailOpen, FailClosed or FailLocal", p.OnStoreFailure)
	}
	for _, exemption := range p.Exempt {
		if exemption.err != nil {
			return exemption.err
		}
	}
	if err = p.validRollout(); err != nil {
		return err
	}
	if err = p.compilePenalty(); err != nil {
		return err
	}
	if err = p.compileEndpoints(); err != nil {
		return err
	}
	if p.Tiers != nil {
		if p.Limit != (Limit{}) {
			return errors.New("Policy.Limit and Policy.Tiers are both set: leave one out")
		}
		if p.keyed {
			return errors.New("Policy.Key and Policy.Tiers are both set: leave Key out, the resolver's Identity says who")
		}
		p.tiers, err = compileTiers(p)
		return err
	}
	if p.hasDefault() {
		if err = p.validLimit(p.Limit); err != nil {
			return err
		}
		p.fixed = p.limitOf("", p.Limit)
	}
	p.plain = len(p.match.patterns) == 0 && len(p.Exempt) == 0 && p.penalty == nil && p.endpoints == nil && p.costs == nil && p.Cost == nil &&
		!p.keyNeedsRoute && !p.Shadow && p.fixed.watched == nil && !p.fixed.Limit.IsUnlimited()
	return p.checkCosts()
}

// validLimit is Limit.Validate and what a request on its way can bear.
func (p *policy) validLimit(l Limit) error {
	if err := l.Validate(); err != nil {
		return err
	}
	if l.Algorithm == AlgorithmPenalty {
		return errors.New("Limit is that of a penalty: set Policy.Penalty beside a limit")
	}
	if wait := l.LongestWait(); wait > maxWait {
		return fmt.Errorf("Limit.Burst %d would hold a request back for %v: use a queue of at most %d, which waits no longer than %v",
			l.Burst, wait, int64(maxWait/time.Microsecond)/max(1, int64(l.Window/time.Microsecond)/l.Quota), maxWait)
	}
	return nil
}

func (p *policy) limitOf(tier string, l Limit) PolicyLimit {
	return p.complete(PolicyLimit{Tier: tier, Limit: l})
}

// complete fills in what all limits of the policy have in common.
func (p *policy) complete(made PolicyLimit) PolicyLimit {
	made.Policy, made.Shadow, made.Hidden = p.Name, p.Shadow, p.Hidden
	if !p.Shadow && !p.Hidden && !made.Limit.IsUnlimited() {
		made.advert = newAdvert(p.Name, made.Limit)
	}
	made.watched = p.inShadow(made)
	return made
}

// counted returns every limit that a store is charged with for the policy.
func (p *policy) counted() []Limit {
	var all []Limit
	for _, limit := range p.limits() {
		all = append(all, limit.Limit)
	}
	if p.penalty != nil {
		all = append(all, p.penalty.Limit)
	}
	return all
}

// limits returns every limit the policy may apply.
func (p *policy) limits() []*PolicyLimit {
	if p.tiers != nil {
		return p.tiers.all()
	}
	var all []*PolicyLimit
	if p.hasDefault() {
		all = append(all, &p.fixed)
	}
	if p.endpoints != nil {
		for _, entry := range p.endpoints.entries {
			all = append(all, entry.value)
		}
	}
	return all
}
