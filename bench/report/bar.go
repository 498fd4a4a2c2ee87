package report

import (
	"fmt"
	"strings"

	"github.com/go-floodgate/floodgate/bench/measure"
)

// Bar is a promise about a median. Make one with AtLeast or AtMost.
type Bar struct {
	// Scenario and Contender are the row at which it stands.
	Scenario, Contender string
	// Says is the promise in words, without the number.
	Says string
	// Bound is the number, Least whether it is the least or the most.
	Bound float64
	Least bool
	// Unit is written after numbers: " times", " bytes".
	Unit string
	// Value is what was measured, nil if it was not.
	Value measure.Series
}

// AtLeast is a promise of so much or more.
func AtLeast(bound float64, says string, value measure.Series) Bar {
	return Bar{Says: says, Bound: bound, Least: true, Unit: " times", Value: value}
}

// AtMost is a promise of so much or less.
func AtMost(bound float64, unit, says string, value measure.Series) Bar {
	return Bar{Says: says, Bound: bound, Unit: unit, Value: value}
}

// At says at which row a bar stands.
func (b Bar) At(scenario, contender string) Bar {
	b.Scenario, b.Contender = scenario, contender
	return b
}

// negligible is what a promise of 0 forgives: what the runtime allocates for
// itself meanwhile.
const negligible = 0.01

// Met reports whether the promise is kept.
func (b *Bar) Met() bool {
	if b.Least {
		return b.Value.Median() >= b.Bound
	}
	if b.Bound == 0 {
		return b.Value.Median() <= negligible
	}
	return b.Value.Median() <= b.Bound
}

// promise is the number that was promised.
func (b *Bar) promise() string {
	word := "at most"
	if b.Least {
		word = "at least"
	}
	return fmt.Sprintf("%s %g%s", word, b.Bound, b.Unit)
}

// verdict is "met" or "NOT MET".
func (b *Bar) verdict() string {
	if b.Met() {
		return "met"
	}
	return "**NOT MET**"
}

// barTable lists all promises that were measured.
func barTable(bars []Bar, off map[row]string) Table {
	t := Table{Title: "What is promised", Head: []string{"scenario", "promise", "measured", "quartiles", "", ""}}
	kept := 0
	for _, b := range bars {
		if len(b.Value) == 0 {
			continue
		}
		if b.Met() {
			kept++
		}
		low, high := b.Value.Quartiles()
		mark := ""
		if off[row{b.Scenario, b.Contender}] != "" {
			mark = notComparable
		}
		t.Rows = append(t.Rows, []string{
			b.Scenario, strings.TrimSpace(b.promise() + " " + b.Says), short(b.Value.Median()), short(low) + " to " + short(high), b.verdict(), mark,
		})
	}
	t.Text = fmt.Sprintf("%d of %d promises are kept.", kept, len(t.Rows))
	return t
}

// row names a row of a table.
type row struct{ scenario, contender string }

// short writes a number with three digits that count.
func short(x float64) string {
	switch {
	case x != 0 && x < 0.1 && x > -0.1:
		return fmt.Sprintf("%.3f", x)
	case x < 10 && x > -10:
		return fmt.Sprintf("%.2f", x)
	case x < 100 && x > -100:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}
