package ratelimit

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"
)

// Tiers gives each client the limit of its plan. One look-up says who a request
// comes from and which tier that client has.
//
// A Tiers may be given to several policies and limiters, which then share what
// the resolver answered. Its fields must not be changed once it is given to
// [New].
type Tiers struct {
	// Resolve maps a request to an identity. It may use the Request only until
	// it returns, and is called on the request's own goroutine. Give what it
	// looks up a short timeout: the request waits for it.
	//
	// On an error the last answer is used again if it is cached and at most 24
	// hours old; without one the request is counted by client IP under
	// Default. Resolve is not called again for the same key for a second (or
	// MaxAge if that is shorter). If the request's own context has ended as
	// well, that is its end and no failure. A panic is the request's own.
	Resolve func(*Request) (Identity, error)
	// By is what Resolve goes by, all of it: two requests with the same key
	// get the same answer. Answers are then cached under that key, such as
	// ByHeader("X-API-Key") (of which only a hash is kept) or ByUser(), and
	// requests of one key that come together make one call. A request for
	// which By leaves the policy out (ByUserOnly) is not resolved and the
	// policy is left out.
	//
	// With the zero KeyBuilder, which here is not ByIP, nothing is cached and
	// Resolve is called for every request.
	By KeyBuilder
	// Limits is the limit of each tier; [Unlimited] and a quota of 0 (blocked)
	// are limits as well.
	Limits map[string]Limit
	// Default is the tier of an identity whose Tier is empty or neither in
	// Limits nor in Exempt. It is one of Limits.
	Default string
	// Exempt lists tiers that the policy is not for, as Policy.Exempt does for
	// requests: they are neither charged nor told about it.
	Exempt []string

	// MaxAge is how long a cached answer is used, counted from the call: 0 is
	// 30 seconds, at most 24 hours. See [Tiers.Forget] for what can't wait.
	MaxAge time.Duration
	// MaxKnown is how many answers about known clients are cached: those with
	// a Key and either the name of a tier in Limits or Exempt or a limit of
	// their own. 0 is 100,000. Beyond it those go that have not been asked for
	// lately.
	MaxKnown int
	// MaxUnknown is the same for all other answers and for failures: 0 is
	// 10,000. They have a place of their own, so that a flood of made-up keys
	// never pushes out known clients. So name the tier of those you know,
	// even if it is the default one.
	MaxUnknown int

	cache atomic.Pointer[tierCache]
}

// Identity is what a resolver says of a request.
type Identity struct {
	// Key is whose quota is used, such as [UserKey]; empty is the client's
	// address, typed apart from [ByIP].
	Key Partition
	// Tier is the name of the client's tier.
	Tier string
	// Limit is what this client has instead of the tier's limit; the zero
	// Limit leaves that as it is. With another algorithm or window it is
	// another count, as it is with tiers. An exempt tier stays exempt.
	Limit Limit
	// Times multiplies the quota and burst of the limit, see [Limit.Times]: 5
	// is for the client who has bought the plan five times. 0 is once.
	//
	// A Limit or product that is not valid is reported, and the tier's limit
	// applies.
	Times int64
}

// What Tiers has by default, and what is not for users to set.
const (
	defaultTierAge     = 30 * time.Second
	defaultTierKnown   = 100_000
	defaultTierUnknown = 10_000
	// maxTierAge bounds how long an answer is used, be it while the resolver
	// fails.
	maxTierAge = 24 * time.Hour
	// tierPause is how long a failing resolver is left alone, for one key.
	tierPause = time.Second
	// tierWait is how long a request waits for another's call.
	tierWait = 5 * time.Second
)

// tierSet is a Tiers as a policy works with it.
type tierSet struct {
	resolve func(*Request) (Identity, error)
	// cache is nil if answers are not cached.
	cache     *tierCache
	limits    map[string]*PolicyLimit
	standard  *PolicyLimit
	exempt    map[string]struct{}
	overrides overrides
}

func compileTiers(p *policy) (*tierSet, error) {
	t := p.Tiers
	if err := t.validate(); err != nil {
		return nil, err
	}
	set := &tierSet{resolve: t.Resolve, limits: make(map[string]*PolicyLimit, len(t.Limits)), exempt: make(map[string]struct{}, len(t.Exempt))}
	for _, name := range slices.Sorted(maps.Keys(t.Limits)) {
		if err := p.validLimit(t.Limits[name]); err != nil {
			return nil, fmt.Errorf("Tiers.Limits[%q]: %w", name, trimPrefix(err))
		}
		limit := p.limitOf(name, t.Limits[name])
		set.limits[name] = &limit
	}
	for _, name := range t.Exempt {
		set.exempt[name] = struct{}{}
	}
	set.standard = set.limits[t.Default]
	set.overrides = newOverrides()
	if t.cached() {
		set.cache = t.sharedCache()
	}
	return set, nil
}

func (t *Tiers) validate() error {
	switch {
	case t.Resolve == nil:
		return errors.New("Tiers.Resolve is nil: give a function that says who a request comes from")
	case t.By.err != nil:
		return fmt.Errorf("Tiers.By: %w", trimPrefix(t.By.err))
	case len(t.Limits) == 0:
		return errors.New("Tiers.Limits is empty: give a limit for at least the default tier")
	case !t.cached() && (t.MaxAge != 0 || t.MaxKnown != 0 || t.MaxUnknown != 0):
		return errors.New("Tiers.MaxAge, MaxKnown and MaxUnknown are about cached answers: set Tiers.By to what the resolver goes by, such as ratelimit.ByUser()")
	case t.MaxAge < 0 || t.MaxAge > maxTierAge:
		return fmt.Errorf("Tiers.MaxAge %v is out of range: use up to %v, 0 is %v", t.MaxAge, maxTierAge, defaultTierAge)
	case t.MaxKnown < 0:
		return fmt.Errorf("Tiers.MaxKnown %d is negative: use 1 or more, 0 is %d", t.MaxKnown, defaultTierKnown)
	case t.MaxUnknown < 0:
		return fmt.Errorf("Tiers.MaxUnknown %d is negative: use 1 or more, 0 is %d", t.MaxUnknown, defaultTierUnknown)
	}
	for _, name := range t.Exempt {
		if _, both := t.Limits[name]; both {
			return fmt.Errorf("Tiers.Exempt and Tiers.Limits both have %q: leave one out", name)
		}
		if name == "" || name == t.Default {
			return fmt.Errorf("Tiers.Exempt has %q, which is everyone who is not known: use a tier of its own", name)
		}
	}
	if _, ok := t.Limits[t.Default]; !ok {
		return fmt.Errorf("Tiers.Default %q is not in Tiers.Limits: name one of its tiers", t.Default)
	}
	return nil
}

func (t *Tiers) cached() bool { return len(t.By.parts) > 0 }

// all returns every limit that the tiers and the overrides of late apply.
func (t *tierSet) all() []*PolicyLimit {
	all := make([]*PolicyLimit, 0, len(t.limits))
	for _, name := range slices.Sorted(maps.Keys(t.limits)) {
		all = append(all, t.limits[name])
	}
	return t.overrides.appendTo(all)
}
