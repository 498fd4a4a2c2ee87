package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// Table is rows of text under a head.
type Table struct {
	Title string
	Text  string
	Head  []string
	Rows  [][]string
}

// narrow returns t without the columns that are empty in all rows.
func (t Table) narrow() Table {
	out := Table{Title: t.Title, Text: t.Text, Rows: make([][]string, len(t.Rows))}
	for column, head := range t.Head {
		filled := false
		for _, r := range t.Rows {
			filled = filled || r[column] != ""
		}
		if !filled {
			continue
		}
		out.Head = append(out.Head, head)
		for i, r := range t.Rows {
			out.Rows[i] = append(out.Rows[i], r[column])
		}
	}
	return out
}

// print writes t for a terminal.
func (t Table) print(to io.Writer) error {
	if len(t.Rows) == 0 {
		return nil
	}
	t = t.narrow()
	if t.Title != "" {
		fmt.Fprintf(to, "\n%s\n", t.Title)
	}
	if t.Text != "" {
		fmt.Fprintf(to, "%s\n", t.Text)
	}
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, cells := range append([][]string{t.Head}, t.Rows...) {
		line := strings.ReplaceAll(strings.Join(cells, "\t"), "**", "")
		fmt.Fprintln(w, "  "+strings.TrimRight(line, "\t"))
	}
	return w.Flush()
}

// markdown writes t for a document; all columns but the first and those of words
// are set to the right.
func (t Table) markdown(to io.Writer) {
	if len(t.Rows) == 0 {
		return
	}
	t = t.narrow()
	if t.Title != "" {
		fmt.Fprintf(to, "\n### %s\n", t.Title)
	}
	if t.Text != "" {
		fmt.Fprintf(to, "\n%s\n", t.Text)
	}
	rule := make([]string, len(t.Head))
	for column := range rule {
		rule[column] = "---"
		if t.numbers(column) {
			rule[column] = "---:"
		}
	}
	fmt.Fprintln(to)
	for _, cells := range append([][]string{t.Head, rule}, t.Rows...) {
		fmt.Fprintf(to, "| %s |\n", strings.Join(cells, " | "))
	}
}

// numbers reports whether a column is one of short texts with digits.
func (t Table) numbers(column int) bool {
	for _, r := range t.Rows {
		if text := r[column]; text != "" && (utf8.RuneCountInString(text) > 12 || !strings.ContainsAny(text[:1], "0123456789-+")) {
			return false
		}
	}
	return true
}
