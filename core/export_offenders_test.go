package ratelimit

import "time"

// TopAt is Top at another time.
func (o *Offenders) TopAt(now time.Time, policy string, n int) []Offender {
	return o.topAt(now, policy, n)
}

// Hold is like a refusal of the policy being counted until it is released.
func (o *Offenders) Hold(policy string) (release func()) {
	o.policies[policy].mu.Lock()
	return o.policies[policy].mu.Unlock
}
