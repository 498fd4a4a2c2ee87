package ratelimit

import (
	"strings"
	"time"

	"github.com/go-floodgate/floodgate/core/internal/answers"
)

// tierCache is what a resolver answered.
type tierCache = answers.Cache[*Request, Identity]

// sharedCache returns the one cache of t.
func (t *Tiers) sharedCache() *tierCache {
	if made := t.cache.Load(); made != nil {
		return made
	}
	t.cache.CompareAndSwap(nil, t.newCache())
	return t.cache.Load()
}

func (t *Tiers) newCache() *tierCache {
	names := make(map[string]struct{}, len(t.Limits)+len(t.Exempt))
	for name := range t.Limits {
		names[name] = struct{}{}
	}
	for _, name := range t.Exempt {
		names[name] = struct{}{}
	}
	delete(names, "")
	age, start := orDefault(t.MaxAge, defaultTierAge), time.Now()
	return answers.New(answers.Config[*Request, Identity]{
		Ask: func(r *Request) (Identity, error) {
			who, err := t.Resolve(r)
			// What is kept must not keep more: a token, say, that the tier's
			// name was cut out of.
			who.Key, who.Tier = Partition(strings.Clone(string(who.Key))), strings.Clone(who.Tier)
			return who, err
		},
		Subject: func(who *Identity) string { return string(who.Key) },
		Known: func(who *Identity) bool {
			_, named := names[who.Tier]
			return who.Key != "" && (named || who.overrides())
		},
		MaxKnown: orDefault(t.MaxKnown, defaultTierKnown), MaxUnknown: orDefault(t.MaxUnknown, defaultTierUnknown),
		MaxAge: age, MaxStale: maxTierAge, Pause: min(age, tierPause), MaxWait: tierWait,
		Now: func() time.Duration { return time.Since(start) },
	})
}

func orDefault[N int | time.Duration](n, standard N) N {
	if n == 0 {
		return standard
	}
	return n
}

// Forget drops what is cached about an identity, for when its tier has
// changed: the next request of every key that was resolved to it calls Resolve.
// What the identity has used stays. identity is an [Identity].Key, or what
// [Tiers.By] makes of a request, such as [HeaderKey].
//
// A call of Resolve that is under way may have read what was there before: its
// answer is used for the requests that came before Forget only. A
// forgotten answer is not used again, not even while Resolve fails.
//
// It is cheap, whatever is cached: it may be called for every change of a
// plan. Each process has a cache of its own: tell them all, or let the answers
// age (MaxAge).
func (t *Tiers) Forget(identity Partition) {
	if cache := t.cache.Load(); cache != nil && identity != "" {
		cache.Forget(string(identity))
	}
}
