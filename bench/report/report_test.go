package report

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-floodgate/floodgate/bench/measure"
)

// sample has Floodgate at 20, a peer at 50, one that is faster, and a floor of 10.
func sample() *measure.Results {
	var r measure.Results
	for range 3 {
		for name, ns := range map[string]float64{"floor": 10, "Floodgate": 20, "peer": 50, "swift": 10} {
			r.Add("race", name, map[string]float64{"ns": ns})
		}
	}
	return &r
}

func comparison() Comparison {
	return Comparison{
		Title: "Race", Scenario: "race", Ours: "Floodgate", Metric: "ns", Columns: []Column{{Head: "ns", Metric: "ns"}},
		Floor: "floor", Expected: map[string]float64{"peer": 2, "swift": 1}, Ratio: "times",
	}
}

func document(bound float64) *Document {
	r := sample()
	bar := AtLeast(bound, "the throughput of peer", r.Of("race", "peer", "ns").Per(r.Of("race", "Floodgate", "ns"))).At("race", "peer")
	return &Document{
		Machine: Machine{Date: time.Unix(0, 0)}, Results: r,
		Sections: []Section{{
			Title: "Races", Comparisons: []Comparison{comparison()}, Bars: []Bar{bar},
			Curves: []Curve{{Title: "a < b", File: "curve.svg", X: "x", Y: "y", Lines: []Line{
				{Name: "one & all", Points: []Point{{X: 1, Y: 5}, {X: 1000, Y: 50}}},
				{Name: "other", Points: []Point{{X: 1, Y: 5}, {X: 1000, Y: 51}}},
			}}},
		}},
	}
}

func TestPromises(t *testing.T) {
	t.Parallel()
	for bound, want := range map[float64]string{2.5: "met", 2.6: "NOT MET"} {
		var out strings.Builder
		if err := document(bound).Print(&out); err != nil {
			t.Fatal(err)
		}
		if line := lineOf(out.String(), "  peer"); !strings.Contains(line, want) || want == "met" && strings.Contains(line, "NOT") {
			t.Errorf("2.5 times, and %v is promised: %q, want %s", bound, line, want)
		}
	}
	for value, met := range map[float64]bool{4: true, 4.1: false} {
		if b := AtMost(4, "", "", measure.Series{value}); b.Met() != met {
			t.Errorf("%v is at most 4: %v", value, b.Met())
		}
	}
}

// TestMarks shows that a peer's row that is not as expected is marked, also where
// a promise rests on it, and that one which is ahead is told of.
func TestMarks(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := document(2).Print(&out); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if line := lineOf(text, "  peer"); !strings.Contains(line, notComparable+" +150 %") {
		t.Errorf("a peer that needs 5 floors, and 2 are expected: %q", line)
	}
	if line := lineOf(text, "  swift"); strings.Contains(line, notComparable) || !strings.Contains(line, "ahead") {
		t.Errorf("a peer that is as expected, and ahead: %q", line)
	}
	if line := lineOf(text, "  race "); !strings.Contains(line, notComparable) {
		t.Errorf("a promise that rests on a marked row: %q", line)
	}
	if !strings.Contains(text, "swift needs 0.50 times") {
		t.Errorf("not told who is ahead:\n%s", text)
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := document(2).Write(folder); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "benchmarks.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"## Races", "| peer | 50.0 |", "![a < b](curve.svg)", "## What is promised"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the document has no %q:\n%s", want, text)
		}
	}
	picture, err := os.ReadFile(filepath.Join(folder, "curve.svg"))
	if err != nil {
		t.Fatal(err)
	}
	names := xml.NewDecoder(strings.NewReader(string(picture)))
	for {
		if _, err := names.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the picture is no XML: %v", err)
		}
	}
	if strings.Contains(string(picture), "NaN") || !strings.Contains(string(picture), "one &amp; all") {
		t.Errorf("the picture:\n%s", picture)
	}
}

func lineOf(text, begins string) string {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, begins) {
			return line
		}
	}
	return ""
}

// TestMetForgivesNothing forgives a promise of 0 what the runtime allocates for
// itself, and no other promise anything.
func TestMetForgivesNothing(t *testing.T) {
	for _, c := range []struct {
		bar Bar
		met bool
	}{
		{AtMost(0, " allocations", "", measure.Series{0.005}), true},
		{AtMost(0, " allocations", "", measure.Series{0.02}), false},
		{AtMost(1, " times", "", measure.Series{1}), true},
		{AtMost(1, " times", "", measure.Series{1.005}), false},
		{AtLeast(1.5, "", measure.Series{1.495}), false},
		{AtLeast(1.5, "", measure.Series{1.5}), true},
	} {
		if c.bar.Met() != c.met {
			t.Errorf("%v against %g is met: %t", c.bar.Value, c.bar.Bound, !c.met)
		}
	}
}
