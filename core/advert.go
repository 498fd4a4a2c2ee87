package ratelimit

// advert is what never changes about how a policy is advertised.
type advert struct{}
