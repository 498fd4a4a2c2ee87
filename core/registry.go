package ratelimit

import "sync"

// Registry remembers which limit a policy name stands for on one store. A
// store embeds it, so that [New] can report the same name used with another
// limit: the two would share a count. The zero value is ready; it is safe for
// concurrent use.
type Registry struct {
	mu     sync.Mutex
	limits map[string]string
}

// Register notes that policy is used with limits (their text form) and returns
// the limits it was first registered with if they differ, else "".
func (r *Registry) Register(policy, limits string) (earlier string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if first, ok := r.limits[policy]; ok {
		if first != limits {
			return first
		}
		return ""
	}
	if r.limits == nil {
		r.limits = make(map[string]string)
	}
	r.limits[policy] = limits
	return ""
}
