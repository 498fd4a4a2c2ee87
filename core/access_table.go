package ratelimit

import (
	"hash/maphash"
	"math"
	"sync/atomic"
	"time"
)

// accessShards is how many maps a table consists of. A change copies those that
// it touches, so that readers need no lock.
const accessShards = 256

// accessTable has entries and the instants at which they end, in microseconds
// since the Unix epoch.
type accessTable[K comparable] struct {
	shards [accessShards]atomic.Pointer[map[K]int64]
	// size counts entries that have ended as well. Readers see by it whether
	// there is anything to look for.
	size atomic.Int64
}

const forever = math.MaxInt64

func untilOf(t time.Time) int64 {
	if t.IsZero() || t.Unix() >= forever/1_000_000 {
		return forever
	}
	return t.UnixMicro()
}

func timeOf(until int64) time.Time {
	if until == forever {
		return time.Time{}
	}
	return time.UnixMicro(until)
}

// ended reports whether an entry has ended; only those that ever do need the
// time.
func ended(until int64) bool { return until != forever && time.Now().UnixMicro() >= until }

var accessSeed = maphash.MakeSeed()

func shardOfKey(key Partition) int {
	return int(maphash.String(accessSeed, string(key)) % accessShards)
}

// hasKey reports whether t has a key. It makes no string of it.
func hasKey(t *accessTable[Partition], key []byte) bool {
	shard := t.shards[maphash.Bytes(accessSeed, key)%accessShards].Load()
	if shard == nil {
		return false
	}
	until, listed := (*shard)[Partition(key)]
	return listed && !ended(until)
}

func (t *accessTable[K]) empty() bool { return t.size.Load() == 0 }

// live returns how many entries have not ended and hands them to f, if there is
// one.
func (t *accessTable[K]) live(now int64, f func(k K, until int64)) (n int) {
	for i := range t.shards {
		shard := t.shards[i].Load()
		if shard == nil {
			continue
		}
		for k, until := range *shard {
			if until > now {
				n++
				if f != nil {
					f(k, until)
				}
			}
		}
	}
	return n
}

// tableEdit is a change of a table on its way: the shards that it touches, as
// they are to be.
type tableEdit[K comparable] struct {
	table   *accessTable[K]
	now     int64
	shardOf func(K) int
	fresh   [accessShards]map[K]int64
	size    int
}

func (t *accessTable[K]) edit(now int64, shardOf func(K) int) tableEdit[K] {
	return tableEdit[K]{table: t, now: now, shardOf: shardOf, size: int(t.size.Load())}
}

// shard returns a copy to change, without what has ended.
func (e *tableEdit[K]) shard(i int) map[K]int64 {
	if e.fresh[i] == nil {
		e.fresh[i] = make(map[K]int64)
		if old := e.table.shards[i].Load(); old != nil {
			for k, until := range *old {
				if until > e.now {
					e.fresh[i][k] = until
				} else {
					e.size--
				}
			}
		}
	}
	return e.fresh[i]
}

func (e *tableEdit[K]) add(k K, until int64) {
	shard := e.shard(e.shardOf(k))
	before, there := shard[k]
	if !there {
		e.size++
	}
	shard[k] = max(before, until)
}

func (e *tableEdit[K]) remove(k K) (removed int) {
	shard := e.shard(e.shardOf(k))
	if _, there := shard[k]; there {
		delete(shard, k)
		e.size--
		removed = 1
	}
	return removed
}

// sweep takes up a shard if something in it has ended.
func (e *tableEdit[K]) sweep(i int) {
	old := e.table.shards[i].Load()
	if old == nil {
		return
	}
	for _, until := range *old {
		if until <= e.now {
			e.shard(i)
			return
		}
	}
}

// clear takes everything out.
func (e *tableEdit[K]) clear() {
	e.size = 0
	for i := range e.fresh {
		e.fresh[i] = make(map[K]int64)
	}
}

func (e *tableEdit[K]) publish() {
	for i, shard := range &e.fresh {
		switch {
		case shard == nil:
		case len(shard) == 0:
			e.table.shards[i].Store(nil)
		default:
			e.table.shards[i].Store(&shard)
		}
	}
	e.table.size.Store(int64(e.size))
}
