package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

func settlingCases() []testCase {
	return []testCase{
		{"settled_by_any", setClock, "what was reserved may be settled by another process, to more and to less, again and again, in whatever window: never below zero, never in another window", caseSettledByAny},
		{"settled_at_once", setClock, "of what is settled at the same time, to more and to less, nothing is lost", caseSettledAtOnce},
	}
}

func caseSettledByAny(s *suite) {
	for _, a := range algorithms {
		for _, seed := range s.seeds(2) {
			s.sub(fmt.Sprint(a, "/seed_", seed), func(s *suite) {
				s.reopen()
				newSettlement(s, a, seed).run(150)
			})
		}
	}
}

// settlement draws what to reserve and to settle under one limit, each time by
// the next instance.
type settlement struct {
	*schedule
	model    model
	stores   []ratelimit.Store
	limit    ratelimit.Limit
	reserved []ratelimit.Adjustment // Cost is what was settled last
	call     int
}

func newSettlement(s *suite, a ratelimit.Algorithm, seed uint64) *settlement {
	d := &schedule{suite: s, seed: seed, rnd: rand.New(rand.NewPCG(seed, 2))}
	window := pick(d.rnd, time.Second, 7*time.Second, time.Minute)
	return &settlement{schedule: d, model: make(model), stores: s.instances(), limit: limitOf(a, pick[int64](d.rnd, 10, 100), window)}
}

func (m *settlement) run(steps int) {
	m.Helper()
	for range steps {
		m.store = m.stores[m.call%len(m.stores)]
		m.call++
		switch n := m.rnd.IntN(10); {
		case n < 4 || len(m.reserved) == 0:
			m.reserve()
		case n < 8:
			m.settleOne()
		default:
			m.pass()
		}
		m.decide(m.charge("client", 0))
		m.decide(m.charge("beside", 0))
	}
}

func (m *settlement) charge(who string, cost int64) ratelimit.Charge {
	c := on(who, m.limit, cost)
	c.Settles = true
	return c
}

// reserve charges an estimate, which may be nothing at all.
func (m *settlement) reserve() {
	m.Helper()
	c := m.charge(pick(m.rnd, "client", "client", "client", "beside"), m.rnd.Int64N(m.limit.Capacity()/3))
	if r := m.decide(c); r.Allowed {
		m.reserved = append(m.reserved, changed(c, r, 0))
	}
}

// decide asks the store and the model.
func (m *settlement) decide(c ratelimit.Charge) ratelimit.Result {
	m.Helper()
	m.note("take %s at %d", show(c), m.clock.UnixMicro())
	got := m.take(c)[0]
	want := m.model.take([]int64{m.clock.UnixMicro()}, []ratelimit.Charge{c})[0]
	if diff := differ(want.Result, got, want.in); diff != "" {
		m.fail("%s: %s", show(c), diff)
	}
	return got
}

func (m *settlement) settleOne() {
	m.Helper()
	a := &m.reserved[max(0, len(m.reserved)-1-m.rnd.IntN(5))]
	a.NewCost = pick(m.rnd, 0, a.Cost/2, a.Cost+m.rnd.Int64N(m.limit.Capacity()), 3*m.limit.Capacity())
	m.note("settle %+v", *a)
	m.adjust(*a)
	m.model.adjust(m.clock.UnixMicro(), *a)
	a.Cost = a.NewCost
}

// pass lets time pass, often exactly to the end of a window or just before it.
func (m *settlement) pass() {
	window := m.limit.Window
	rest := window - time.Duration(m.clock.UnixMicro())*time.Microsecond%window
	m.clock.advance(pick(m.rnd, time.Microsecond, window/7, rest-time.Microsecond, rest, rest+time.Microsecond, window, window+rest, 3*window))
}

// caseSettledAtOnce has each caller reserve 5 and settle in two steps, up and
// down or down and up.
func caseSettledAtOnce(s *suite) {
	s.each(func(s *suite, limit func(int64) ratelimit.Limit) {
		c := on("client", limit(20*callers), 5)
		c.Settles = true
		s.atOnce(callers, func(ctx context.Context, store ratelimit.Store, i int) error {
			results := make([]ratelimit.Result, 1)
			if err := store.Take(ctx, []ratelimit.Charge{c}, results); err != nil {
				return err
			}
			costs := []int64{12, 3}
			if i%2 == 0 {
				costs = []int64{1, 7}
			}
			settled := c
			for _, cost := range costs {
				if err := store.Adjust(ctx, []ratelimit.Adjustment{changed(settled, results[0], cost)}); err != nil {
					return err
				}
				settled.Cost = cost
			}
			return nil
		})
		s.left(15*callers, c, fmt.Sprintf("%d goroutines reserved 5 and settled half of them to 3, half to 7", callers))
	})
}
