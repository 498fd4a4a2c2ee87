package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math/bits"
	"sync"
	"time"
)

// Offenders finds the keys that are refused most, for each policy and each of
// its windows, and tells of those that are refused many times more often than
// their limit admits, so that a firewall or a [DenyList] can be fed. It is an
// [Option] of [New]:
//
//	offenders := &ratelimit.Offenders{Notify: block}
//	api, err := ratelimit.New(store, policies, offenders)
//	...
//	for _, offender := range offenders.Top("per-ip", 10) {
//
// What counts is a request that a policy refuses, or its penalty, whatever the
// request costs; but not what only a policy in shadow, a failed store or a deny
// list has to say, nor what [Limiter.Peek] asks. One Offenders may belong to
// several limiters, whose policies of the same name are then counted as one.
//
// Memory is bounded: Keys counters for each policy's window and the one before
// it. So counts are estimates, by the Space-Saving algorithm: of n refusals in
// a window, every key with more than n/Keys is found, and no count is off by
// more than n/Keys. A refusal that arrives while another one of its policy is
// being counted doesn't wait: if it is of a key that was just counted it is
// added later, else it is left out ([Offenders.Missed]).
//
// The zero Offenders is ready; it must not be changed or copied once it was
// given to [New]. It is safe for concurrent use.
type Offenders struct {
	// Notify, if set, is called for a key that was certainly refused Multiple
	// times as often in a window as its limit admits in it: once for each key
	// and window, within the request and under no lock. Within one window this
	// holds for the first Keys offenders.
	Notify func(context.Context, Offender)
	// Multiple is how many times the limit that is, 1 to 1,000,000; 0 is 100.
	Multiple int64
	// Keys is how many keys are counted for each policy, 16 to 65,536; 0 is
	// 512.
	Keys int
	// ClearText gives the keys themselves, in [Offender.Partition]. They may be
	// addresses or names of users.
	ClearText bool
	// Pseudonyms make [Offender.Key]; nil has a secret of its own.
	Pseudonyms *Pseudonyms

	once       sync.Once
	seed       maphash.Seed
	pseudonyms *Pseudonyms

	mu       sync.RWMutex
	policies map[string]*offences
}

// Offender is a key that was refused often.
type Offender struct {
	// Policy is the name of the policy that refused.
	Policy string
	// Key stands for the key: see [Pseudonyms].
	Key string
	// Partition is the key, with ClearText only. It is that of the policy, which
	// for an entry of its Endpoints ends in that.
	Partition Partition
	// Refusals is how often the key was refused at least, and Unsure how many
	// times more at most.
	Refusals, Unsure int64
	// Since is when the window began, Window how long it is: the policy's, the
	// longest if it has several, and at least a second.
	Since  time.Time
	Window time.Duration
}

const (
	standardMultiple = 100
	maxMultiple      = 1_000_000
	standardCounters = 512
	minCounters      = 16
	maxCounters      = 65536
)

func (o *Offenders) apply(c *config) error {
	switch {
	case o == nil:
		return errors.New("Offenders is nil: leave it out")
	case c.limiter.offenders != nil:
		return errors.New("Offenders is given twice: give one")
	case o.Multiple < 0 || o.Multiple > maxMultiple:
		return fmt.Errorf("Offenders.Multiple %d is out of range: use 1 to %d", o.Multiple, maxMultiple)
	case o.Keys != 0 && o.Keys < minCounters || o.Keys > maxCounters:
		return fmt.Errorf("Offenders.Keys %d is out of range: use %d to %d", o.Keys, minCounters, maxCounters)
	}
	if err := o.Pseudonyms.validate(); err != nil {
		return err
	}
	o.prepare()
	c.limiter.offenders = o
	return nil
}

func (o *Offenders) prepare() {
	o.once.Do(func() {
		o.seed = maphash.MakeSeed()
		o.policies = make(map[string]*offences)
		if o.pseudonyms = o.Pseudonyms; o.pseudonyms == nil {
			o.pseudonyms = new(Pseudonyms)
		}
	})
}

// watch makes the offences of a policy.
func (o *Offenders) watch(p *policy) {
	if o == nil || p.Shadow {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if p.offences = o.policies[p.Name]; p.offences != nil {
		return
	}
	span := time.Second
	for _, limit := range p.limits() {
		span = max(span, limit.Limit.Window)
	}
	counters := o.Keys
	if counters == 0 {
		counters = standardCounters
	}
	p.offences = newOffences(span, counters)
	o.policies[p.Name] = p.offences
}

// count counts the refusals in w.
func (o *Offenders) count(ctx context.Context, w *work) {
	if reason := w.decision.Reason; reason != ReasonRateLimited && reason != ReasonBlocked {
		return
	}
	for i := range w.charges {
		charge, offences := &w.charges[i], w.asked[i].policy.offences
		if charge.Mode != ModeEnforce || w.results[i].Allowed || offences == nil {
			continue
		}
		hash := maphash.String(o.seed, string(charge.Partition))
		found, offends := offences.count(hash, charge.Partition, w.results[i].At, o.threshold(charge.Limit, offences.span))
		if offends && o.Notify != nil {
			found.Policy = charge.Policy
			o.Notify(ctx, o.shown(found))
		}
	}
}

// threshold is how many refusals within span make an offender: Multiple times
// what the limit admits in it.
func (o *Offenders) threshold(l Limit, span time.Duration) int64 {
	multiple := o.Multiple
	if multiple == 0 {
		multiple = standardMultiple
	}
	windows := int64((span-1)/l.Window) + 1
	return saturated(saturated(max(1, l.Quota, l.Capacity()), windows), multiple)
}

// saturated is a product of positive numbers, at most the largest int64.
func saturated(a, b int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi != 0 || lo > 1<<63-1 {
		return 1<<63 - 1
	}
	return int64(lo)
}

// shown is an offender as others may see it.
func (o *Offenders) shown(found Offender) Offender {
	found.Key = o.pseudonyms.Of(found.Partition)
	if !o.ClearText {
		found.Partition = ""
	}
	return found
}

// Top returns at most n of the keys that were refused most by a policy, those
// of its window under way first and then those of the one before, each by how
// often. It is nil if there are none, or no such policy.
func (o *Offenders) Top(policy string, n int) []Offender {
	return o.topAt(time.Now(), policy, n)
}

func (o *Offenders) topAt(now time.Time, policy string, n int) []Offender {
	o.mu.RLock()
	offences := o.policies[policy]
	o.mu.RUnlock()
	if offences == nil {
		return nil
	}
	all := offences.top(now.UnixMicro(), n)
	for i := range all {
		all[i].Policy = policy
		all[i] = o.shown(all[i])
	}
	return all
}

// Missed returns how many refusals were left out because others were being
// counted at the same time.
func (o *Offenders) Missed() (missed int64) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	for _, offences := range o.policies {
		missed += offences.missed.Load()
	}
	return missed
}
