package ratelimit

import (
	"context"
	"math"
	"reflect"
	"time"
)

// Never is the RetryAfter of a request that can never pass because its cost is
// larger than the limit's capacity. It is the longest of all waits.
const Never = time.Duration(math.MaxInt64)

// Mode says how a store treats one [Charge] of a Take.
type Mode uint8

const (
	// ModeEnforce vetoes the request if the charge does not fit, and is taken if
	// the request is admitted.
	ModeEnforce Mode = iota
	// ModeShadow never vetoes; it is taken if it fits and the request is admitted.
	ModeShadow
	// ModePeek answers for its cost and writes nothing.
	ModePeek
	// ModeForce never vetoes and is taken, if the request is admitted, even past
	// the limit: the key is then in debt. Its Result is always allowed.
	ModeForce
	// ModeOnDenial never vetoes and is taken, even past the limit, only if an
	// enforcing charge of the same Take denies: the one write a denial may
	// make (a penalty's strike). Else it answers as a look would, with Allowed
	// true.
	ModeOnDenial
	// ModePenalty stands behind the charge it guards. It vetoes, whatever its
	// cost, while the key is in debt or blocked. If none of the Take does, and
	// the charge right before it does not fit, it is taken as a strike, even
	// past the limit. Its Result is what a cost of 0 would be answered after
	// all that. As the first charge it never strikes. A store that can't tell
	// whether the charge before it really does not fit doesn't strike either.
	ModePenalty
)

// Charge is what a [Limiter] asks of a [Store]: one key, one limit, one cost,
// one mode.
type Charge struct {
	// Policy and Partition name the key together with the limit's algorithm
	// and window; see [Charge.Key].
	Policy    string
	Partition Partition
	// Limit is valid (see [Limit.Validate]) and not [Unlimited].
	Limit Limit
	// Cost is how many units to take. 0 looks: it is admitted unless the key
	// is in debt and changes nothing. Negative is an error.
	Cost int64
	// Mode says whether the charge can veto and when it is taken.
	Mode Mode
	// Settles says that the charge may be changed by [Store.Adjust] once its
	// request has ended, so that other requests may pass before their
	// RetryAfter: a denial is not to be remembered.
	Settles bool
}

// Key returns the key the charge is counted under.
func (c *Charge) Key() Key {
	return Key{Policy: c.Policy, Partition: c.Partition, Algorithm: c.Limit.Algorithm, Window: c.Limit.Window}
}

// Key names one stored count. Tier and quota are no part of it: a client whose
// quota changes keeps what it has used. (Between its last request under the old
// quota and the first one under the new, a bucket may drain at either.) A changed
// algorithm or window is another key and starts afresh.
type Key struct {
	Policy    string
	Partition Partition
	Algorithm Algorithm
	Window    time.Duration
}

// Result is a store's answer to one [Charge].
type Result struct {
	// Allowed is whether the charge fits. A Take is admitted if all its
	// enforcing charges are allowed.
	Allowed bool
	// Limit is the limit's [Limit.Capacity].
	Limit int64
	// Remaining is what is left after this decision, rounded down, never
	// below 0; on a denial what is left untouched.
	Remaining int64
	// RetryAfter is 0 if allowed, [Never] if the cost is above the capacity,
	// else the smallest whole number of microseconds after which the same
	// request passes if nothing else arrives.
	RetryAfter time.Duration
	// ResetAfter is the smallest whole number of microseconds after which the
	// key is as good as new.
	ResetAfter time.Duration
	// Delay is how long an admitted request of a leaky bucket has to be held
	// back before it goes on.
	Delay time.Duration
	// At is the store's clock at the decision, in microseconds since the Unix
	// epoch. A clock that went back is read as the last instant it is committed
	// to, from which the waits count.
	At int64
}

// Adjustment changes a charge afterwards: what Take charged as Cost under Key
// at At becomes NewCost (0: given back).
type Adjustment struct {
	Policy    string
	Partition Partition
	Limit     Limit
	// At is the [Result.At] of the Take that charged.
	At int64
	// Cost is what was charged, NewCost what it is to become. Neither is
	// negative.
	Cost, NewCost int64
}

// Key returns the key the adjustment is for.
func (a *Adjustment) Key() Key {
	return Key{Policy: a.Policy, Partition: a.Partition, Algorithm: a.Limit.Algorithm, Window: a.Limit.Window}
}

// Forgetful is a [Store] that says that it keeps nothing of the text of a
// [Partition] when Take has returned, as all should. Its partitions may lie in memory
// that is used again for the next request, which saves an allocation for each.
// Forgets returns the Store itself: a Store made of a forgetful one by embedding
// it, which may well keep partitions, is thereby not taken for one.
type Forgetful interface {
	Store
	Forgets() Store
}

// forgets reports whether a store is forgetful.
func forgets(store Store) bool {
	f, ok := store.(Forgetful)
	return ok && reflect.TypeOf(store).Comparable() && f.Forgets() == store
}

// Store keeps the counts behind a [Limiter]. It must be safe for concurrent
// use, hold no lock across I/O or a caller's callback, and keep no reference
// to its arguments after it has returned, nor to the memory of their texts: a
// partition that becomes a map's key is to be cloned. An error means the store failed,
// never "denied"; if ctx has ended, the error is ctx's and nothing is charged
// unless it was already under way. storetest.Run proves an implementation.
type Store interface {
	// Take decides all charges of one request as one: if every enforcing
	// charge fits, they are all taken, else none is. results has the length
	// of charges and is filled in the same order; its content is undefined
	// after an error. Charges on the same key are decided in order, one after
	// the other: each asks for its cost and those taken before it together, so
	// that its RetryAfter is that of the whole. A wrong length of results, a limit that is invalid or Unlimited,
	// an unknown mode and a negative cost are errors, and nothing is charged then.
	// If the request is denied, a charge that would have been
	// taken answers as a look (a cost of 0) would, with Allowed true.
	// (ModePenalty always answers as a look, which may be denied.)
	//
	// Concurrent callers, on any number of processes, never admit more than a
	// limit allows.
	Take(ctx context.Context, charges []Charge, results []Result) error

	// Adjust changes what was charged, each adjustment by itself. Downward, by
	// n: fixed window: only while At's window is current; sliding window: in
	// the counter (current or previous) of At's window, later nothing;
	// sliding log: in the entry of At while it is in view; buckets: the debt
	// falls by max(0, n - what has drained since At). Never below zero. Upward
	// it is taken in the same place (for buckets in full) and may leave debt.
	Adjust(ctx context.Context, adjustments []Adjustment) error

	// Reset removes everything stored under exactly these keys.
	Reset(ctx context.Context, keys []Key) error
}
