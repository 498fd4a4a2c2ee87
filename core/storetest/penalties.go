package storetest

import (
	"fmt"
	"math/rand/v2"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

func penaltyCases() []testCase {
	return []testCase{
		{"penalty_blocks", setClock, "each strike that is not tolerated blocks for longer than the one before, up to the cap, and is forgotten in the end", casePenaltyBlocks},
		{"penalty_guards", anyClock, "a penalty vetoes while it blocks, and is struck only if the charge right before it does not fit", casePenaltyGuards},
		{"penalty_costs_nothing", anyClock, "what a blocked client asks for counts against no policy and is no strike", casePenaltyCostsNothing},
		{"penalty_reset", anyClock, "Reset frees a blocked client at once, and nobody else", casePenaltyReset},
		{"penalty_schedules", setClock, "on any number of instances strikes and blocks are those of a count that knows nothing of how they are kept", casePenaltySchedules},
	}
}

const penalty = ratelimit.ModePenalty

// penaltyOf makes the limit of a penalty.
func (s *suite) penaltyOf(p ratelimit.Penalty) ratelimit.Limit {
	s.Helper()
	l, err := p.Limit()
	if err != nil {
		s.Fatalf("%+v: %v", p, err)
	}
	return l
}

// guarded is a charge and the penalty that guards it.
func guarded(c ratelimit.Charge, l ratelimit.Limit) []ratelimit.Charge {
	return []ratelimit.Charge{c, {Policy: c.Policy, Partition: c.Partition, Limit: l, Cost: 1, Mode: penalty}}
}

func casePenaltyBlocks(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		s.reopen() // the penalty's key is the same for all
		const longest = 5 * time.Minute
		l := s.penaltyOf(ratelimit.Penalty{Base: time.Minute, Factor: 2, Cap: longest, ForgetAfter: 10 * time.Minute, Tolerate: 2})
		over := guarded(on("client", limit(1), 2), l)
		strike := func(n int, block time.Duration) {
			s.Helper()
			r := s.take(over...)[1]
			if r.Allowed != (block == 0) || r.RetryAfter != block || r.ResetAfter != block+l.Window {
				s.Fatalf("after strike %d: %s, want a block of %v", n, showResult(r), block)
			}
			if block == 0 {
				return
			}
			s.clock.advance(block - time.Microsecond)
			if r = s.take(over...)[1]; r.Allowed || r.RetryAfter != time.Microsecond {
				s.Fatalf("a microsecond before block %d of %v is over: %s, want it denied", n, block, showResult(r))
			}
			s.clock.advance(time.Microsecond)
		}
		for n, block := range []time.Duration{0, 0, time.Minute, 2 * time.Minute, 4 * time.Minute, longest, longest} {
			strike(n+1, block)
		}
		// A microsecond before all is forgotten, and then.
		s.clock.advance(l.Window - time.Microsecond)
		strike(8, longest)
		s.clock.advance(l.Window)
		if r := s.take(over[1]); !r[0].Allowed || r[0].Remaining != 3 || r[0].ResetAfter != 0 {
			s.Errorf("when all is forgotten: %s, want it as good as new", showResult(r[0]))
		}
		strike(1, 0)
	})
}

func casePenaltyGuards(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		s.reopen() // the penalty's key is the same for all
		l := s.penaltyOf(ratelimit.Penalty{Tolerate: 99, ForgetAfter: s.window, Base: s.window, Cap: s.window})
		fits, over := on("client", limit(1000), 1), under("over", on("client", limit(1), 2))
		guard := guarded(over, l)[1]
		zero := guard
		zero.Cost = 0
		want := int64(100)
		for _, try := range []struct {
			what    string
			charges []ratelimit.Charge
			strike  bool
		}{
			{"alone", []ratelimit.Charge{guard}, false},
			{"behind one that fits", []ratelimit.Charge{fits, guard}, false},
			{"behind one that does not fit", []ratelimit.Charge{over, guard}, true},
			{"before one that does not fit", []ratelimit.Charge{guard, over}, false},
			{"between", []ratelimit.Charge{fits, guard, over}, false},
			{"not right behind one that does not fit", []ratelimit.Charge{over, fits, guard}, false},
			{"behind a shadow that does not fit", []ratelimit.Charge{fits, as(shadow, over), guard}, true},
			{"behind a peek that does not fit", []ratelimit.Charge{as(peek, over), guard}, true},
			{"behind a force past the limit", []ratelimit.Charge{as(force, under("debt", over)), guard}, false},
			{"behind an on-denial", []ratelimit.Charge{over, as(onDenial, under("strikes", fits)), guard}, false},
			{"behind another penalty", []ratelimit.Charge{over, under("first", guard), guard}, false},
			{"with a cost of 0", []ratelimit.Charge{over, zero}, false},
			{"looked at", []ratelimit.Charge{over, as(peek, zero)}, false},
		} {
			if try.strike {
				want--
			}
			results := s.take(try.charges...)
			for i, c := range try.charges {
				if r := results[i]; c.Key() == guard.Key() && (!r.Allowed || r.Remaining != want) {
					s.Errorf("%s: %s, want it allowed with %d strikes left", try.what, showResult(r), want)
				}
			}
			if r := s.take(guard)[0]; r.Remaining != want {
				s.Errorf("after one %s: %d strikes left, want %d", try.what, r.Remaining, want)
			}
		}
		s.left(998, fits, "after two requests with a penalty that did not block")
	})
}

func casePenaltyCostsNothing(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		s.reopen() // the penalty's key is the same for all
		l := s.penaltyOf(ratelimit.Penalty{Base: s.window, Cap: s.window, ForgetAfter: s.window})
		one := on("client", limit(10), 1)
		all := one
		all.Cost = 11
		s.take(guarded(one, l)...)
		r := s.take(guarded(all, l)...)
		if r[0].Allowed || r[1].Allowed || r[1].RetryAfter <= 0 || r[1].RetryAfter > s.window {
			s.Fatalf("a request for 11 of 10: %s, %s, want it denied and the client blocked", showResult(r[0]), showResult(r[1]))
		}
		strike := as(onDenial, under("strikes", on("client", limit(10), 1)))
		other := under("other", on("client", limit(10), 1))
		for range 3 {
			request := append(guarded(one, l), other, strike, as(shadow, under("watched", other)))
			r = s.take(request...)
			if !r[0].Allowed || r[1].Allowed || !r[2].Allowed {
				s.Fatalf("a request of a blocked client: %s, %s, want only the penalty to deny it", showResult(r[0]), showResult(r[1]))
			}
			if r[0].Remaining != 9 || r[2].Remaining != 10 || r[4].Remaining != 10 {
				s.Errorf("a request of a blocked client was charged: %s, %s, %s", showResult(r[0]), showResult(r[2]), showResult(r[4]))
			}
		}
		s.left(9, one, "after three requests of a blocked client")
		s.left(7, strike, "after three requests of a blocked client, each with an on-denial charge")
		if r := s.take(as(peek, guarded(one, l)[1])); r[0].Allowed {
			s.Errorf("a peek at a penalty that blocks: %s", showResult(r[0]))
		}
		// Whoever is blocked by one penalty brings no strike upon another key.
		request := append(guarded(under("account", on("victim", limit(1), 2)), l), guarded(one, l)...)
		for range 2 {
			if r := s.take(request...); r[0].Allowed || !r[1].Allowed || r[1].Remaining != 1 || r[3].Allowed {
				s.Errorf("a request of a blocked client that exceeds another's limit: %s, %s, %s, want no strike", showResult(r[0]), showResult(r[1]), showResult(r[3]))
			}
		}
		if r := s.take(guarded(on("other client", limit(10), 1), l)...); !r[0].Allowed || !r[1].Allowed {
			s.Errorf("another client: %s, %s, want it admitted", showResult(r[0]), showResult(r[1]))
		}
	})
}

func casePenaltyReset(s *suite) {
	l := s.penaltyOf(ratelimit.Penalty{Base: s.window, Cap: s.window, ForgetAfter: s.window})
	limit := limitOf(ratelimit.AlgorithmSlidingWindow, 1, s.window)
	for _, who := range []string{"a", "b"} {
		s.take(guarded(on(who, limit, 2), l)...)
	}
	key := guarded(on("a", limit, 1), l)[1].Key()
	s.reset(key)
	if r := s.take(guarded(on("a", limit, 1), l)...); !r[0].Allowed || !r[1].Allowed || r[1].Remaining != 1 {
		s.Errorf("after a reset: %s, %s, want it admitted and as good as new", showResult(r[0]), showResult(r[1]))
	}
	if r := s.take(guarded(on("b", limit, 1), l)...); r[1].Allowed {
		s.Errorf("another client was freed as well: %s", showResult(r[1]))
	}
}

// offence is what a client has done, as one would keep it by hand.
type offence struct {
	strikes int64
	last    time.Duration
	block   time.Duration
}

func (o *offence) at(now time.Duration, p *ratelimit.Penalty) (blocked time.Duration) {
	if o.strikes > 0 && now >= o.last+o.block+p.ForgetAfter {
		*o = offence{}
	}
	return max(0, o.last+o.block-now)
}

func (o *offence) strike(now time.Duration, p *ratelimit.Penalty) {
	o.strikes++
	o.last, o.block = now, 0
	if over := o.strikes - p.Tolerate; over > 0 {
		o.block = p.Base
		for range over - 1 {
			o.block = min(o.block*time.Duration(p.Factor), p.Cap)
		}
	}
}

func casePenaltySchedules(s *suite) {
	for _, seed := range s.seeds(8) {
		s.sub(fmt.Sprint("seed_", seed), func(s *suite) {
			s.reopen()
			rnd := rand.New(rand.NewPCG(seed, 2))
			p := ratelimit.Penalty{
				Base: time.Duration(1+rnd.IntN(20)) * time.Second, Factor: 1 + rnd.Int64N(4),
				ForgetAfter: time.Duration(1+rnd.IntN(120)) * time.Second, Tolerate: rnd.Int64N(3),
			}
			p.Cap = p.Base * time.Duration(1+rnd.IntN(30))
			l := s.penaltyOf(p)
			stores, clients := s.instances(), make([]offence, 3)
			began := s.clock.UnixMicro()
			for step := range 300 {
				who := rnd.IntN(len(clients))
				o := &clients[who]
				now := time.Duration(s.clock.UnixMicro()-began) * time.Microsecond
				before := o.at(now, &p)
				// A cost above the capacity never fits, whatever is left.
				over := rnd.IntN(3) > 0
				c := on(fmt.Sprint("client", who), limitOf(pick(rnd, algorithms[:]...), 5000, time.Minute), 1)
				if over {
					c.Cost = 5001
				}
				r := s.takeFrom(pick(rnd, stores...), guarded(c, l)...)
				if over && before == 0 {
					o.strike(now, &p)
				}
				want := o.at(now, &p)
				if r[0].Allowed == over || r[1].Allowed != (want == 0) || r[1].RetryAfter != want {
					s.Fatalf("step %d, %+v, client %d after %d strikes, the last at %v, now %v: %s, want a block of %v",
						step, p, who, o.strikes, o.last, now, showResult(r[1]), want)
				}
				switch rnd.IntN(4) {
				case 0:
					s.clock.advance(want)
				case 1:
					s.clock.advance(max(0, want-time.Microsecond))
				case 2:
					s.clock.advance(time.Duration(rnd.Int64N(p.ForgetAfter.Microseconds())) * time.Microsecond)
				}
			}
		})
	}
}
