package redisstore

import (
	"context"
	"math/bits"
	"sync"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

const (
	// maxLeaseLife and leaseShare bound how long units that were taken ahead
	// may be spent: a second, or a twentieth of the window.
	maxLeaseLife = time.Second
	leaseShare   = 20
	// leaseCapacity is the largest part of a key's capacity that one process
	// takes ahead: a tenth.
	leaseCapacity = 10
	// maxLeases bounds the keys that leases are kept for.
	maxLeases = 4096
)

// leases takes units of hot keys ahead and spends them in this process. A unit
// is spent no later than a lease's life after it was charged, and in the same
// window, so that over any span at most so much is admitted as the limit allows
// over the span and one life.
type leases struct {
	store *Store
	most  map[string]int64 // units by policy
	base  time.Time

	mu     sync.Mutex
	keys   map[string]*lease
	timer  *time.Timer // for the lease that ends next; nil: there is none
	closed bool
}

// lease is what is held of one key under one limit, under its own lock. A key
// that is not hot has one without units.
type lease struct {
	key   string
	limit ratelimit.Limit

	mu      sync.Mutex
	gone    bool // out of the table: of no use any more
	left    int64
	units   int64            // that were taken ahead
	took    ratelimit.Result // of the units, as Redis answered
	started time.Duration    // when Redis was asked
	until   time.Duration
	flight  chan struct{} // closed when the caller is back that asks for more
	fetched int64         // how much more
	refused time.Duration // until when nothing is taken ahead, since the limit is near

	// The key's rate: units asked for in this period and the one before, each
	// as long as a lease lives.
	period             time.Duration
	asked, askedBefore int64
}

func newLeases(s *Store) *leases {
	return &leases{store: s, most: make(map[string]int64), base: time.Now(), keys: make(map[string]*lease)}
}

func (l *leases) clock() time.Duration {
	if l.store.clock != nil {
		return time.Duration(l.store.scriptTime()) * time.Microsecond
	}
	return time.Since(l.base)
}

// lifeOf is how long units of a limit may be held.
func lifeOf(limit *ratelimit.Limit) time.Duration {
	return min(maxLeaseLife, limit.Window/leaseShare)
}

// suits reports whether a request may be answered from a lease: one charge, of
// a policy with leases, that is never changed afterwards.
func (l *leases) suits(charges []ratelimit.Charge) bool {
	c := &charges[0]
	return len(charges) == 1 && c.Mode == ratelimit.ModeEnforce && c.Cost > 0 && !c.Settles &&
		c.Limit.Algorithm != ratelimit.AlgorithmSlidingLog && l.most[c.Policy] > 0
}

// take answers a request from the lease of its key, or asks Redis, for more
// than the request needs if the key is hot.
func (l *leases) take(ctx context.Context, r *request, charges []ratelimit.Charge, results []ratelimit.Result) error {
	c := &charges[0]
	for first := true; ; first = false {
		held := l.of(r, charges)
		if held == nil {
			return l.store.askOrRecall(ctx, r, charges, results)
		}
		held.mu.Lock()
		if held.gone {
			held.mu.Unlock()
			continue
		}
		now := l.clock()
		if first {
			held.count(now, c.Cost)
		}
		if held.spend(now, c.Cost, &results[0]) {
			held.mu.Unlock()
			l.store.counters.hits.Add(1)
			l.store.counters.spent.Add(uint64(c.Cost))
			return nil
		}
		flight, ahead := held.flight, l.ahead(held, now, c)
		if flight == nil && ahead > 0 {
			held.flight, held.fetched = make(chan struct{}), ahead
		}
		held.mu.Unlock()
		switch {
		case ahead == 0:
			return l.store.askOrRecall(ctx, r, charges, results)
		case flight == nil:
			return l.fetch(ctx, r, held, charges, results, ahead)
		}
		if err := r.await(ctx, flight); err != nil {
			return err
		}
	}
}

// ahead is how many units to take beyond what a request needs: what the key's
// rate will need in a lease's life.
func (l *leases) ahead(held *lease, now time.Duration, c *ratelimit.Charge) int64 {
	if now < held.refused {
		return 0
	}
	rate := max(held.asked, held.askedBefore) - c.Cost
	return max(0, min(rate, l.most[c.Policy], c.Limit.Capacity()/leaseCapacity))
}

// fetch asks Redis for a request and, if they fit, more units.
func (l *leases) fetch(ctx context.Context, r *request, held *lease, charges []ratelimit.Charge, results []ratelimit.Result, ahead int64) error {
	more := charges[0]
	more.Cost, more.Mode = ahead, ratelimit.ModeShadow
	r.addKey(more.Policy, more.Partition, &more.Limit)
	both, answers := [2]ratelimit.Charge{charges[0], more}, [2]ratelimit.Result{}
	asked := l.clock()
	err := r.ask(ctx, both[:], answers[:], false)

	back, in := l.landed(held, asked, err, answers[:])
	l.send(back)
	if in > 0 {
		l.watch(in)
	}
	results[0] = answers[0]
	return err
}

// landed notes what a caller has brought, and returns what it replaces and how
// long it lives.
func (l *leases) landed(held *lease, asked time.Duration, err error, answers []ratelimit.Result) (back []item, life time.Duration) {
	held.mu.Lock()
	defer held.mu.Unlock()
	close(held.flight)
	held.flight = nil
	if err != nil {
		return nil, 0
	}
	if !answers[0].Allowed || !answers[1].Allowed {
		// The limit is near: for a while every request is Redis' to decide, and
		// its denials are remembered.
		held.refused = asked + lifeOf(&held.limit)
		return nil, 0
	}
	back = l.unspent(nil, held)
	life = min(lifeOf(&held.limit), restOfWindow(&held.limit, answers[1].At))
	held.left, held.took, held.started, held.until = held.fetched, answers[1], asked, asked+life
	held.units = held.left
	l.store.counters.leased.Add(uint64(held.left))
	return back, life
}

// restOfWindow is how long the window of an instant still lasts, for those
// algorithms that count in windows.
func restOfWindow(limit *ratelimit.Limit, at int64) time.Duration {
	if limit.Algorithm.Bucket() {
		return maxLeaseLife
	}
	window := int64(limit.Window / time.Microsecond)
	return time.Duration(window-at%window) * time.Microsecond
}

// spend takes cost from what is held and answers as Redis would have.
func (held *lease) spend(now time.Duration, cost int64, result *ratelimit.Result) bool {
	if held.left < cost || now >= held.until || now < held.started {
		return false
	}
	elapsed := (now - held.started).Truncate(time.Microsecond)
	before := held.units - held.left
	held.left -= cost
	*result = held.took
	result.Allowed, result.RetryAfter = true, 0
	result.Remaining = min(result.Remaining+held.left, result.Limit)
	result.ResetAfter = max(result.ResetAfter-elapsed, 0)
	result.At += elapsed.Microseconds()
	if held.limit.Algorithm == ratelimit.AlgorithmLeakyBucket {
		// Each unit has a slot of its own, in the order they are spent.
		result.Delay = max(result.Delay+drainOf(before, &held.limit)-elapsed, 0)
	}
	return true
}

// drainOf is how long so many units take to drain, rounded up.
func drainOf(units int64, limit *ratelimit.Limit) time.Duration {
	hi, lo := bits.Mul64(uint64(units), uint64(limit.Window/time.Microsecond))
	us, rest := bits.Div64(hi, lo, uint64(limit.Quota))
	if rest > 0 {
		us++
	}
	return time.Duration(us) * time.Microsecond
}

// count notes the key's rate.
func (held *lease) count(now time.Duration, cost int64) {
	life := lifeOf(&held.limit)
	switch since := now - held.period; {
	case since >= 0 && since < life:
	case since >= life && since < 2*life:
		held.period, held.askedBefore, held.asked = now, held.asked, 0
	default:
		held.period, held.askedBefore, held.asked = now, 0, 0
	}
	held.asked += cost
}

// of is the lease of a request's key, nil if there are too many.
func (l *leases) of(r *request, charges []ratelimit.Charge) *lease {
	c := &charges[0]
	r.addProbeOf(charges, false)
	l.mu.Lock()
	defer l.mu.Unlock()
	held := l.keys[string(r.probe)]
	if held == nil && len(l.keys) < maxLeases && !l.closed {
		held = &lease{key: string(r.names), limit: c.Limit}
		l.keys[string(r.probe)] = held
		l.watchLocked(maxLeaseLife)
	}
	r.probe = r.probe[:0]
	return held
}
