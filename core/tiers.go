package ratelimit

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Tiers gives each client the limit of its plan. One look-up says who a request
// comes from and which tier that client has.
type Tiers struct {
	// Resolve maps a request to an identity. On an error the request is
	// counted by client IP under Default. It may use the Request only until
	// it returns, and is called for each request: keep it fast.
	Resolve func(*Request) (Identity, error)
	// Limits is the limit of each tier; [Unlimited] and a quota of 0 (blocked)
	// are limits as well.
	Limits map[string]Limit
	// Default is the tier of an identity whose Tier is empty or not in Limits.
	Default string
}

// Identity is what a resolver says of a request.
type Identity struct {
	// Key is whose quota is used, such as [UserKey]; empty is the client's
	// address, typed apart from [ByIP].
	Key Partition
	// Tier is the name of the client's tier.
	Tier string
}

// tierSet is a Tiers as a Limiter works with it.
type tierSet struct {
	resolve  func(*Request) (Identity, error)
	limits   map[string]*PolicyLimit
	standard *PolicyLimit
}

func compileTiers(p *policy) (*tierSet, error) {
	t := p.Tiers
	switch {
	case t.Resolve == nil:
		return nil, errors.New("Tiers.Resolve is nil: give a function that says who a request comes from")
	case len(t.Limits) == 0:
		return nil, errors.New("Tiers.Limits is empty: give a limit for at least the default tier")
	}
	set := &tierSet{resolve: t.Resolve, limits: make(map[string]*PolicyLimit, len(t.Limits))}
	for _, name := range slices.Sorted(maps.Keys(t.Limits)) {
		if err := p.validLimit(t.Limits[name]); err != nil {
			return nil, fmt.Errorf("Tiers.Limits[%q]: %w", name, trimPrefix(err))
		}
		limit := p.limitOf(name, t.Limits[name])
		set.limits[name] = &limit
	}
	if set.standard = set.limits[t.Default]; set.standard == nil {
		return nil, fmt.Errorf("Tiers.Default %q is not in Tiers.Limits: name one of its tiers", t.Default)
	}
	return set, nil
}

// of returns the limit of a tier; an unknown one is the default.
func (t *tierSet) of(tier string) *PolicyLimit {
	if limit := t.limits[tier]; limit != nil {
		return limit
	}
	return t.standard
}

func (t *tierSet) all() []*PolicyLimit {
	all := make([]*PolicyLimit, 0, len(t.limits))
	for _, name := range slices.Sorted(maps.Keys(t.limits)) {
		all = append(all, t.limits[name])
	}
	return all
}
