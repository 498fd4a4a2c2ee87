package memstore

// At the cap a newcomer takes the place of somebody in his own segment, so a
// segment never regains what it lost to expiry or Reset, while those that were
// lucky when there was room grow. Left alone some would run out of candidates.
// So a newcomer to a sparse segment takes the place of somebody in another one.

const (
	// sparse is from how few entries on a segment takes from others.
	sparse = 24
	// donors is how many others are asked: some of the same shard, and one of
	// each of some others.
	donors, donorShards = 4, 16
)

// elsewhere looks for a victim outside of the segment of a newcomer to sh, and
// if evict is set removes it, without counting one key less. Other shards are
// only asked if their lock is free, since sh's is held.
func (t *table) elsewhere(sh *shard, k *key, now int64, evict bool) bool {
	if own := sh.segment(k.fraction); !own.none() {
		at := sh.end(k.fraction)
		for range donors {
			g := sh.segment(at)
			if g == own {
				break
			}
			if sh.giveUp(g, k, now, evict) {
				return true
			}
			at = sh.end(at)
		}
	}
	// From a different one on for each newcomer, so that none bleeds.
	shards := uint32(len(t.shards))
	for i := range min(donorShards, shards) {
		other := &t.shards[(uint32(k.tag)+i)%shards]
		if other == sh || !other.mu.TryLock() {
			continue
		}
		ok := other.giveUp(other.segment(k.fraction), k, other.at(t, now, nil), evict)
		other.mu.Unlock()
		if ok {
			return true
		}
	}
	return false
}

// giveUp reports whether a segment can spare an entry for a newcomer to
// another, and if evict is set removes it.
func (sh *shard) giveUp(g segment, k *key, now int64, evict bool) bool {
	if g.none() || g.count() < sparse {
		return false
	}
	slot := sh.victim(g, k.tag, k.own, now)
	return slot != noSlot && (!evict || sh.evict(g, slot, now, false))
}
