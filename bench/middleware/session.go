package middleware

import (
	"fmt"
	"net/http"

	"github.com/go-floodgate/floodgate/bench/measure"
)

// Kind is the kind of session that measures here.
const Kind = "middleware"

// What a session can be told to do, as Order.Scenario.
const (
	allowed = "allowed"
	denied  = "denied"
)

// Added is the metric that is compared: nanoseconds beside the bare handler's.
// AddedAllocs are its allocations.
const (
	Added       = "added"
	AddedAllocs = "added allocs"
)

// Scenario names what is measured of a framework.
func Scenario(framework, what string) string { return "middleware: " + framework + ", " + what }

type session struct{ contender Contender }

// NewSession begins a session of a contender.
func NewSession(id string) (measure.Session, error) {
	c, err := Named(id)
	if err != nil {
		return nil, err
	}
	return &session{contender: c}, nil
}

func (s *session) Do(o measure.Order) (map[string]float64, error) {
	quota, want := int64(Plenty), http.StatusOK
	if o.Scenario == denied {
		quota, want = few, http.StatusTooManyRequests
	}
	site, err := s.contender.New(quota)
	if err != nil {
		return nil, err
	}
	serve, err := site.serve()
	if err != nil {
		return nil, err
	}
	if o.Scenario == denied {
		for range few {
			serve()
		}
	}
	metrics, wrong := measure.Speed(o.Processors, o.For, []measure.Pass{func(n int) (wrong int) {
		for range n {
			if serve() != want {
				wrong++
			}
		}
		return wrong
	}})
	if wrong > 0 && !s.contender.Free {
		return nil, fmt.Errorf("middleware: %d answers of %s to what is %s had another status", wrong, s.contender.ID(), o.Scenario)
	}
	return metrics, nil
}

func (*session) Close() error { return nil }

// Measure runs all scenarios that size has. start begins a session of a
// contender.
func Measure(size *measure.Size, start func(contender string) (measure.Session, error), results *measure.Results) error {
	for _, framework := range Frameworks {
		var steps []measure.Step
		for _, what := range []string{allowed, denied} {
			if as := Scenario(framework, what); size.Has(as) {
				steps = append(steps, measure.Step{As: as, Order: measure.Order{Scenario: what, Processors: 1, For: size.Each}})
			}
		}
		if len(steps) == 0 {
			continue
		}
		var names []string
		for _, c := range All() {
			if c.Framework == framework {
				names = append(names, c.Name)
			}
		}
		plan := measure.Plan{
			Rounds: size.Rounds, Contenders: names, Steps: steps, Progress: func(text string) { size.Progress(framework + ": " + text) },
			Start: func(name string) (measure.Session, error) { return start(framework + ": " + name) },
		}
		if err := plan.Run(results); err != nil {
			return err
		}
		for _, s := range steps {
			derive(results, s.As)
		}
	}
	return nil
}

// derive takes what the bare handler needs from the others, round by round.
func derive(results *measure.Results, scenario string) {
	for _, name := range results.Contenders(scenario) {
		for metric, added := range map[string]string{measure.Nanoseconds: Added, measure.Allocs: AddedAllocs} {
			switch series := results.Of(scenario, name, metric); name {
			case Bare:
			case Clock:
				results.Set(scenario, name, added, series)
			default:
				results.Set(scenario, name, added, series.Minus(results.Of(scenario, Bare, metric)))
			}
		}
	}
}
