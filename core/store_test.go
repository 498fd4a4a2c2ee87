package ratelimit_test

import (
	"context"
	"maps"
	"sync"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

// modelStore is an exact store for the tests of this package: one lock, one
// map, and the machines of package algorithm.
type modelStore struct {
	ratelimit.Registry
	mu     sync.Mutex
	now    func() time.Time
	states map[ratelimit.Key]algorithm.State
	// fails, if set, is what every call returns.
	fails error
	// takes and adjustments count what was asked.
	charges     []ratelimit.Charge
	adjustments []ratelimit.Adjustment
}

func newModelStore() *modelStore {
	return &modelStore{now: time.Now, states: make(map[ratelimit.Key]algorithm.State)}
}

func (s *modelStore) Take(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.fails != nil {
		return s.fails
	}
	s.charges = append(s.charges, charges...)
	now := s.now().UnixMicro()
	next := make(map[ratelimit.Key]algorithm.State)
	admitted := true
	var strikes []int
	blocked := false
	defer func() {
		if blocked {
			return
		}
		for _, i := range strikes {
			key := charges[i].Key()
			s.states[key], _ = algorithm.Force(s.states[key], now, charges[i].Limit, charges[i].Cost)
			results[i] = algorithm.Look(s.states[key], now, charges[i].Limit, 0)
		}
	}()
	for i := range charges {
		c := &charges[i]
		state, ok := next[c.Key()]
		if !ok {
			state = s.states[c.Key()]
		}
		switch c.Mode {
		case ratelimit.ModePeek, ratelimit.ModeOnDenial:
			results[i] = algorithm.Look(state, now, c.Limit, c.Cost)
		case ratelimit.ModePenalty:
			results[i] = algorithm.Look(state, now, c.Limit, 0)
			admitted, blocked = admitted && results[i].Allowed, blocked || !results[i].Allowed
			if i > 0 && results[i].Allowed && !results[i-1].Allowed {
				strikes = append(strikes, i)
			}
		case ratelimit.ModeForce:
			state, results[i] = algorithm.Force(state, now, c.Limit, c.Cost)
		default:
			state, results[i] = algorithm.Step(state, now, c.Limit, c.Cost)
			admitted = admitted && (results[i].Allowed || c.Mode == ratelimit.ModeShadow)
		}
		next[c.Key()] = state
	}
	if admitted {
		maps.Copy(s.states, next)
		return nil
	}
	for i := range charges {
		if results[i].Allowed {
			results[i] = algorithm.Look(s.states[charges[i].Key()], now, charges[i].Limit, 0)
		}
	}
	return nil
}

func (s *modelStore) Adjust(ctx context.Context, adjustments []ratelimit.Adjustment) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.fails != nil {
		return s.fails
	}
	s.adjustments = append(s.adjustments, adjustments...)
	for i := range adjustments {
		a := &adjustments[i]
		s.states[a.Key()] = algorithm.Adjust(s.states[a.Key()], s.now().UnixMicro(), a.Limit, a.At, a.Cost, a.NewCost)
	}
	return nil
}

func (s *modelStore) Reset(_ context.Context, keys []ratelimit.Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails != nil {
		return s.fails
	}
	for _, key := range keys {
		delete(s.states, key)
	}
	return nil
}

// fakeRequest is a request without a framework.
type fakeRequest struct {
	ctx     context.Context
	method  string
	route   string
	unknown bool
	peer    string
	header  map[string][]string
	user    string
	account string
}

func (f *fakeRequest) Context() context.Context {
	if f.ctx == nil {
		return context.Background()
	}
	return f.ctx
}
func (f *fakeRequest) Method() string              { return f.method }
func (f *fakeRequest) Route() (string, bool)       { return f.route, !f.unknown }
func (f *fakeRequest) Header(name string) []string { return f.header[name] }
func (f *fakeRequest) User() string                { return f.user }
func (f *fakeRequest) Account() string             { return f.account }
func (f *fakeRequest) RemoteAddr() string {
	if f.peer == "" {
		return "192.0.2.1:1234"
	}
	return f.peer
}
