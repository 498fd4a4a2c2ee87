package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/redis/go-redis/v9"
)

// runner builds calls to Redis and reads their answers. It is pooled with its
// memory, and given back only when the client has let go of it.
type runner struct {
	calls    []*call
	programs []*program
	spare    []*program
	bySlot   map[uint32]*program
	cmds     []redis.Cmder // of programs
	errs     []error       // of programs
}

var runners = sync.Pool{New: func() any { return &runner{bySlot: make(map[uint32]*program)} }}

func (r *runner) reset() {
	for i := range r.calls {
		r.calls[i] = nil
	}
	r.calls = r.calls[:0]
	for _, p := range r.programs {
		p.reset()
	}
	clear(r.cmds)
	r.cmds = r.cmds[:0]
	r.spare = append(r.spare, r.programs...)
	r.programs, r.errs = r.programs[:0], r.errs[:0]
	clear(r.bySlot)
}

func (r *runner) program() *program {
	var p *program
	if last := len(r.spare) - 1; last >= 0 {
		p, r.spare = r.spare[last], r.spare[:last]
	} else {
		p = newProgram()
	}
	r.programs = append(r.programs, p)
	return p
}

// build sorts the calls into programs: one for each slot of a Cluster, one
// elsewhere, and adjustments by themselves, since the answer does not tell
// what becomes of a log by them.
func (r *runner) build() {
	if len(r.calls) == 1 {
		r.program().add(r.calls[0])
		return
	}
	for _, c := range r.calls {
		place := uint32(c.slot) << 1
		if c.adjusts {
			place |= 1
		}
		p := r.bySlot[place]
		if p == nil {
			p = r.program()
			r.bySlot[place] = p
		}
		p.add(c)
	}
}

// exchange makes the call to Redis. The error is that of the call; those of
// programs are kept for finish.
func (r *runner) exchange(ctx context.Context, l *lane) error {
	r.build()
	now := l.store.scriptTime()
	for _, p := range r.programs {
		r.cmds = append(r.cmds, p.command(now))
	}
	send(ctx, l.client, r.cmds)
	if unknown := r.unknownScript(); len(unknown) > 0 {
		send(ctx, l.client, unknown)
	}
	var failure error
	answered := false
	for _, p := range r.programs {
		err := l.timeout(p.cmd.Err())
		if err == nil {
			answered = true
		} else if failure == nil {
			failure = err
		}
		r.errs = append(r.errs, err)
	}
	if answered {
		return nil
	}
	return failure
}

// timeout is ErrTimeout, with what is known of the cause, for the client's own
// ways of saying so.
func (l *lane) timeout(err error) error {
	if err == nil {
		return nil
	}
	var network net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return l.noAnswer()
	case errors.As(err, &network) && network.Timeout():
		return fmt.Errorf("%w (%w)", ErrTimeout, err)
	default:
		return err
	}
}

// noAnswer is ErrTimeout and, if the server can't even be reached, why.
func (l *lane) noAnswer() error {
	if cause := dialFailures.of(l.server); cause != nil {
		return fmt.Errorf("%w (%w)", ErrTimeout, cause)
	}
	return ErrTimeout
}

func send(ctx context.Context, client sender, cmds []redis.Cmder) {
	if len(cmds) == 1 {
		if err := client.Process(ctx, cmds[0]); err != nil && cmds[0].Err() == nil {
			cmds[0].SetErr(err)
		}
		return
	}
	pipe := client.Pipeline()
	for _, cmd := range cmds {
		_ = pipe.Process(ctx, cmd) // queues
	}
	if _, err := pipe.Exec(ctx); err != nil {
		// A hook may have kept the commands from being sent at all.
		failed := false
		for _, cmd := range cmds {
			failed = failed || cmd.Err() != nil
		}
		for _, cmd := range cmds {
			if !failed {
				cmd.SetErr(err)
			}
		}
	}
}

// unknownScript are the commands to be sent again because their server does
// not know the script; it has run none of them.
func (r *runner) unknownScript() []redis.Cmder {
	var again []redis.Cmder
	for _, p := range r.programs {
		if err := p.cmd.Err(); err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
			again = append(again, p.again())
		}
	}
	return again
}

// finish answers the calls.
func (r *runner) finish() {
	for i, p := range r.programs {
		err := r.errs[i]
		var replay replay
		if err == nil {
			err = replay.read(p, p.cmd.Val())
		}
		for j, c := range p.calls {
			failure := err
			if err == nil {
				failure = replay.run(c)
			}
			p.calls[j] = nil
			c.finish(failure)
		}
	}
}

// fail answers all calls with an error.
func (r *runner) fail(err error) {
	for i, c := range r.calls {
		r.calls[i] = nil
		c.finish(err)
	}
}
