package memory

import (
	"context"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/memstore"
)

// Names of Floodgate's rows in other set-ups than a token bucket.
const (
	FixedWindow   = "Floodgate, fixed window"
	SlidingWindow = "Floodgate, sliding window"
	LeakyBucket   = "Floodgate, leaky bucket"
	SlidingLog    = "Floodgate, sliding log"
	FullerLog     = "Floodgate, sliding log of 8 entries"
	ThreePolicies = "Floodgate, three policies"
	WholeDecision = "Floodgate, Limiter.Allow"
	CoarseClock   = "Floodgate, coarse clock"
	Preallocated  = "Floodgate, preallocated"
	GrowingBucket = "Floodgate, growing"
	GrowingLog    = "Floodgate, sliding log, growing"
)

// Algorithms are the rows that each show an algorithm.
func Algorithms() []string {
	return []string{Ours, FixedWindow, SlidingWindow, LeakyBucket, SlidingLog}
}

// entries is how full the fuller log is.
const entries = 8

func variants() []Contender {
	return []Contender{
		{Name: FixedWindow, Hot: true, Heap: true, New: floodgate(fixedWindow, 1)},
		{Name: SlidingWindow, Hot: true, Heap: true, New: floodgate(slidingWindow, 1)},
		{Name: LeakyBucket, Hot: true, Heap: true, New: floodgate(leakyBucket, 1)},
		{Name: SlidingLog, Hot: true, Heap: true, New: floodgate(slidingLog, 1)},
		{Name: FullerLog, Heap: true, New: floodgate(slidingLog, 1), Entries: entries},
		{Name: CoarseClock, Hot: true, New: coarse},
		{Name: Preallocated, Fresh: true, Heap: true, New: preallocated},
		{Name: ThreePolicies, Hot: true, New: floodgate(tokenBucket, 3)},
		{Name: WholeDecision, Hot: true, New: whole},
		{Name: GrowingBucket, New: growing(tokenBucket), Heap: true, Growing: true},
		{Name: GrowingLog, New: growing(slidingLog), Heap: true, Growing: true},
	}
}

func tokenBucket(l Limit) ratelimit.Limit   { return ratelimit.TokenBucket(l.Quota, l.Window, l.Quota) }
func fixedWindow(l Limit) ratelimit.Limit   { return ratelimit.FixedWindow(l.Quota, l.Window) }
func slidingWindow(l Limit) ratelimit.Limit { return ratelimit.SlidingWindow(l.Quota, l.Window) }

// leakyBucket has a queue for all but one unit of the quota, which all pass at
// once: that a request would wait is not the store's business.
func leakyBucket(l Limit) ratelimit.Limit {
	return ratelimit.LeakyBucket(l.Quota, l.Window, l.Quota-1)
}

// slidingLog has a window of a millisecond if a key is asked for more often than
// a log can remember: what was asked before then leaves it all the time.
func slidingLog(l Limit) ratelimit.Limit {
	if l.Quota > ratelimit.MaxLogQuota {
		return ratelimit.SlidingLog(ratelimit.MaxLogQuota, ratelimit.MinWindow)
	}
	return ratelimit.SlidingLog(l.Quota, l.Window)
}

// floodgate counts in a memstore that holds as many keys as there will be, under
// so many policies.
func floodgate(limit func(Limit) ratelimit.Limit, policies int) func(Limit, int) (Store, error) {
	return func(l Limit, keys int) (Store, error) {
		return taking(memstore.New(memstore.WithMaxKeys(max(keys, 1024))), limit(l), policies), nil
	}
}

// preallocated has taken the memory for all keys beforehand.
func preallocated(l Limit, keys int) (Store, error) {
	return taking(memstore.New(memstore.WithMaxKeys(max(keys, 1024)), memstore.WithPreallocation()), tokenBucket(l), 1), nil
}

// coarse does not read the clock for what it can be sure of without.
func coarse(l Limit, keys int) (Store, error) {
	return taking(memstore.New(memstore.WithMaxKeys(max(keys, 1024)), memstore.WithCoarseClock()), tokenBucket(l), 1), nil
}

// growing has room for four times as many keys as there will be.
func growing(limit func(Limit) ratelimit.Limit) func(Limit, int) (Store, error) {
	return func(l Limit, keys int) (Store, error) {
		return taking(memstore.New(memstore.WithMaxKeys(4*max(keys, 1024))), limit(l), 1), nil
	}
}

// taking asks the store itself, as peers' stores are asked.
func taking(store *memstore.Store, limit ratelimit.Limit, policies int) Store {
	names := []string{"first", "second", "third"}
	return Store{Decide: func() Decide {
		ctx := context.Background()
		charges, results := make([]ratelimit.Charge, policies), make([]ratelimit.Result, policies)
		for i := range charges {
			charges[i] = ratelimit.Charge{Policy: names[i], Limit: limit, Cost: 1}
		}
		if policies == 1 {
			return func(key string) bool {
				charges[0].Partition = ratelimit.Partition(key)
				return store.Take(ctx, charges, results) == nil && results[0].Allowed
			}
		}
		return func(key string) bool {
			for i := range charges {
				charges[i].Partition = ratelimit.Partition(key)
			}
			if err := store.Take(ctx, charges, results); err != nil {
				return false
			}
			for i := range results {
				if !results[i].Allowed {
					return false
				}
			}
			return true
		}
	}}
}

// whole asks a Limiter, which adds the decision and who binds it.
func whole(l Limit, keys int) (Store, error) {
	api, err := ratelimit.New(memstore.New(memstore.WithMaxKeys(max(keys, 1024))), ratelimit.Policy{Name: "first", Limit: tokenBucket(l)})
	if err != nil {
		return Store{}, err
	}
	ctx := context.Background()
	return shared(func(key string) bool {
		d := api.Allow(ctx, ratelimit.Partition(key))
		return d.Allowed
	}), nil
}
