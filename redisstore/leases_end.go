package redisstore

import "time"

// unspent appends what is held of a lease, which is locked, and empties it.
func (l *leases) unspent(back []item, held *lease) []item {
	left := held.left
	if left == 0 {
		return back
	}
	held.left = 0
	return append(back, item{key: held.key, limit: held.limit, at: held.took.At, change: -left})
}

// send gives units back; nobody waits for it. What can't be given back stays
// charged.
func (l *leases) send(back []item) {
	for i := range back {
		place, slot := l.store.router.place(back[i].key)
		if place == nil {
			continue
		}
		c := newCall()
		c.adjusts, c.slot, c.detached = true, slot, true
		c.items = append(c.items, back[i])
		if place.send(c) != nil {
			c.release()
			continue
		}
		l.store.counters.returned.Add(uint64(-back[i].change))
	}
}

// watch sees that unspent units are given back soon after a lease has ended.
func (l *leases) watch(in time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watchLocked(in)
}

func (l *leases) watchLocked(in time.Duration) {
	if l.timer == nil && !l.closed {
		l.timer = time.AfterFunc(max(in, 10*time.Millisecond), l.sweep)
	}
}

// sweep ends leases whose time is over and forgets keys that are no longer
// hot.
func (l *leases) sweep() {
	var back []item
	l.mu.Lock()
	now, next := l.clock(), maxLeaseLife
	for probe, held := range l.keys {
		held.mu.Lock()
		switch {
		case held.flight != nil:
		case held.left > 0 && now < held.until && now >= held.started:
			next = min(next, held.until-now)
		default:
			back = l.unspent(back, held)
			if now-held.period >= 2*lifeOf(&held.limit) || now < held.period {
				held.gone = true
				delete(l.keys, probe)
			}
		}
		held.mu.Unlock()
	}
	l.timer = nil
	if len(l.keys) > 0 {
		l.watchLocked(next)
	}
	l.mu.Unlock()
	l.send(back)
}

// void drops what is held of a key that was reset: its units are nobody's any
// more.
func (l *leases) void(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, held := range l.keys {
		if held.key == key {
			held.mu.Lock()
			held.left = 0
			held.mu.Unlock()
		}
	}
}

// close gives everything back.
func (l *leases) close() {
	var back []item
	l.mu.Lock()
	l.closed = true
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	for probe, held := range l.keys {
		held.mu.Lock()
		held.gone = true
		back = l.unspent(back, held)
		held.mu.Unlock()
		delete(l.keys, probe)
	}
	l.mu.Unlock()
	l.send(back)
}
