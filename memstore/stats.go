package memstore

// Stats says what a store holds and what it had to give up.
type Stats struct {
	// Keys is how many keys have an entry, those included that have expired
	// but were not swept yet. It is never above the cap.
	Keys int64
	// Forgotten counts the entries that were given up at the cap although
	// they held information: their keys started afresh. None was at its limit.
	// If it grows, the cap is too low for the clients there are.
	Forgotten int64
	// Expired counts the entries that were removed after they had become as
	// good as new.
	Expired int64
	// Spilled counts the charges of newcomers for whom there was no room at
	// the cap, since all entries were at their limits, and who were limited
	// together.
	Spilled int64
}

// counts are a shard's part of the Stats.
type counts struct {
	forgotten, expired, spilled int64
}

// evicted counts an entry that made way with so much of its limit used.
func (c *counts) evicted(used int64) {
	if used > 0 {
		c.forgotten++
	} else {
		c.expired++
	}
}

// Stats adds up the shards one by one; it is not one instant's picture.
func (s *Store) Stats() Stats {
	t := s.table.Load()
	stats := Stats{Keys: min(t.keys.Load(), t.most)}
	for i := range t.shards {
		sh := &t.shards[i]
		sh.mu.Lock()
		stats.Forgotten += sh.counts.forgotten
		stats.Expired += sh.counts.expired
		stats.Spilled += sh.counts.spilled
		sh.mu.Unlock()
	}
	return stats
}
