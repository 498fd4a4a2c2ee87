package redisstore

import (
	"context"
	"encoding/binary"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// denials remembers requests that were denied, with the states that they were
// denied on. As long as nobody changes these, the answer at a later instant
// follows from them exactly; when the request would pass, or the denial is too
// old, one caller asks Redis again and the others wait for what it learns.
// Nothing is ever admitted from here.
type denials struct {
	store  *Store
	maxAge time.Duration
	base   time.Time
	seed   maphash.Seed
	most   int // in each shard
	count  atomic.Int64
	shards [16]denialShard
	// changes counts what this process has taken, given back or reset, by a
	// hash of the key.
	changes [1 << 14]atomic.Uint32
}

type denialShard struct {
	mu      sync.Mutex
	entries map[string]*denial
}

// denial is one request that was denied. Only flight changes.
type denial struct {
	// answered is when Redis' answer came, by clock. To count from when it was
	// asked would promise the client too short a wait.
	answered, until time.Duration

	changes uint32 // of its keys, when Redis was asked
	parts   []denialPart
	flight  chan struct{} // closed when a caller is back that asks anew; under the shard's lock
}

// denialPart is what one place answered.
type denialPart struct {
	now    int64
	items  []item
	states []keyState // by item.index, from 1
}

func newDenials(s *Store, maxAge time.Duration, most int) *denials {
	d := &denials{store: s, maxAge: maxAge, base: time.Now(), seed: maphash.MakeSeed(), most: max(1, most/16)}
	for i := range d.shards {
		d.shards[i].entries = make(map[string]*denial)
	}
	return d
}

// clock is a monotonic clock, or that of a test.
func (d *denials) clock() time.Duration {
	if d.store.clock != nil {
		return time.Duration(d.store.scriptTime()) * time.Microsecond
	}
	return time.Since(d.base)
}

// remembers reports whether a denial of these charges may be remembered: if
// none of them settles or strikes. Of a log it is not known when its units
// leave one by one, so only the first is waited for.
func remembers(charges []ratelimit.Charge) bool {
	for i := range charges {
		c := &charges[i]
		if c.Settles || c.Mode == ratelimit.ModeOnDenial {
			return false
		}
		if c.Limit.Algorithm == ratelimit.AlgorithmSlidingLog && (len(charges) > 1 || c.Cost > 1) {
			return false
		}
	}
	return true
}

// take answers from memory, or asks.
func (d *denials) take(ctx context.Context, r *request, charges []ratelimit.Charge, results []ratelimit.Result) error {
	var led *denial // whose renewal this caller has taken on
	if d.count.Load() > 0 {
		r.addProbe(charges)
		answered, lead, err := d.recall(ctx, r, results)
		if answered || err != nil {
			return err
		}
		led = lead
	}
	changes, asked := d.changed(r), d.clock()
	err := r.ask(ctx, charges, results, true)
	var learned *denial
	if err == nil && denies(charges, results) {
		learned = &denial{answered: d.clock(), until: asked + d.maxAge, changes: changes, parts: r.denialParts()}
	}
	if learned != nil || led != nil {
		r.addProbe(charges)
		d.learn(r.probe, learned, led)
	}
	return err
}

func denies(charges []ratelimit.Charge, results []ratelimit.Result) bool {
	for i := range charges {
		if m := charges[i].Mode; (m == ratelimit.ModeEnforce || m == ratelimit.ModePenalty) && !results[i].Allowed {
			return true
		}
	}
	return false
}

// recall answers a request that is known to be denied. If the denial has to be
// renewed, one caller gets it as lead and the others wait.
func (d *denials) recall(ctx context.Context, r *request, results []ratelimit.Result) (answered bool, lead *denial, err error) {
	shard := d.shard(r.probe)
	for {
		shard.mu.Lock()
		known := shard.entries[string(r.probe)]
		if known == nil {
			shard.mu.Unlock()
			return false, nil, nil
		}
		flight := known.flight
		shard.mu.Unlock()

		if now := d.clock(); known.answered <= now && now < known.until && known.changes == d.changed(r) && known.answer(now, results) {
			d.store.counters.denialHits.Add(1)
			return true, nil, nil
		}
		if flight == nil {
			shard.mu.Lock()
			if known.flight == nil && shard.entries[string(r.probe)] == known {
				known.flight = make(chan struct{})
				shard.mu.Unlock()
				return false, known, nil
			}
			shard.mu.Unlock()
			continue
		}
		if err := r.await(ctx, flight); err != nil {
			return false, nil, err
		}
	}
}

// learn puts a denial in the place of the one that was renewed, or drops that.
func (d *denials) learn(probe []byte, learned, led *denial) {
	shard := d.shard(probe)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	before := len(shard.entries)
	switch {
	case learned != nil:
		if _, known := shard.entries[string(probe)]; !known && before >= d.most {
			shard.makeRoom()
		}
		shard.entries[string(probe)] = learned
	case shard.entries[string(probe)] == led:
		delete(shard.entries, string(probe))
	}
	if led != nil {
		close(led.flight)
	}
	d.count.Add(int64(len(shard.entries) - before))
}

// makeRoom drops an entry that nobody renews, one of a few at random.
func (s *denialShard) makeRoom() {
	for probe, e := range s.entries {
		if e.flight == nil {
			delete(s.entries, probe)
			return
		}
	}
}

// forget makes void what is remembered of a request's keys.
func (d *denials) forget(r *request) {
	from := 0
	for _, end := range r.ends {
		d.changes[maphash.Bytes(d.seed, r.names[from:end])%uint64(len(d.changes))].Add(1)
		from = end
	}
}

// changed sums up the changes of a request's keys.
func (d *denials) changed(r *request) uint32 {
	sum, from := uint32(0), 0
	for _, end := range r.ends {
		sum += d.changes[maphash.Bytes(d.seed, r.names[from:end])%uint64(len(d.changes))].Load()
		from = end
	}
	return sum
}

func (d *denials) shard(probe []byte) *denialShard {
	return &d.shards[maphash.Bytes(d.seed, probe)%uint64(len(d.shards))]
}

// answer fills in what the request is answered at now, by clock. It returns
// false if it would pass.
func (e *denial) answer(now time.Duration, results []ratelimit.Result) bool {
	denied := false
	c := newCall()
	defer c.release()
	for i := range e.parts {
		p := &e.parts[i]
		later := int64((now - e.answered) / time.Microsecond)
		c.items = append(c.items[:0], p.items...)
		c.before = append(c.before[:0], p.states...)
		r := replay{now: p.now + later, states: c.before}
		for j := range c.items {
			if r.released(&c.items[j]) {
				return false
			}
		}
		denied = !r.judge(c) || denied
		if c.struck() {
			return false
		}
		r.deny(c)
		for j := range c.items {
			results[c.items[j].origin] = c.results[j]
		}
	}
	return denied
}

// released reports whether units of a log have left since it was looked at, so
// that it is no longer known; if not, it brings the log to the present.
func (r *replay) released(item *item) bool {
	if item.limit.Algorithm != ratelimit.AlgorithmSlidingLog {
		return false
	}
	s := r.of(item)
	s.Time = max(s.Time, r.now)
	return item.released+int64(item.limit.Window/time.Microsecond) <= s.Time
}

// struck reports whether a penalty has taken a strike: the answer was made of
// states that are no more.
func (r *request) struck() bool {
	for i := range r.parts {
		if r.parts[i].call.struck() {
			return true
		}
	}
	return false
}

func (c *call) struck() bool {
	for i := range c.items {
		if c.items[i].strikes {
			return true
		}
	}
	return false
}

// denialParts keeps what the places answered.
func (r *request) denialParts() []denialPart {
	parts := make([]denialPart, 0, len(r.parts))
	for i := range r.parts {
		c := r.parts[i].call
		p := denialPart{now: c.now, items: append([]item(nil), c.items...)}
		for j := range p.items {
			item := &p.items[j]
			item.index = 0
			for k := range j {
				if p.items[k].key == item.key {
					item.index = p.items[k].index
				}
			}
			if item.index == 0 {
				p.states = append(p.states, c.before[j])
				item.index = int32(len(p.states))
			}
		}
		parts = append(parts, p)
	}
	return parts
}

// addProbe makes what a denial is remembered by: the keys, and of each charge
// the limit, the cost and the mode.
func (r *request) addProbe(charges []ratelimit.Charge) {
	if len(r.probe) > 0 {
		return
	}
	r.addProbeOf(charges, true)
}

// addProbeOf is addProbe, with the costs or without.
func (r *request) addProbeOf(charges []ratelimit.Charge, costs bool) {
	r.probe = append(r.probe, r.names...)
	for i := range charges {
		c := &charges[i]
		r.probe = binary.LittleEndian.AppendUint64(r.probe, uint64(c.Limit.Quota))
		r.probe = binary.LittleEndian.AppendUint64(r.probe, uint64(c.Limit.Burst))
		if b := &c.Limit.Block; c.Limit.Algorithm == ratelimit.AlgorithmPenalty {
			r.probe = binary.LittleEndian.AppendUint64(r.probe, uint64(b.Base))
			r.probe = binary.LittleEndian.AppendUint64(r.probe, uint64(b.Factor))
			r.probe = binary.LittleEndian.AppendUint64(r.probe, uint64(b.Cap))
		}
		if costs {
			r.probe = binary.LittleEndian.AppendUint64(r.probe, uint64(c.Cost))
		}
		r.probe = append(r.probe, byte(c.Mode), byte(r.ends[i]), byte(r.ends[i]>>8))
	}
}
