package redisstore

import (
	"encoding/binary"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// appendCharge appends the one charge of a program as script/lone.lua reads it.
func appendCharge(dst []byte, i *item) []byte {
	l := &i.limit
	dst = append(dst, byte(l.Algorithm), byte(i.mode))
	for _, n := range [...]int64{l.Quota, int64(l.Window / time.Microsecond), l.Capacity(), i.cost} {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(n))
		dst = dst[:len(dst)-1] // a number has 53 bits at most
	}
	return dst
}

// appendBatch appends a program as script/main.lua reads it.
func (p *program) appendBatch(dst []byte) []byte {
	e := encoder{dst: append(dst, 0xdd, 0, 0, 0, 0)}
	e.add(p.kinds, int64(len(p.limits)), int64(len(p.calls)))
	for i := range p.limits {
		l := &p.limits[i]
		e.add(int64(l.Algorithm), l.Quota)
		if l.Algorithm == ratelimit.AlgorithmPenalty {
			e.add(int64(l.Window/time.Microsecond), int64(l.Block.Base/time.Microsecond))
		} else {
			e.add(int64(l.Window/time.Microsecond), l.Capacity())
		}
		e.add(0, 0)
	}
	for _, c := range p.calls {
		switch {
		case c.adjusts:
			e.changes(c)
		case p.kinds == isApart:
			e.add(int64(len(c.items)))
			for i := range c.items {
				item := &c.items[i]
				e.add(item.limitAt()+int64(item.mode), item.cost)
			}
		default:
			if c.shared {
				e.add(-2)
			}
			e.add(int64(len(c.items)))
			for i := range c.items {
				item := &c.items[i]
				e.add(int64(item.index), item.limitAt()+int64(item.mode), item.cost)
			}
		}
	}
	binary.BigEndian.PutUint32(e.dst[len(dst)+1:], uint32(e.count))
	return e.dst
}

// limitAt is eight times where in a batch the item's limit stands.
func (i *item) limitAt() int64 { return 8 * (4 + 6*(int64(i.limitIndex)-1)) }

// encoder makes a MessagePack array of integers. The length at its head is
// filled in when all are there.
type encoder struct {
	dst   []byte
	count int
}

func (e *encoder) changes(c *call) {
	for i := range c.items {
		item := &c.items[i]
		kind := int64(0)
		switch {
		case item.reset:
			kind = -1
		case item.undo != nil:
			kind = -3
		}
		e.add(kind, int64(item.index), item.limitAt())
		if item.reset {
			continue
		}
		e.add(item.at, item.change)
		if u := item.undo; u != nil {
			e.state(&u.after)
			e.state(&u.before)
		}
	}
}

// state adds a state as the script has it.
func (e *encoder) state(s *keyState) {
	if s.stored >= 0 {
		e.add(s.stored)
	} else {
		e.add(s.Time)
	}
	e.add(s.Level, s.Rest)
}

func (e *encoder) add(numbers ...int64) {
	for _, n := range numbers {
		e.dst = appendInt(e.dst, n)
	}
	e.count += len(numbers)
}

// appendInt appends a MessagePack integer.
func appendInt(dst []byte, n int64) []byte {
	switch {
	case n >= 0 && n < 1<<7:
		return append(dst, byte(n))
	case n >= 0 && n < 1<<16:
		return append(dst, 0xcd, byte(n>>8), byte(n))
	case n >= 0 && n < 1<<32:
		return append(dst, 0xce, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	default:
		return append(dst, 0xd3, byte(n>>56), byte(n>>48), byte(n>>40), byte(n>>32), byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	}
}
