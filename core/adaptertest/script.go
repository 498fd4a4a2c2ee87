package adaptertest

import (
	"context"
	"slices"
	"sync"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// Script is a store that answers as it was told and remembers what it was
// asked.
type Script struct {
	mu      sync.Mutex
	steps   []Step
	charges [][]ratelimit.Charge
	changes []ratelimit.Adjustment
	// called is closed and made anew with every call.
	called chan struct{}
}

// Step is the answer to one Take.
type Step struct {
	// Results has one for each charge; the last one stands for all that
	// follow.
	Results []ratelimit.Result
	// Err is the store's failure.
	Err error
}

var _ ratelimit.Store = (*Script)(nil)

// NewScript returns a Script that answers one step after the other, and with
// the last one for ever. Without steps it admits everything.
func NewScript(steps ...Step) *Script {
	if len(steps) == 0 {
		steps = []Step{{Results: []ratelimit.Result{{Allowed: true}}}}
	}
	return &Script{steps: steps, called: make(chan struct{})}
}

// Take answers with the next step.
func (s *Script) Take(_ context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	step := s.steps[min(len(s.charges), len(s.steps)-1)]
	s.charges = append(s.charges, slices.Clone(charges))
	s.tell()
	if step.Err != nil {
		return step.Err
	}
	for i := range results {
		results[i] = step.Results[min(i, len(step.Results)-1)]
	}
	return nil
}

// Adjust remembers the adjustments.
func (s *Script) Adjust(_ context.Context, adjustments []ratelimit.Adjustment) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes = append(s.changes, adjustments...)
	s.tell()
	return nil
}

// Reset does nothing.
func (s *Script) Reset(context.Context, []ratelimit.Key) error { return nil }

// Charges returns the charges of every Take so far.
func (s *Script) Charges() [][]ratelimit.Charge {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.charges)
}

// Adjustments returns everything that Adjust was given so far.
func (s *Script) Adjustments() []ratelimit.Adjustment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.changes)
}

func (s *Script) tell() {
	close(s.called)
	s.called = make(chan struct{})
}

// again returns a channel that is closed with the next call.
func (s *Script) again() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.called
}
