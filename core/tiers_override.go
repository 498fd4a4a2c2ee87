package ratelimit

import (
	"fmt"
	"hash/maphash"

	"github.com/go-floodgate/floodgate/core/internal/secondchance"
)

// maxOverrides is how many different overrides a policy remembers. Beyond it
// they are made again, which costs a few allocations.
const maxOverrides = 4096

// overrides are what a policy has made of the limits of single identities.
type overrides struct {
	seed maphash.Seed
	made *secondchance.Map[override, overridden]
}

// override is what an identity has instead of its tier's limit.
type override struct {
	tier  *PolicyLimit
	limit Limit
	times int64
}

// overridden is what became of it.
type overridden struct {
	limit *PolicyLimit
	err   error
}

func newOverrides() overrides {
	return overrides{seed: maphash.MakeSeed(), made: secondchance.New[override, overridden](maxOverrides)}
}

// overrides reports whether the identity has a limit of its own.
func (who *Identity) overrides() bool {
	return who.Limit != Limit{} || who.Times != 0 && who.Times != 1
}

// of returns what applies to an identity that overrides the limit of its
// tier.
func (o *overrides) of(p *policy, tier *PolicyLimit, who *Identity) overridden {
	key := override{tier: tier, limit: who.Limit, times: who.Times}
	hash := maphash.Comparable(o.seed, key)
	own, ok := o.made.Get(hash, key)
	if !ok {
		own = p.override(key)
		o.made.Put(hash, key, own, 0)
	}
	return own
}

func (p *policy) override(o override) overridden {
	limit := o.limit
	if limit == (Limit{}) {
		limit = o.tier.Limit
	}
	if o.times != 0 {
		limit = limit.Times(o.times)
	}
	if err := p.validLimit(limit); err != nil {
		return overridden{err: fmt.Errorf("Identity.Limit %v, Times %d: %w", o.limit, o.times, trimPrefix(err))}
	}
	made := p.limitOf(o.tier.Tier, limit)
	p.share(&made)
	return overridden{limit: &made}
}

// appendTo appends the limits that are remembered.
func (o *overrides) appendTo(all []*PolicyLimit) []*PolicyLimit {
	for own := range o.made.Values() {
		if own.err == nil {
			all = append(all, own.limit)
		}
	}
	return all
}
