package measure

import (
	"cmp"
	"encoding/json"
	"slices"
)

// Cell names one number that each round measures: a metric of a contender in a
// scenario.
type Cell struct{ Scenario, Contender, Metric string }

// Results are the numbers of a run. The zero value is empty and ready. They are
// written as JSON and read again.
type Results struct {
	series     map[Cell]Series
	contenders map[string][]string
}

// kept is how Results are written.
type kept struct {
	Contenders map[string][]string
	Series     []keptSeries
}

type keptSeries struct {
	Cell
	Rounds Series
}

// MarshalJSON writes all numbers, in an order that is always the same.
func (r *Results) MarshalJSON() ([]byte, error) {
	k := kept{Contenders: r.contenders}
	for cell, s := range r.series {
		k.Series = append(k.Series, keptSeries{Cell: cell, Rounds: s})
	}
	slices.SortFunc(k.Series, func(a, b keptSeries) int {
		return cmp.Or(cmp.Compare(a.Scenario, b.Scenario), cmp.Compare(a.Contender, b.Contender), cmp.Compare(a.Metric, b.Metric))
	})
	return json.Marshal(k)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (r *Results) UnmarshalJSON(text []byte) error {
	var k kept
	if err := json.Unmarshal(text, &k); err != nil {
		return err
	}
	r.contenders, r.series = k.Contenders, make(map[Cell]Series, len(k.Series))
	for _, s := range k.Series {
		r.series[s.Cell] = s.Rounds
	}
	return nil
}

// Add adds a round's metrics of a contender in a scenario.
func (r *Results) Add(scenario, contender string, metrics map[string]float64) {
	if r.series == nil {
		r.series, r.contenders = make(map[Cell]Series), make(map[string][]string)
	}
	if !slices.Contains(r.contenders[scenario], contender) {
		r.contenders[scenario] = append(r.contenders[scenario], contender)
	}
	for metric, value := range metrics {
		cell := Cell{Scenario: scenario, Contender: contender, Metric: metric}
		r.series[cell] = append(r.series[cell], value)
	}
}

// Set sets a metric that follows from others.
func (r *Results) Set(scenario, contender, metric string, s Series) {
	r.series[Cell{Scenario: scenario, Contender: contender, Metric: metric}] = s
}

// Of returns what the rounds gave for a cell, nil if it was not measured.
func (r *Results) Of(scenario, contender, metric string) Series {
	return r.series[Cell{Scenario: scenario, Contender: contender, Metric: metric}]
}

// Contenders returns who was measured in a scenario, in the order of the first
// round.
func (r *Results) Contenders(scenario string) []string { return r.contenders[scenario] }

// Series is one number of each round, in their order.
type Series []float64

// Median is the middle of s, the mean of the two middle ones if they are even
// in number, 0 if there are none.
func (s Series) Median() float64 { return s.quantile(0.5) }

// Quartiles are the values that a quarter of the rounds lie below and above.
func (s Series) Quartiles() (low, high float64) { return s.quantile(0.25), s.quantile(0.75) }

// Spread is how far the quartiles lie apart, as a share of the median.
func (s Series) Spread() float64 {
	if s.Median() == 0 {
		return 0
	}
	low, high := s.Quartiles()
	return (high - low) / s.Median()
}

// quantile interpolates between the two nearest values.
func (s Series) quantile(q float64) float64 {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.SortedFunc(slices.Values(s), cmp.Compare)
	place := q * float64(len(sorted)-1)
	below := int(place)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (place-float64(below))*(sorted[above]-sorted[below])
}

// Per divides round by round, so that what slowed a whole round down falls out.
// It is nil if either has no rounds.
func (s Series) Per(other Series) Series {
	return s.with(other, func(a, b float64) float64 {
		if b == 0 {
			return 0
		}
		return a / b
	})
}

// Minus subtracts round by round. It is nil if either has no rounds.
func (s Series) Minus(other Series) Series {
	return s.with(other, func(a, b float64) float64 { return a - b })
}

func (s Series) with(other Series, f func(a, b float64) float64) Series {
	var out Series
	for i := range min(len(s), len(other)) {
		out = append(out, f(s[i], other[i]))
	}
	return out
}
