package memstore

import "github.com/go-floodgate/floodgate/core/algorithm"

// entry is one key's count: 32 bytes, no pointer, nothing for the garbage
// collector to look at. Beside the three numbers of its state, which leave a
// few bits each, it holds the number of the limit that it was last written
// with, without which nobody could tell how much of it is used.
//
//	time    the state's Time in 56 bits   bits 0-7 of the limit's number
//	level   Level in 52 bits              bits 8-19
//	rest    Rest in 52 bits               bits 20-30, then the denied bit
type entry struct {
	tag               uint64 // 0: the slot is empty
	time, level, rest uint64
}

const (
	timeShift, levelShift, restShift = 8, 12, 12

	// deniedBit says that the shard's denials may hold a copy of the entry.
	deniedBit = 1 << 11

	maxLimits = 1 << 31
)

// state is what the algorithms work on.
func (e *entry) state() algorithm.State {
	return algorithm.State{
		Time:  int64(e.time >> timeShift),
		Level: int64(e.level >> levelShift),
		Rest:  int64(e.rest >> restShift),
	}
}

// limit is the number of the limit it was last written with.
func (e *entry) limit() uint32 {
	return uint32(e.time&0xff) | uint32(e.level&0xfff)<<8 | uint32(e.rest&0x7ff)<<20
}

// set writes a state and clears the denied bit.
func (e *entry) set(s *algorithm.State, limit uint32) {
	e.time = uint64(s.Time)<<timeShift | uint64(limit&0xff)
	e.level = uint64(s.Level)<<levelShift | uint64(limit>>8&0xfff)
	e.rest = uint64(s.Rest)<<restShift | uint64(limit>>20&0x7ff)
}
