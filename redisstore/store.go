package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

// Store is a [ratelimit.Store] on Redis. Make one with [New] or [Open]; it is
// safe for concurrent use.
type Store struct {
	// Registry lets ratelimit.New report a policy name that is used with
	// different limits.
	ratelimit.Registry

	keys     keyCoder
	budget   time.Duration
	clock    func() time.Time // nil: the server's
	router   *router
	denials  *denials              // nil: none is remembered
	leases   *leases               // nil: there are none
	owned    redis.UniversalClient // closed with the store
	closed   atomic.Bool
	counters counters

	observers observers
}

var _ ratelimit.Store = (*Store)(nil)

// New returns a Store on a client of any kind: of a single server, a Sentinel
// failover client, a Cluster or a Ring. It makes no call to Redis and changes
// nothing of the client, which stays the caller's to close. It panics if the
// client is nil or an option can't be; [Open] returns an error instead.
func New(client redis.UniversalClient, options ...Option) *Store {
	s, err := newStore(client, options)
	if err != nil {
		panic(err) //nolint:forbidigo // a programmer's mistake at start
	}
	return s
}

func newStore(client redis.UniversalClient, options []Option) (*Store, error) {
	if isNil(client) {
		return nil, errors.New("redisstore: the client is nil: give one, such as redis.NewClient(&redis.Options{Addr: address})")
	}
	s := &Store{keys: keyCoder{prefix: DefaultPrefix}, budget: DefaultBudget}
	s.denials = newDenials(s, DefaultDenialAge, DefaultDenials)
	for i, option := range options {
		if option == nil {
			return nil, fmt.Errorf("redisstore: option %d is nil: leave it out", i+1)
		}
		if err := option(s); err != nil {
			return nil, err
		}
	}
	s.router = newRouter(s, client)
	return s, nil
}

// scriptTime is the time to decide by, -1 for the server's own.
func (s *Store) scriptTime() int64 {
	if s.clock == nil {
		return -1
	}
	return min(max(s.clock().UnixMicro(), 0), latest)
}

// Take decides the charges of one request; see [ratelimit.Store]. The error is
// that of ctx if ctx has ended, and else says why Redis could not be asked in
// time.
func (s *Store) Take(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
	if len(charges) == 0 {
		return nil
	}
	if len(results) != len(charges) {
		return fmt.Errorf("redisstore: Take with %d charges and %d results: give as many results as charges", len(charges), len(results))
	}
	for i := range charges {
		if err := validCharge(&charges[i]); err != nil {
			return err
		}
	}
	if err := s.usable(ctx); err != nil {
		return err
	}
	r := newRequest(s)
	defer r.release()
	for i := range charges {
		c := &charges[i]
		r.addKey(c.Policy, c.Partition, &c.Limit)
	}
	if s.leases != nil && s.leases.suits(charges) {
		return s.leases.take(ctx, r, charges, results)
	}
	return s.askOrRecall(ctx, r, charges, results)
}

// usable is why a call need not begin.
func (s *Store) usable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.closed.Load() {
		return ErrClosed
	}
	return nil
}

// askOrRecall asks Redis unless the request is known to be denied.
func (s *Store) askOrRecall(ctx context.Context, r *request, charges []ratelimit.Charge, results []ratelimit.Result) error {
	if s.denials != nil && remembers(charges) {
		return s.denials.take(ctx, r, charges, results)
	}
	return r.ask(ctx, charges, results, false)
}

// Adjust changes what was charged; see [ratelimit.Store].
func (s *Store) Adjust(ctx context.Context, adjustments []ratelimit.Adjustment) error {
	for i := range adjustments {
		if err := validAdjustment(&adjustments[i]); err != nil {
			return err
		}
	}
	if err := s.usable(ctx); err != nil {
		return err
	}
	r := newRequest(s)
	defer r.release()
	for i := range adjustments {
		a := &adjustments[i]
		r.addKey(a.Policy, a.Partition, &a.Limit)
	}
	r.sealKeys()
	for i := range adjustments {
		a := &adjustments[i]
		if a.Cost == a.NewCost || a.Limit.Algorithm == ratelimit.AlgorithmPenalty {
			continue
		}
		item, err := r.add(i, true)
		if err != nil {
			return err
		}
		item.limit, item.at = a.Limit, min(max(a.At, 0), latest)
		item.change = min(max(a.NewCost-a.Cost, -algorithm.MaxUnits), algorithm.MaxUnits)
	}
	return r.change(ctx)
}

func validCharge(c *ratelimit.Charge) error {
	switch {
	case c.Cost < 0:
		return fmt.Errorf("redisstore: Charge.Cost %d is negative: use 0 to look, Adjust to give back", c.Cost)
	case c.Mode > ratelimit.ModePenalty:
		return fmt.Errorf("redisstore: Charge.Mode %d is unknown: use one of the constants, such as ratelimit.ModeEnforce", c.Mode)
	}
	return validLimit(&c.Limit)
}

func validAdjustment(a *ratelimit.Adjustment) error {
	if a.Cost < 0 || a.NewCost < 0 {
		return fmt.Errorf("redisstore: Adjustment from %d to %d: a cost is 0 or more", a.Cost, a.NewCost)
	}
	return validLimit(&a.Limit)
}

func validLimit(l *ratelimit.Limit) error {
	if l.IsUnlimited() {
		return errors.New("redisstore: Unlimited can't be counted: leave the charge out")
	}
	if err := l.Validate(); err != nil {
		return fmt.Errorf("redisstore: %w", err)
	}
	return nil
}

// Reset removes what is stored under the keys; see [ratelimit.Store].
func (s *Store) Reset(ctx context.Context, keys []ratelimit.Key) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	r := newRequest(s)
	defer r.release()
	limits := make([]ratelimit.Limit, len(keys))
	for i := range keys {
		k := &keys[i]
		limits[i] = ratelimit.Limit{Algorithm: k.Algorithm, Window: k.Window}
		r.addKey(k.Policy, k.Partition, &limits[i])
	}
	r.sealKeys()
	for i := range keys {
		item, err := r.add(i, true)
		if err != nil {
			return err
		}
		item.limit, item.reset = limits[i], true
		if s.leases != nil {
			s.leases.void(item.key)
		}
	}
	return r.change(ctx)
}

// Close ends the store: calls under way are waited for, no longer than a
// decision may take, and later ones fail with [ErrClosed]. The client is closed
// only if [Open] made it. To close a store again does nothing.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	if s.leases != nil {
		s.leases.close()
	}
	timer := time.NewTimer(s.budget)
	defer timer.Stop()
	for _, l := range s.router.all() {
		select {
		case <-l.close():
		case <-timer.C:
			timer.Reset(0)
		}
	}
	if s.owned != nil {
		return s.owned.Close()
	}
	return nil
}
