package ratelimit

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-floodgate/floodgate/core/internal/heavy"
)

// offences are the refusals of a policy, by key, in the window under way and
// the one before it.
type offences struct {
	span   time.Duration
	missed atomic.Int64
	// pending are refusals that came while another one was being counted, of
	// the keys in owner: in each slot the key's hash but for its lowest bits,
	// which count.
	pending [slots]atomic.Uint64

	mu    sync.Mutex
	owner [slots]uint64 // the hash that each slot of pending is for
	// window numbers the window that now is of, from the Unix epoch.
	window      int64
	now, before *heavy.Summary
	// told are hashes of keys that lost their counter after they were told of.
	told map[uint64]struct{}
	most int
}

const (
	slots       = 64
	pendingMask = 1<<24 - 1
)

func newOffences(span time.Duration, counters int) *offences {
	return &offences{
		span: span, most: counters,
		now: heavy.New(counters), before: heavy.New(counters),
		told: make(map[uint64]struct{}),
	}
}

// count counts a refusal at a time of the store's clock, 0 if that is not
// known. If it makes an offender of the key, it returns it: with the key, and
// for the first time in this window.
func (o *offences) count(hash uint64, key Partition, at, threshold int64) (found Offender, offends bool) {
	if at <= 0 {
		at = time.Now().UnixMicro()
	}
	slot := int(hash % slots)
	// Who waits here is a request, and a flood would make many of them wait.
	if !o.mu.TryLock() {
		if !o.leave(slot, hash) {
			o.missed.Add(1)
		}
		return Offender{}, false
	}
	defer o.mu.Unlock()
	o.roll(at / o.span.Microseconds())
	o.claim(slot, hash)
	item, gone := o.now.Add(hash, string(key), 1)
	if gone.Told && len(o.told) < o.most {
		o.told[gone.Hash] = struct{}{}
	}
	if !item.Told && len(o.told) > 0 {
		_, item.Told = o.told[hash]
	}
	refusals := item.Count - item.Error
	if item.Told || refusals < threshold {
		return Offender{}, false
	}
	item.Told = true
	return o.offender(item, o.window), true
}

// leave leaves a refusal to whoever counts next, if the slot is the key's.
func (o *offences) leave(slot int, hash uint64) bool {
	p := &o.pending[slot]
	for {
		v := p.Load()
		if v&^pendingMask != hash&^pendingMask || v&pendingMask == pendingMask {
			return false
		}
		if p.CompareAndSwap(v, v+1) {
			return true
		}
	}
}

// claim makes a slot the key's, and counts what was left there.
func (o *offences) claim(slot int, hash uint64) {
	tag := hash &^ pendingMask
	if o.pending[slot].Load() == tag {
		return
	}
	v := o.pending[slot].Swap(tag)
	o.raise(o.owner[slot], int64(v&pendingMask))
	o.owner[slot] = hash
}

// raise counts refusals that were left for whoever counts next.
func (o *offences) raise(hash uint64, n int64) {
	if n > 0 && !o.now.Raise(hash, n) {
		o.missed.Add(n)
	}
}

// collect counts all that was left.
func (o *offences) collect() {
	for i := range o.pending {
		if v := o.pending[i].Load(); v&pendingMask != 0 {
			v = o.pending[i].Swap(v &^ pendingMask)
			o.raise(o.owner[i], int64(v&pendingMask))
		}
	}
}

// roll begins a window that has come. A clock that is a little behind counts
// for the window under way; one that is far behind was far ahead before.
func (o *offences) roll(window int64) {
	switch window {
	case o.window, o.window - 1:
		return
	case o.window + 1:
		o.collect()
		o.now, o.before = o.before, o.now
	default:
		o.collect()
		o.before.Reset()
	}
	o.window = window
	o.now.Reset()
	clear(o.told)
}

// top returns at most n keys, as of a time of this process's clock.
func (o *offences) top(at int64, n int) (all []Offender) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.collect()
	current := at / o.span.Microseconds()
	for i, summary := range []*heavy.Summary{o.now, o.before} {
		window := o.window - int64(i)
		if window < current-1 {
			break
		}
		summary.Top(func(item *heavy.Item) bool {
			if len(all) < n {
				all = append(all, o.offender(item, window))
			}
			return len(all) < n
		})
	}
	return all
}

// offender copies an item.
func (o *offences) offender(item *heavy.Item, window int64) Offender {
	return Offender{
		Partition: Partition(item.Key), Refusals: item.Count - item.Error, Unsure: item.Error,
		Since: time.UnixMicro(window * o.span.Microseconds()), Window: o.span,
	}
}
