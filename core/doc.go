// Package ratelimit is the core of Floodgate: it decides. Limits and their
// text form, partition keys, policies, tiers, the limiter, and the header
// fields and bodies of HTTP answers are here; a store keeps the counts
// (memstore, redisstore) and a thin adapter per framework (httplimit, chilimit,
// ginlimit, echolimit, fiberlimit) translates.
//
//	store := memstore.New()
//	api, err := ratelimit.New(store,
//		ratelimit.Policy{Name: "per-ip", Key: ratelimit.ByIP(), Limit: ratelimit.PerMinute(100)},
//		ratelimit.TrustProxies("10.0.0.0/8"),
//	)
//	...
//	r.Use(ginlimit.New(api))
//
// # Guarantees
//
// All policies of a request are decided as one: each is charged, or none is.
// No request more than a limit allows is admitted, whatever the concurrency. A
// denial changes nothing. What happens when the store fails is each policy's
// choice ([FailOpen], [FailClosed], [FailLocal]) and always visible.
//
// A [Limiter] is safe for concurrent use.
package ratelimit
