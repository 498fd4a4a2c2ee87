package memstore

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

// A dump is the magic line, the hasher's seed and a sequence of records, each
// of which begins with its kind; numbers are unsigned varints but for the tags.
//
//	limit   algorithm, quota, window in nanoseconds, burst; numbered from 0 as they come
//	entry   tag (8 bytes), its limit's number, Time, Level and Rest; of a
//	        sliding log, instead of Rest, the number of entries, and of each
//	        the distance in time from the one before (the first: from 0) and
//	        the units
//	shared  the shard, as a 32-bit fraction of all, then as entry
//	end     the number of records before it, then the CRC-32C of all before
//	        that in 4 bytes
const (
	dumpMagic = "floodgate/memstore 2\n"

	recordLimit  = 'l'
	recordEntry  = 'e'
	recordShared = 's'
	recordEnd    = 'z'
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Dump writes all counts that hold information, so that another process can go
// on with them; see [Store.Restore]. The store can be used meanwhile: a charge
// made during Dump is in it or not. No lock is held while w is written to.
//
// A dump has no key in clear, but the secret under which they are hashed: who
// reads it can find out whether a certain client is in it. Keep it as you would
// a log of client addresses.
func (s *Store) Dump(w io.Writer) error {
	t := s.table.Load()
	d := dumper{w: bufio.NewWriter(w), limits: make(map[ratelimit.Limit]uint64)}
	d.text = append(append(d.text, dumpMagic...), t.seed[:]...)
	for i := range t.shards {
		if err := d.shard(t, i, s.clock.now()); err != nil {
			return fmt.Errorf("memstore: Dump: %w", err)
		}
	}
	d.text = append(d.text, recordEnd)
	d.numbers(d.records)
	err := d.flush()
	if err == nil {
		d.text = binary.LittleEndian.AppendUint32(d.text, d.crc)
		err = errors.Join(d.flush(), d.w.Flush())
	}
	if err != nil {
		return fmt.Errorf("memstore: Dump: %w", err)
	}
	return nil
}

// dumper collects the records of one segment at a time, under the shard's lock,
// and writes them without it.
type dumper struct {
	w       *bufio.Writer
	text    []byte
	crc     uint32
	records uint64
	limits  map[ratelimit.Limit]uint64
}

func (d *dumper) flush() error {
	d.crc = crc32.Update(d.crc, castagnoli, d.text)
	_, err := d.w.Write(d.text)
	d.text = d.text[:0]
	return err
}

func (d *dumper) shard(t *table, number int, now int64) error {
	sh := &t.shards[number]
	for from, more := uint32(0), true; more; {
		sh.mu.Lock()
		g := sh.segment(from)
		if !g.none() {
			for i := range g.slots {
				// A segment that was merged meanwhile has some that are
				// written already.
				if e := &g.slots[i]; e.tag != 0 && t.fraction(e.tag) >= from {
					d.entry(sh, e, now, recordEntry, 0)
				}
			}
			from = sh.end(from)
		}
		more = !g.none() && from != 0
		if !more && !sh.spill.none() {
			shards := uint64(len(t.shards))
			at := (uint64(number)<<32 + shards - 1) / shards
			for i := range sh.spill.slots {
				if e := &sh.spill.slots[i]; e.tag != 0 {
					d.entry(sh, e, now, recordShared, at)
				}
			}
		}
		sh.mu.Unlock()
		if err := d.flush(); err != nil {
			return err
		}
	}
	return nil
}

// entry adds the record of an entry, and of its limit before that of the first
// that has it.
func (d *dumper) entry(sh *shard, e *entry, now int64, kind byte, at uint64) {
	if sh.used(e, now).used == 0 {
		return
	}
	limit, s := &sh.limits.of(e.limit()).limit, sh.state(e, now)
	number, ok := d.limits[*limit]
	if !ok {
		number = uint64(len(d.limits))
		d.limits[*limit] = number
		d.text = append(d.text, recordLimit, byte(limit.Algorithm))
		d.numbers(uint64(limit.Quota), uint64(limit.Window), uint64(limit.Burst))
		if b := limit.Block; limit.Algorithm == ratelimit.AlgorithmPenalty {
			d.numbers(uint64(b.Base), uint64(b.Factor), uint64(b.Cap))
		}
		d.records++
	}
	d.text = append(d.text, kind)
	if kind == recordShared {
		d.numbers(at)
	}
	d.text = binary.LittleEndian.AppendUint64(d.text, e.tag)
	d.numbers(number, uint64(s.Time), uint64(s.Level))
	d.records++
	if limit.Algorithm != ratelimit.AlgorithmSlidingLog {
		d.numbers(uint64(s.Rest))
		return
	}
	entries := sh.logs.all(&s)
	d.numbers(uint64(len(entries)))
	before := int64(0)
	for _, one := range entries {
		d.numbers(uint64(one.At-before), uint64(one.Units))
		before = one.At
	}
}

func (d *dumper) numbers(all ...uint64) {
	for _, n := range all {
		d.text = binary.AppendUvarint(d.text, n)
	}
}

// all is every entry of a log, oldest first.
func (l *logs) all(s *algorithm.State) []algorithm.Entry {
	if s.Level == 0 {
		return nil
	}
	if s.Rest == 0 {
		return []algorithm.Entry{{At: s.Time, Units: s.Level}}
	}
	var entries []algorithm.Entry
	last := uint32(s.Rest)
	for n := l.chunk(last).next; ; n = l.chunk(n).next {
		entries = l.entries(n, entries)
		if n == last {
			return entries
		}
	}
}
