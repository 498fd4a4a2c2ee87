package ratelimit

import "time"

// Reason says why a [Decision] is what it is. Its String is stable: it is
// meant for logs and metric labels.
type Reason uint8

const (
	// ReasonWithinLimits: every policy that applies admits the request.
	ReasonWithinLimits Reason = iota
	// ReasonNoPolicy: no policy applies to the request.
	ReasonNoPolicy
	// ReasonExempt: the request is exempt or was skipped.
	ReasonExempt
	// ReasonRateLimited: at least one policy is violated.
	ReasonRateLimited
	// ReasonFailedOpen: the store failed and the policies let such requests
	// pass ([FailOpen]).
	ReasonFailedOpen
	// ReasonFailedClosed: the store failed and a policy refuses such requests
	// ([FailClosed]).
	ReasonFailedClosed
	// ReasonBlocked: the [Penalty] of the binding policy blocks the client,
	// since before or because of this request.
	ReasonBlocked
	// ReasonCanceled: the request's own context ended before the decision, or
	// before its turn came. It is neither a denial nor a failure.
	ReasonCanceled
	// ReasonDenyListed: the client is on a list given with [DenyList]. If the
	// limiter is in shadow as a whole, the request is allowed all the same.
	ReasonDenyListed
)

var reasonNames = [...]string{
	ReasonWithinLimits: "within_limits",
	ReasonNoPolicy:     "no_policy",
	ReasonExempt:       "exempt",
	ReasonRateLimited:  "rate_limited",
	ReasonFailedOpen:   "failed_open",
	ReasonFailedClosed: "failed_closed",
	ReasonBlocked:      "blocked",
	ReasonCanceled:     "canceled",
	ReasonDenyListed:   "deny_listed",
}

// String returns a stable snake_case name.
func (r Reason) String() string {
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return "unknown"
}

// Decision is what a [Limiter] says of one request.
type Decision struct {
	// Allowed is whether the request may go on (after Delay).
	Allowed bool
	// Reason says why.
	Reason Reason
	// Policy is the name of the binding policy: on a denial the violated one
	// with the longest RetryAfter, else the one with the smallest share left,
	// ties in the order given. Empty if no policy binds: none applies, all
	// that apply are unlimited, hidden or in shadow, or the store failed.
	Policy string
	// Tier is the binding policy's tier, empty if it has none.
	Tier string
	// Result is the binding policy's; its zero value if there is none. On a
	// denial by a hidden policy it is that policy's.
	Result Result
	// RetryAfter is how long to wait before the same request would pass: the
	// longest of all violated policies, [Never] if it cannot, 0 if allowed.
	RetryAfter time.Duration
	// Delay is how long an allowed request is to be held back (leaky bucket):
	// the longest of all policies.
	Delay time.Duration
	// Degraded is whether the decision was made without the limiter's store:
	// by the failure policy alone or by the fallback store.
	Degraded bool
	// Err is the store's error if Degraded, or the context's if the reason is
	// [ReasonCanceled]. It is for logs, never for clients.
	Err error

	// The first few results lie within the Decision, so that making one
	// allocates nothing.
	inline [inlinePolicies]PolicyResult
	count  int
	more   []PolicyResult
}

// inlinePolicies is how many policies of one request need no allocation.
const inlinePolicies = 4

// PolicyLimit is what is known of a policy's limit before any request. It is
// made by [New] for every policy and, if it has tiers, every tier; for an
// [Identity] with a limit of its own it is made when first needed, and may be
// made again.
type PolicyLimit struct {
	// Policy is the policy's name, Tier the tier's or empty.
	Policy, Tier string
	// Endpoint is the entry of the policy's Endpoints that the limit is of, in
	// one spelling for all frameworks ("POST /users/{id}"); empty for the
	// policy's default limit.
	Endpoint string
	// Limit is the limit that is applied.
	Limit Limit
	// Shadow is whether the policy only watches: it never refuses.
	Shadow bool
	// Hidden is whether the policy is kept from clients.
	Hidden bool

	// part is what the partitions that are counted under the limit end in.
	part   string
	advert *advert
	// watched is the same limit for the keys that the policy isn't enforced
	// for, if there are any.
	watched *PolicyLimit
	// local is what applies while the fallback store decides, if it may.
	local *PolicyLimit
}

// PolicyResult is one policy's part in a [Decision].
type PolicyResult struct {
	*PolicyLimit
	// Cost is what the request was charged, or would have been.
	Cost int64
	// Result is the store's answer.
	Result Result
}

// Violated reports whether the policy refused the request (or, in shadow,
// would have).
func (p *PolicyResult) Violated() bool { return !p.Result.Allowed }

// Policies returns the result of every policy that was decided, in the order
// given to [New]. If the store failed open it has the policies that would have
// applied, with a Result that says no more than Allowed.
func (d *Decision) Policies() []PolicyResult {
	if d.more != nil {
		return d.more
	}
	return d.inline[:d.count]
}

// add appends the result of a charge under a limit.
func (d *Decision) add(limit *PolicyLimit, cost int64, result *Result) {
	if d.more != nil || d.count == inlinePolicies {
		if d.more == nil {
			d.more = d.inline[:d.count:d.count]
		}
		d.more = append(d.more, PolicyResult{PolicyLimit: limit, Cost: cost, Result: *result})
		return
	}
	p := &d.inline[d.count]
	if p.PolicyLimit != limit { // see work.reset
		p.PolicyLimit = limit
	}
	p.Cost = cost
	p.Result.set(result)
	d.count++
}

// set is an assignment, field by field: a processor that has just written them
// one by one has to wait before it can read two of them at once, as a copy of
// the whole does.
func (r *Result) set(from *Result) {
	r.Allowed = from.Allowed
	r.Limit = from.Limit
	r.Remaining = from.Remaining
	r.RetryAfter = from.RetryAfter
	r.ResetAfter = from.ResetAfter
	r.Delay = from.Delay
	r.At = from.At
}

// reset makes d a zero Decision, but for what work.reset leaves and
// work.bind sees to: its Policy and Tier, and the results beyond count.
func (d *Decision) reset() {
	d.count, d.Allowed, d.Reason, d.Degraded = 0, false, 0, false
	d.Result, d.RetryAfter, d.Delay = Result{}, 0, 0
	if d.Err != nil {
		d.Err = nil
	}
	if d.more != nil {
		d.more = nil
	}
}

// alone is d without what is left of others beyond count.
func (d *Decision) alone() Decision {
	own := *d
	clear(own.inline[own.count:])
	return own
}

// elapse lets d pass for the results, so that what a client is told is right
// when it is told. What others have charged meanwhile is not known: Remaining
// stays.
func (d *Decision) elapse(passed time.Duration) {
	d.Result.elapse(passed)
	policies := d.Policies()
	for i := range policies {
		policies[i].Result.elapse(passed)
	}
}

func (r *Result) elapse(passed time.Duration) {
	if r.At == 0 {
		return
	}
	r.At += passed.Microseconds()
	r.ResetAfter = max(0, r.ResetAfter-passed)
}
