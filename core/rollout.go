package ratelimit

import (
	"fmt"
	"math/bits"
)

// A policy that is enforced for a percentage of its keys has, for each of its
// limits, the same limit in shadow for the other keys.

// validRollout reports a percentage that is none.
func (p *policy) validRollout() error {
	if p.EnforcedPercent < 0 || p.EnforcedPercent > 100 {
		return fmt.Errorf("Policy.EnforcedPercent %d is out of range: use 1 to 100, or Shadow to enforce it for nobody", p.EnforcedPercent)
	}
	return nil
}

// partly reports whether the policy is enforced for some keys only.
func (p *policy) partly() bool {
	return !p.Shadow && p.EnforcedPercent > 0 && p.EnforcedPercent < 100
}

// inShadow is a limit of the policy for the keys that it isn't enforced for,
// nil if there are none.
func (p *policy) inShadow(of PolicyLimit) *PolicyLimit {
	if !p.partly() {
		return nil
	}
	of.Shadow, of.advert = true, nil
	return &of
}

// forKey returns the limit as it applies to a key.
func forKey[K ~string | ~[]byte](p *policy, limit *PolicyLimit, key K) *PolicyLimit {
	if limit.watched == nil || percentile(p.Name, key) < p.EnforcedPercent {
		return limit
	}
	return limit.watched
}

// percentile is where among all keys of a policy a key stands, 0 to 99, each of
// them equally likely. It depends on nothing else, so that a key has the same
// one in every process and for ever, and those that a policy is enforced for at
// some percentage are among those of every higher one.
//
// It is FNV-1a of 64 bits over the name, a zero byte and the key
// (draft-eastlake-fnv), mixed once more because FNV's high bits follow the last
// bytes too closely: by the finaliser of MurmurHash3 (fmix64).
func percentile[K ~string | ~[]byte](policy string, key K) int {
	const prime = 1099511628211
	hash := uint64(14695981039346656037)
	for i := range len(policy) {
		hash = (hash ^ uint64(policy[i])) * prime
	}
	hash *= prime // the zero byte
	for i := range len(key) {
		hash = (hash ^ uint64(key[i])) * prime
	}
	hash = (hash ^ hash>>33) * 0xff51afd7ed558ccd
	hash = (hash ^ hash>>33) * 0xc4ceb9fe1a85ec53
	hash ^= hash >> 33
	share, _ := bits.Mul64(hash, 100)
	return int(share)
}
