package measure

import (
	"errors"
	"fmt"
)

// Step is an order that contenders get in turn.
type Step struct {
	// As is the scenario of the results; nothing is recorded if it is empty.
	As    string
	Order Order
	// Skips reports whether a contender is left out; nil leaves out none.
	Skips func(contender string) bool
}

// Plan is what is measured how often.
type Plan struct {
	Rounds     int
	Contenders []string
	Steps      []Step
	// Start begins a session of a contender.
	Start func(contender string) (Session, error)
	// Progress is told what is being done.
	Progress func(text string)
}

// Run carries a plan out. In each round every contender begins afresh, so that
// where its memory happens to lie is not the same in all; then they take turns
// at each step, in an order that changes from round to round.
func (p *Plan) Run(results *Results) error {
	for round := range p.Rounds {
		if err := p.round(round, results); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plan) round(round int, results *Results) (err error) {
	sessions := make([]Session, len(p.Contenders))
	defer func() {
		for _, s := range sessions {
			if s != nil {
				err = errors.Join(err, s.Close())
			}
		}
	}()
	for i, contender := range p.Contenders {
		if sessions[i], err = p.Start(contender); err != nil {
			return fmt.Errorf("%s: %w", contender, err)
		}
	}
	for _, step := range p.Steps {
		p.Progress(fmt.Sprintf("round %d of %d: %s", round+1, p.Rounds, step.Order.Scenario))
		metrics := make([]map[string]float64, len(sessions))
		for turn := range sessions {
			i := (turn + round) % len(sessions)
			if step.Skips != nil && step.Skips(p.Contenders[i]) {
				continue
			}
			if metrics[i], err = sessions[i].Do(step.Order); err != nil {
				return fmt.Errorf("%s, %s: %w", p.Contenders[i], step.Order.Scenario, err)
			}
		}
		for i, m := range metrics {
			if step.As != "" && m != nil {
				results.Add(step.As, p.Contenders[i], m)
			}
		}
	}
	return nil
}
