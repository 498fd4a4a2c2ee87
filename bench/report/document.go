package report

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-floodgate/floodgate/bench/measure"
)

// Section is a part of the document: what one package measures.
type Section struct {
	Title, Text string
	Comparisons []Comparison
	Tables      []Table
	Curves      []Curve
	Bars        []Bar
}

// Document is everything that a run has to say.
type Document struct {
	Machine  Machine
	Results  *measure.Results
	Sections []Section
}

// part is a section with its tables made.
type part struct {
	section Section
	tables  []Table
}

func (d *Document) build() (parts []part, bars Table, ahead []string) {
	off := make(map[row]string)
	var all []Bar
	for _, s := range d.Sections {
		p := part{section: s}
		for _, c := range s.Comparisons {
			t, faster := c.table(d.Results, s.Bars, off)
			p.tables, ahead = append(p.tables, t), append(ahead, faster...)
		}
		p.tables = append(p.tables, s.Tables...)
		parts, all = append(parts, p), append(all, s.Bars...)
	}
	return parts, barTable(all, off), ahead
}

// Print writes the tables for a terminal.
func (d *Document) Print(to io.Writer) error {
	parts, bars, ahead := d.build()
	for _, line := range d.Machine.lines() {
		fmt.Fprintln(to, line)
	}
	for _, p := range parts {
		for _, t := range p.tables {
			if err := t.print(to); err != nil {
				return err
			}
		}
	}
	if err := bars.print(to); err != nil {
		return err
	}
	_, err := io.WriteString(to, peersAhead(ahead))
	return err
}

// Write writes benchmarks.md and the pictures of the curves into a folder.
func (d *Document) Write(folder string) error {
	parts, bars, ahead := d.build()
	var text strings.Builder
	text.WriteString(preamble)
	for _, line := range d.Machine.lines() {
		fmt.Fprintf(&text, "- %s\n", line)
	}
	fmt.Fprintf(&text, "\n## %s\n", bars.Title)
	bars.Title = ""
	bars.markdown(&text)
	text.WriteString(peersAhead(ahead))
	for _, p := range parts {
		fmt.Fprintf(&text, "\n## %s\n\n%s\n", p.section.Title, p.section.Text)
		for _, t := range p.tables {
			t.markdown(&text)
		}
		for _, c := range p.section.Curves {
			if len(c.Lines) == 0 {
				continue
			}
			if err := os.WriteFile(filepath.Join(folder, c.File), []byte(c.svg()), 0o644); err != nil {
				return fmt.Errorf("report: %w", err)
			}
			fmt.Fprintf(&text, "\n![%s](%s)\n", c.Title, c.File)
		}
	}
	text.WriteString("\n## Versions\n\n")
	for _, line := range d.Machine.modules() {
		fmt.Fprintf(&text, "- %s\n", line)
	}
	if err := os.WriteFile(filepath.Join(folder, "benchmarks.md"), []byte(text.String()), 0o644); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

const preamble = `<!-- Written by make bench. Do not edit: run it again. -->

# How fast

Floodgate beside other libraries, all measured in one run on one machine. Each is set up as its documentation
recommends for speed. Contenders take turns; numbers are medians over the rounds, and spreads are half the distance
of the quartiles of the ratio. Times differ from machine to machine and from day to day; the ratios are what can be compared.

Ratios in the tables are of the row's cost to Floodgate's. A promise stands in the row that it is about, and the list of promises has what
exactly is promised (throughput, time, CPU, bytes), what was measured, and so what it is judged by. A ratio is the median of the rounds' own
ratios, which is not the ratio of the medians: where machine and minute matter more than the library, the two may point in different directions.

A row marked ‡ lies more than 30 % off what that library is known to need, counted in readings of the clock (or in
PINGs), on the machine where the promises were made. Such a row is to be looked into, not to be relied on.

`

func peersAhead(lines []string) string {
	if len(lines) == 0 {
		return "\nNo peer is ahead in any row.\n"
	}
	return "\nPeers are ahead in:\n\n- " + strings.Join(lines, "\n- ") + "\n"
}
