package memstore

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

// maxDumpedLog bounds how many entries of one sliding log are read back: its
// quota, and as much of debt.
const maxDumpedLog = 2 * ratelimit.MaxLogQuota

const tooMany = "the dump has more keys than the cap allows: give New a higher WithMaxKeys"

// spareKeys and a quarter of the cap are how many keys more than that a dump
// may have: it does if, at the cap, keys came and went while it was written.
const spareKeys = 64

// trim brings a table down to its cap: of each segment in turn the key goes
// that has used the smallest share.
func (t *table) trim(most, now int64) error {
	for before := int64(-1); t.keys.Load() > most; {
		if t.keys.Load() == before {
			return errors.New(tooMany) // all are at their limits
		}
		before = t.keys.Load()
		for i := range t.shards {
			sh := &t.shards[i]
			for g := range sh.all() {
				if t.keys.Load() <= most {
					break
				}
				if slot := sh.leastUsed(g, 0, slotsPerSegment, share{}, now); slot != noSlot {
					sh.discard(t, g, slot)
					sh.counts.forgotten++
				}
			}
		}
	}
	t.most = most
	return nil
}

// maxDumpedLimits is how many distinct limits there may be: one for each count.
func maxDumpedLimits(t *table) uint64 {
	return uint64(t.most) + uint64(len(t.shards))*slotsPerSegment
}

// Restore reads what [Store.Dump] wrote, here or in another process, and goes
// on with it: every key answers as it would have there, if the two clocks
// agree. The store must not hold a key yet; call Restore before the first
// request. The cap need not be the same, but has to be large enough for the
// dump's keys.
//
// On an error, be it of r or of what it says, the store is as it was. Memory
// grows with the dump and no further than the cap lets it; with
// [WithPreallocation] all of it is taken once more until Restore has returned.
// Nothing beyond the dump's end is interpreted, though some of it may be read.
func (s *Store) Restore(r io.Reader) error {
	inUse := errors.New("memstore: Restore: the store is in use: restore into a new one, before its first request")
	old := s.table.Load()
	if old.keys.Load() > 0 {
		return inUse
	}
	restored, err := readTable(r, old, s.clock.now())
	if err != nil {
		return fmt.Errorf("memstore: Restore: %w", err)
	}
	if old.keys.Load() > 0 || !s.table.CompareAndSwap(old, restored) {
		return inUse
	}
	return nil
}

// readTable reads a whole dump into a new table that has the cap and the clock
// of another.
func readTable(r io.Reader, like *table, now int64) (*table, error) {
	in := dumpReader{r: bufio.NewReader(r)}
	var magic [len(dumpMagic)]byte
	var secret seed
	in.bytes(magic[:])
	if in.err == nil && string(magic[:]) != dumpMagic {
		return nil, errors.New("this is no dump, or one of another version")
	}
	in.bytes(secret[:])
	if in.err != nil {
		return nil, in.err
	}
	t := newTable(secret, like.most, like.clock, like.atOnce)
	t.most += t.most/4 + spareKeys
	var limits []ratelimit.Limit
	for records := uint64(0); in.err == nil; records++ {
		switch kind := in.byte(); kind {
		case recordLimit:
			limits = append(limits, in.limit())
			if uint64(len(limits)) > maxDumpedLimits(t) {
				in.fail("more limits than keys")
			}
		case recordEntry:
			in.entry(t, limits, now)
		case recordShared:
			in.shared(t, limits, now)
		case recordEnd:
			if in.number() != records {
				in.fail("some records are missing")
			}
			sum := in.crc
			var want [4]byte
			in.bytes(want[:])
			if in.err == nil && binary.LittleEndian.Uint32(want[:]) != sum {
				in.fail("the checksum is wrong")
			}
			if in.err == nil {
				in.err = t.trim(like.most, now)
			}
			return t, in.err
		default:
			in.fail("unknown record %q", kind)
		}
	}
	return nil, in.err
}

// dumpReader reads the parts of a dump; after the first error it reads zeros.
type dumpReader struct {
	r   *bufio.Reader
	crc uint32
	err error
}

func (in *dumpReader) fail(format string, args ...any) {
	if in.err == nil {
		in.err = fmt.Errorf("the dump is damaged: "+format, args...)
	}
}

func (in *dumpReader) bytes(to []byte) {
	if in.err != nil {
		return
	}
	if _, err := io.ReadFull(in.r, to); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		in.err = err
		clear(to)
		return
	}
	in.crc = crc32.Update(in.crc, castagnoli, to)
}

func (in *dumpReader) byte() byte {
	var b [1]byte
	in.bytes(b[:])
	return b[0]
}

// ReadByte makes in an [io.ByteReader].
func (in *dumpReader) ReadByte() (byte, error) { return in.byte(), in.err }

func (in *dumpReader) number() uint64 {
	n, err := binary.ReadUvarint(in)
	if err != nil {
		in.fail("%w", err)
	}
	return n
}

// upTo is a number that must not be above most.
func (in *dumpReader) upTo(most int64, what string) int64 {
	n := in.number()
	if n > uint64(most) {
		in.fail("%s is %d, at most %d is possible", what, n, most)
		return 0
	}
	return int64(n)
}

func (in *dumpReader) limit() ratelimit.Limit {
	l := ratelimit.Limit{
		Algorithm: ratelimit.Algorithm(in.byte()),
		Quota:     in.upTo(ratelimit.MaxQuota, "a quota"),
		Window:    time.Duration(in.upTo(int64(ratelimit.MaxWindow), "a window")),
		Burst:     in.upTo(ratelimit.MaxQuota, "a burst"),
	}
	if l.Algorithm == ratelimit.AlgorithmPenalty {
		l.Block = ratelimit.Block{
			Base:   time.Duration(in.upTo(int64(ratelimit.MaxWindow), "a first block")),
			Factor: in.upTo(ratelimit.MaxQuota, "a factor"),
			Cap:    time.Duration(in.upTo(int64(ratelimit.MaxWindow), "a longest block")),
		}
	}
	if err := checkLimit(&l); err != nil {
		in.fail("%w", err)
	}
	return l
}

// state reads an entry up to what depends on its algorithm; not ok if it holds
// no information any more.
func (in *dumpReader) state(limits []ratelimit.Limit, now int64) (tag uint64, l ratelimit.Limit, s algorithm.State, ok bool) {
	var b [8]byte
	in.bytes(b[:])
	tag = binary.LittleEndian.Uint64(b[:])
	number := in.number()
	if tag == 0 || number >= uint64(len(limits)) {
		in.fail("an entry without a tag or a limit")
		return tag, l, s, false
	}
	l = limits[number]
	s.Time = in.upTo(algorithm.MaxTime, "a time")
	s.Level = in.upTo(algorithm.MaxUnits, "a level")
	window := int64(l.Window / time.Microsecond)
	switch l.Algorithm {
	case ratelimit.AlgorithmSlidingLog:
		in.log(&s)
	case ratelimit.AlgorithmSlidingWindow:
		s.Rest = in.upTo(algorithm.MaxUnits, "a previous count")
	case ratelimit.AlgorithmFixedWindow, ratelimit.AlgorithmPenalty:
		s.Rest = in.upTo(0, "a rest")
	default:
		s.Rest = in.upTo(window-1, "a rest")
	}
	windows := l.Algorithm == ratelimit.AlgorithmFixedWindow || l.Algorithm == ratelimit.AlgorithmSlidingWindow
	if windows && s.Time%window != 0 {
		in.fail("a window that starts at no multiple of its length")
	}
	return tag, l, s, in.err == nil && !algorithm.Fresh(s, now, l)
}

// log reads a log's entries.
func (in *dumpReader) log(s *algorithm.State) {
	n := in.upTo(maxDumpedLog, "a log's length")
	at, units := int64(0), int64(0)
	for i := range n {
		distance := in.upTo(s.Time-at, "a log's instant")
		one := algorithm.Entry{At: at + distance, Units: in.upTo(s.Level-units, "a log's entry")}
		if i > 0 && distance == 0 || one.Units == 0 {
			in.fail("a log that is not in order")
		}
		if in.err != nil {
			return
		}
		at, units = one.At, units+one.Units
		s.Log = append(s.Log, one)
	}
	if units != s.Level {
		in.fail("a log whose entries do not add up")
	}
}

func (in *dumpReader) entry(t *table, limits []ratelimit.Limit, now int64) {
	tag, l, s, ok := in.state(limits, now)
	if !ok {
		return
	}
	sh, fraction := t.place(tag)
	if sh.find(tag, fraction) != nil {
		in.fail("a key that comes twice")
		return
	}
	if t.keys.Load() >= t.most {
		in.err = errors.New(tooMany)
		return
	}
	forgotten := sh.counts.forgotten
	e := sh.admit(t, &key{tag: tag, fraction: fraction, slot: noSlot}, now)
	if e == nil || sh.counts.forgotten > forgotten {
		in.fail("keys that are not spread evenly")
		return
	}
	sh.restore(e, s, &l)
}

// shared reads a shared count. If there are other shards here than where it
// comes from, one shard may get several of a policy: it keeps the fullest.
func (in *dumpReader) shared(t *table, limits []ratelimit.Limit, now int64) {
	at := uint64(in.upTo(1<<32-1, "a shard"))
	tag, l, s, ok := in.state(limits, now)
	if !ok {
		return
	}
	sh := &t.shards[at*uint64(len(t.shards))>>32]
	if e := sh.spilled(tag); e != nil {
		if sh.used(e, now).used >= algorithm.Used(&s, now, &l) {
			return
		}
		sh.clear(e)
		sh.restore(e, s, &l)
		return
	}
	if e := sh.admitTogether(tag, now); e != nil {
		sh.restore(e, s, &l)
	}
}

// restore writes a state that has its log's entries.
func (sh *shard) restore(e *entry, s algorithm.State, l *ratelimit.Limit) {
	if l.Algorithm == ratelimit.AlgorithmSlidingLog {
		clock, entries := s.Time, s.Log
		s = algorithm.State{}
		for _, one := range entries {
			sh.logs.add(&s, one)
		}
		if s.Time != clock {
			if s.Rest == 0 {
				sh.logs.ring(&s)
			}
			s.Time = clock
		}
	}
	sh.set(e, &s, sh.limits.hold(l))
	e.open()
}
