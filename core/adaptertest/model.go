package adaptertest

import (
	"context"
	"sync"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

// model is a small exact store whose clock stands still, so that nothing comes
// back while a case runs and every count is certain.
type model struct {
	mu     sync.Mutex
	states map[ratelimit.Key]algorithm.State
}

func newModel() *model { return &model{states: make(map[ratelimit.Key]algorithm.State)} }

// Take decides all charges as one. Only enforcing charges and
// those in shadow occur here.
func (m *model) Take(_ context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := make(map[ratelimit.Key]algorithm.State, len(charges))
	admitted := true
	for i := range charges {
		key := charges[i].Key()
		state, ok := next[key]
		if !ok {
			state = m.states[key]
		}
		next[key], results[i] = algorithm.Step(state, instant, charges[i].Limit, charges[i].Cost)
		admitted = admitted && (results[i].Allowed || charges[i].Mode == ratelimit.ModeShadow)
	}
	for i := range charges {
		key := charges[i].Key()
		if admitted {
			m.states[key] = next[key]
		} else if results[i].Allowed {
			results[i] = algorithm.Look(m.states[key], instant, charges[i].Limit, 0)
			results[i].Allowed = true
		}
	}
	return nil
}

// Adjust changes what was charged.
func (m *model) Adjust(_ context.Context, adjustments []ratelimit.Adjustment) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range adjustments {
		a := &adjustments[i]
		m.states[a.Key()] = algorithm.Adjust(m.states[a.Key()], instant, a.Limit, a.At, a.Cost, a.NewCost)
	}
	return nil
}

// Reset forgets keys.
func (m *model) Reset(_ context.Context, keys []ratelimit.Key) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range keys {
		delete(m.states, key)
	}
	return nil
}
