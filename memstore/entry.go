package memstore

import (
	"runtime"
	"sync/atomic"
)

// entry is one key's count: 32 bytes, no pointer, nothing for the garbage
// collector to look at. Beside the three numbers of its state it holds the
// number of the limit that it was last written with, without which nobody
// could tell how much of it is used.
//
//	tag    the key's; 0: the slot is empty
//	base   the state's Time in 56 bits, bits 0-7 of the limit's number
//	rest   Rest in 52 bits, bits 8-19
//	word   packed: what a charge changes in 47 bits (see rate.go), a stamp in
//	       14, packedBit, and openBit, busyBit or neither
//	       whole: Level in 52 bits, and perhaps deniedBit
//
// Nearly all that ever happens to a key is that a cost is added to what is in
// word. While an entry is open that is done by one compare-and-swap, without
// the shard's lock, see known.go. Everything else is done by who holds the lock
// and has closed the entry before, and it is given a new stamp when it is
// opened again: a compare-and-swap that knew it from before fails, and so what
// base, rest and tag were in between is what they had been. (14 bits come round
// after 16,384 changes of this kind in a shard. To be taken in, a goroutine
// would have to stop between two instructions for as long, and go on at just
// that one of them which finds the same count in the same slot.)
//
// While several keys are charged at once their entries are busy, see
// known_all.go: closed, by somebody who holds no lock, for a few instructions.
//
// Fields are read and written atomically but for the readers among those that
// hold the lock, and for entries that nobody else can see yet.
type entry struct {
	tag, word, base, rest uint64
}

const (
	openBit, packedBit = 1 << 0, 1 << 1
	busyBit            = 1 << 2 // of packed entries
	// deniedBit says of a whole entry that the shard's denials may hold a copy.
	deniedBit = 1 << 2

	stampShift, stampMask = 3, 1<<14 - 1
	packShift, packLimit  = 17, 1 << 47

	timeShift, levelShift, restShift = 8, 12, 12

	// limitBits are what is left beside Time and Rest.
	limitBits = timeShift + restShift
)

// close keeps everybody out who does not hold the shard's lock, and reports
// whether they could get in. It is to be called before the state is read that a
// change depends on.
func (e *entry) close() bool {
	for {
		switch w := atomic.LoadUint64(&e.word); {
		case w&(packedBit|busyBit) == packedBit|busyBit:
			runtime.Gosched() // who made it busy waits for nothing
		case w&openBit == 0:
			return false
		case atomic.CompareAndSwapUint64(&e.word, w, w&^openBit):
			return true
		}
	}
}

// open lets them in again, or for the first time.
func (e *entry) open() {
	if w := atomic.LoadUint64(&e.word); w&(packedBit|openBit) == packedBit {
		atomic.StoreUint64(&e.word, w|openBit)
	}
}

// limit is the number of the limit it was last written with.
func (e *entry) limit() uint32 { return limitNumber(e.base, e.rest) }

func limitNumber(base, rest uint64) uint32 { return uint32(base&0xff | rest&0xfff<<8) }

// write changes a closed entry, the word last.
func (e *entry) write(word, base, rest uint64) {
	if e.base != base {
		atomic.StoreUint64(&e.base, base)
	}
	if e.rest != rest {
		atomic.StoreUint64(&e.rest, rest)
	}
	atomic.StoreUint64(&e.word, word)
}

// empty makes the slot of a closed entry a free one.
func (e *entry) empty() {
	atomic.StoreUint64(&e.tag, 0)
	atomic.StoreUint64(&e.word, 0)
}

// leave closes an entry for good and returns it as it was, for another slot.
func (e *entry) leave() entry {
	opened := e.close()
	left := entry{tag: e.tag, word: atomic.LoadUint64(&e.word), base: e.base, rest: e.rest}
	if opened {
		left.word |= openBit
	}
	return left
}

// settle puts what has left another slot into one that is closed.
func (e *entry) settle(left entry, stamp uint64) {
	if left.word&packedBit != 0 {
		left.word = left.word&^(stampMask<<stampShift) | stamp<<stampShift
	}
	atomic.StoreUint64(&e.tag, left.tag)
	e.write(left.word, left.base, left.rest)
}
