package report

import (
	"fmt"
	"math"

	"github.com/go-floodgate/floodgate/bench/measure"
)

// Column is a metric that a comparison shows.
type Column struct {
	Head   string
	Metric string
	// Format writes a median; nil writes three digits.
	Format func(median float64) string
}

// Comparison is a table of the contenders of one scenario. The metric that it
// compares is better the smaller it is.
type Comparison struct {
	Title, Text string
	Scenario    string
	Ours        string
	Metric      string
	Columns     []Column
	// Floor is the contender that Expected counts in.
	Floor string
	// Expected is what each peer's metric should be, as a multiple of the
	// floor's.
	Expected map[string]float64
	// Ratio is the head of the column of ratios.
	Ratio string
	// Self are other contenders of ours, which may be slower without a word.
	Self func(contender string) bool
	// Notes say why a peer is ahead and what it gives up for it.
	Notes map[string]string
}

const (
	// tolerance is how far a row may be off what is expected.
	tolerance = 0.3
	// notComparable marks what depends on a row that is off.
	notComparable = "‡"
	// unexplained is what a row says where a peer is ahead and no one knows why.
	unexplained = "**ahead, and no one has said why**"
)

// table makes the table, remembers which rows are off, and tells which peers are
// ahead, a line each.
func (c *Comparison) table(r *measure.Results, bars []Bar, off map[row]string) (t Table, ahead []string) {
	ours := r.Of(c.Scenario, c.Ours, c.Metric)
	if len(ours) == 0 {
		return t, nil
	}
	t = Table{Title: c.Title, Text: c.Text, Head: []string{""}}
	for _, column := range c.Columns {
		t.Head = append(t.Head, column.Head)
	}
	t.Head = append(t.Head, c.Ratio, "spread", "promised", "", "off", "note")
	for _, name := range r.Contenders(c.Scenario) {
		theirs := r.Of(c.Scenario, name, c.Metric)
		cells := []string{name}
		for _, column := range c.Columns {
			cells = append(cells, column.text(r.Of(c.Scenario, name, column.Metric)))
		}
		ratio := theirs.Per(ours)
		compared, spread, note := "", "", ""
		if name != c.Ours && len(ratio) > 0 {
			compared, spread = short(ratio.Median()), fmt.Sprintf("±%.0f %%", 50*math.Abs(ratio.Spread()))
		}
		isFloor := name == c.Floor || len(theirs) == 0 || c.Self != nil && c.Self(name)
		if _, high := ratio.Quartiles(); name != c.Ours && !isFloor && high < 1 {
			if note = c.Notes[name]; note == "" {
				note = unexplained
			}
			ahead = append(ahead, fmt.Sprintf("%s: %s needs %s times what Floodgate does: %s", c.Scenario, name, short(ratio.Median()), note))
		}
		promised, verdict := standing(bars, row{c.Scenario, name})
		t.Rows = append(t.Rows, append(cells, compared, spread, promised, verdict, c.off(r, name, off), note))
	}
	return t, ahead
}

// off tells how far a peer's row is from what is expected, if that is too far,
// and remembers it.
func (c *Comparison) off(r *measure.Results, name string, off map[row]string) string {
	expected, known := c.Expected[name]
	relative := r.Of(c.Scenario, name, c.Metric).Per(r.Of(c.Scenario, c.Floor, c.Metric))
	if !known || len(relative) == 0 {
		return ""
	}
	deviation := relative.Median()/expected - 1
	if math.Abs(deviation) <= tolerance {
		return ""
	}
	mark := fmt.Sprintf("%s %+.0f %%", notComparable, 100*deviation)
	off[row{c.Scenario, name}] = mark
	return mark
}

// standing are the promises that stand at a row.
func standing(bars []Bar, at row) (promised, verdict string) {
	for _, b := range bars {
		if b.Scenario != at.scenario || b.Contender != at.contender || len(b.Value) == 0 {
			continue
		}
		if promised != "" {
			promised, verdict = promised+"; ", verdict+"; "
		}
		promised += b.promise()
		verdict += b.verdict()
	}
	return promised, verdict
}

func (c *Column) text(s measure.Series) string {
	switch {
	case len(s) == 0:
		return ""
	case c.Format != nil:
		return c.Format(s.Median())
	}
	return short(s.Median())
}
