package redisstore

import (
	"time"

	"github.com/redis/go-redis/v9"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// latest is the latest instant the script can calculate with, the year 2255.
const latest = 1<<53 - 1

// program is one run of the script: some calls whose keys lie in one place.
// script/main.lua has the format. It is reused.
type program struct {
	calls []*call

	keys   []string
	number map[string]int32 // of each key, from 1; empty while they are few
	shapes []keyShape
	limits []ratelimit.Limit

	kinds  int64 // of what is in it: hasLogs and the like
	items  int
	script *script
	text   []byte
	args   []any
	cmd    *command

	states []keyState
}

// What a program may have in it, as the script is told.
const (
	hasLogs int64 = 1 << iota
	hasChanges
	hasRepeats
	isApart // and none of the others: all requests have their keys for themselves
	hasPenalties
)

// keyShape is what tells how a key's state is written.
type keyShape struct {
	algorithm ratelimit.Algorithm
	window    time.Duration
}

func newProgram() *program { return &program{number: make(map[string]int32)} }

func (p *program) reset() {
	for i := range p.calls {
		p.calls[i] = nil
	}
	p.calls = p.calls[:0]
	for i := range p.keys {
		p.keys[i] = ""
	}
	p.keys = p.keys[:0]
	if len(p.number) > 0 {
		p.number = resetMap(p.number)
	}
	p.shapes, p.limits = p.shapes[:0], p.limits[:0]
	p.kinds, p.items = 0, 0
	for i := range p.args {
		p.args[i] = nil
	}
	p.args = p.args[:0]
	p.cmd = nil
	p.states = p.states[:0]
}

// resetMap empties a map, and drops one that a single huge call has blown up.
func resetMap(m map[string]int32) map[string]int32 {
	if len(m) > 4*maxBatch {
		return make(map[string]int32)
	}
	for k := range m {
		delete(m, k)
	}
	return m
}

// add adds a call's requests.
func (p *program) add(c *call) {
	p.calls = append(p.calls, c)
	p.items += len(c.items)
	if c.adjusts {
		p.kinds |= hasChanges
	}
	for i := range c.items {
		item := &c.items[i]
		item.index = p.key(item)
		item.limitIndex = p.limit(&item.limit)
		for j := 0; j < i && !c.adjusts; j++ {
			if c.items[j].index == item.index {
				p.kinds |= hasRepeats
			}
		}
	}
}

// fewKeys are compared with each other sooner than they are put into a map.
const fewKeys = 8

// known is the number of a key, 0 if it is new.
func (p *program) known(key string) int32 {
	if len(p.keys) > fewKeys {
		return p.number[key]
	}
	for i := range p.keys {
		if p.keys[i] == key {
			return int32(i + 1)
		}
	}
	return 0
}

func (p *program) key(item *item) int32 {
	if n := p.known(item.key); n > 0 {
		return n
	}
	p.keys = append(p.keys, item.key)
	switch item.limit.Algorithm {
	case ratelimit.AlgorithmSlidingLog:
		p.kinds |= hasLogs
	case ratelimit.AlgorithmPenalty:
		p.kinds |= hasPenalties
	}
	p.shapes = append(p.shapes, keyShape{item.limit.Algorithm, item.limit.Window})
	n := int32(len(p.keys))
	if n == fewKeys+1 {
		for i, key := range p.keys {
			p.number[key] = int32(i + 1)
		}
	}
	if n > fewKeys {
		p.number[item.key] = n
	}
	return n
}

// limit is the number of a limit, from 1. A batch has few limits, and mostly
// the same one many times over.
func (p *program) limit(l *ratelimit.Limit) int32 {
	for i := len(p.limits) - 1; i >= 0; i-- {
		if p.limits[i] == *l {
			return int32(i + 1)
		}
	}
	p.limits = append(p.limits, *l)
	n := int32(len(p.limits))
	if l.Algorithm == ratelimit.AlgorithmPenalty {
		// What there is no room for in one, as the script has it.
		p.limits = append(p.limits, ratelimit.Limit{Quota: l.Block.Factor, Window: l.Block.Cap})
	}
	return n
}

// command makes the command that runs the program; now is the time in
// microseconds, or -1 for the server's own.
func (p *program) command(now int64) *command {
	if p.kinds == 0 && p.items == len(p.keys) {
		p.kinds = isApart
	}
	p.script = &manyScript
	if p.kinds == isApart && p.items == 1 {
		p.script = &loneScript
		p.text = appendCharge(p.text[:0], &p.calls[0].items[0])
	} else {
		p.text = p.appendBatch(p.text[:0])
	}
	p.args = append(p.args[:0], "evalsha", p.script.sha, len(p.keys))
	for _, key := range p.keys {
		p.args = append(p.args, key)
	}
	p.args = append(p.args, p.text)
	if now >= 0 {
		p.args = append(p.args, now)
	}
	p.cmd = newCommand(p.args)
	return p.cmd
}

// again makes the command that brings the script along, for a server that does
// not know it.
func (p *program) again() *command {
	args := append([]any(nil), p.args...)
	args[0], args[1] = "eval", p.script.text
	p.cmd = newCommand(args)
	return p.cmd
}

// command is an EVALSHA or EVAL that is never sent twice: the first may have
// been executed though no answer came.
type command struct {
	*redis.StringCmd
}

func newCommand(args []any) *command {
	cmd := redis.NewStringCmd(background, args...)
	cmd.SetFirstKeyPos(3)
	cmd.SetStepCount(1) // or a Cluster's client asks the server about the command
	return &command{cmd}
}

// NoRetry keeps go-redis from sending the command again.
func (*command) NoRetry() bool { return true }

// Clone keeps that true of copies.
func (c *command) Clone() redis.Cmder {
	cloned, ok := c.StringCmd.Clone().(*redis.StringCmd)
	if !ok {
		return c
	}
	return &command{cloned}
}
