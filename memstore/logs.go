package memstore

import (
	"encoding/binary"

	"github.com/go-floodgate/floodgate/core/algorithm"
)

// logs keeps the entries of a shard's sliding logs in small chunks without
// pointers. A key's log is, according to its state's Rest:
//
//	0         a single entry of Level units at Time (or none, if Level is 0)
//	a chunk   the last one of a ring of chunks, whose next is the first
//
// Level counts the units of the whole log. Entries that have left are dropped
// when the next one is added and, if the clock can't bring them back, whenever
// the log is looked at, so that each is passed over once.
type logs struct {
	pages []*[chunksPerPage]chunk
	free  uint32 // the first free chunk, 0 if there is none
	rings int    // logs that have chunks
}

const chunksPerPage = 64

// chunk holds a few entries of a log: 7 bytes of instant and varint units of
// the first, then for each a varint of twice the distance in time from the one
// before, plus 1 if varint units other than 1 follow. A zero byte ends it.
type chunk struct {
	next uint32
	data [chunkBytes]byte
}

const (
	chunkBytes = 28
	// chunkEntries is more than a chunk can hold.
	chunkEntries = 16
)

func (l *logs) chunk(n uint32) *chunk { return &l.pages[n/chunksPerPage][n%chunksPerPage] }

// allocate returns an empty chunk.
func (l *logs) allocate() uint32 {
	if l.free == 0 {
		l.pages = append(l.pages, new([chunksPerPage]chunk))
		l.freePage(len(l.pages) - 1)
	}
	n := l.free
	c := l.chunk(n)
	l.free = c.next
	*c = chunk{}
	return n
}

// freePage makes all chunks of a page free ones.
func (l *logs) freePage(page int) {
	from := uint32(page) * chunksPerPage
	for n := from + chunksPerPage - 1; n >= from && n > 0; n-- { // 0 is no chunk's number
		l.chunk(n).next = l.free
		l.free = n
	}
}

// release frees all chunks of a log at once, however many.
func (l *logs) release(s *algorithm.State) {
	if s.Rest == 0 {
		return
	}
	last := l.chunk(uint32(s.Rest))
	first := last.next
	last.next = l.free
	l.free = first
	s.Rest = 0
	if l.rings--; l.rings == 0 && len(l.pages) > 1 {
		// Nothing is left: one page is enough to go on with.
		l.pages, l.free = []*[chunksPerPage]chunk{l.pages[0]}, 0
		l.freePage(0)
	}
}

// chunkReader reads the entries of one chunk.
type chunkReader struct {
	data      *[chunkBytes]byte
	offset    int // of what comes next
	at, units int64
}

// next moves on to the next entry.
func (r *chunkReader) next() bool {
	if r.offset == 0 {
		r.at = instant(r.data)
		r.offset = 7
		r.units = int64(r.varint())
		return r.units != 0
	}
	if r.offset == chunkBytes || r.data[r.offset] == 0 {
		return false
	}
	distance := r.varint()
	r.at += int64(distance >> 1)
	r.units = 1
	if distance&1 != 0 {
		r.units = int64(r.varint())
	}
	return true
}

func (r *chunkReader) varint() uint64 {
	b := r.data[r.offset]
	if b < 0x80 {
		r.offset++
		return uint64(b)
	}
	v, n := binary.Uvarint(r.data[r.offset:])
	r.offset += n
	return v
}

// instant is that of a chunk's first entry.
func instant(data *[chunkBytes]byte) int64 {
	return int64(binary.LittleEndian.Uint64(data[:8]) & (1<<56 - 1))
}

// write puts an entry behind the one at the instant before (or at the start,
// for an offset of 0); false if it does not fit.
func (c *chunk) write(offset *int, before int64, e algorithm.Entry) bool {
	var text [20]byte
	b := text[:0]
	if *offset == 0 {
		b = binary.LittleEndian.AppendUint64(b, uint64(e.At))[:7]
		b = binary.AppendUvarint(b, uint64(e.Units))
	} else {
		distance := uint64(e.At-before) << 1
		if e.Units == 1 {
			b = binary.AppendUvarint(b, distance)
		} else {
			b = binary.AppendUvarint(binary.AppendUvarint(b, distance|1), uint64(e.Units))
		}
	}
	if *offset+len(b) > chunkBytes {
		return false
	}
	*offset += copy(c.data[*offset:], b)
	return true
}
