// Command bench compares Floodgate with its peers, each in its documented
// fastest set-up, in one run on one machine, and writes docs/benchmarks.md. It is
// a module of its own, so that the peers are nobody's dependencies. README.md says
// how it is used.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"time"

	"github.com/go-floodgate/floodgate/bench/measure"
	"github.com/go-floodgate/floodgate/bench/memory"
	"github.com/go-floodgate/floodgate/bench/middleware"
	"github.com/go-floodgate/floodgate/bench/overredis"
	"github.com/go-floodgate/floodgate/bench/report"
	"github.com/go-floodgate/floodgate/bench/wire"
)

func main() {
	if measure.Serve(kinds()...) {
		return
	}
	rounds := flag.Int("rounds", 6, "measurements of each number, taken in turn")
	each := flag.Duration("each", 100*time.Millisecond, "how long one measurement takes")
	keys := flag.Int("keys", 1_000_000, "how many keys there are, where there are many")
	only := flag.String("only", "", "a regular expression: only the scenarios whose name it matches, such as 'hot key|redis', and no document")
	quick := flag.Bool("quick", false, "the least of everything, to see that it runs, and no document")
	folder := flag.String("o", "", "the folder that the document and its pictures are written to (default ../docs, and none with -only and -quick)")
	keep := flag.String("keep", "", "a file that the numbers of all rounds are written to")
	from := flag.String("from", "", "such a file, from which to print and write again instead of measuring")
	flag.Parse()

	size := measure.Size{Rounds: *rounds, Each: *each, Keys: *keys, Progress: progress}
	if *quick {
		size.Rounds, size.Each, size.Keys = 1, 2*time.Millisecond, 10_000
	}
	if *folder == "" && *only == "" && !*quick {
		*folder = "../docs"
	}
	if err := start(&size, *only, *from, *keep, *folder); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func start(size *measure.Size, only, from, keep, folder string) error {
	if from != "" {
		r, err := read(from)
		if err != nil {
			return err
		}
		return r.show(folder, os.Stdout)
	}
	if only != "" {
		var err error
		if size.Only, err = regexp.Compile(only); err != nil {
			return fmt.Errorf("-only: %w", err)
		}
	}
	r, err := run(size)
	if keep != "" {
		err = errors.Join(err, r.write(keep))
	}
	if err != nil {
		return err
	}
	if err := r.show(folder, os.Stdout); err != nil || size.Rounds > 1 {
		return err
	}
	fmt.Println("\nThis was one round: the numbers mean nothing, but that everything runs.")
	return nil
}

func kinds() []measure.Kind {
	return []measure.Kind{
		{Name: memory.Kind, New: memory.NewSession},
		{Name: middleware.Kind, New: middleware.NewSession},
		{Name: overredis.Kind, New: overredis.NewSession},
		{Name: wire.ServerKind, New: wire.NewServer},
		{Name: wire.LoadKind, New: wire.NewLoad},
	}
}

// measured is what a run has found out, in the form in which it is kept.
type measured struct {
	Machine report.Machine
	Keys    int
	Results measure.Results
}

// run measures what size has. With an error comes what was measured before it.
func run(size *measure.Size) (*measured, error) {
	r := &measured{
		Machine: report.ThisMachine(slices.Concat(memory.Modules(), middleware.Modules(), overredis.Modules())),
		Keys:    size.Keys,
	}
	r.Machine.Rounds = size.Rounds
	defer func() {
		r.Machine.Took = time.Since(r.Machine.Date)
		progress("")
	}()
	if err := memory.Measure(size, started(memory.Kind), &r.Results); err != nil {
		return r, err
	}
	if err := middleware.Measure(size, started(middleware.Kind), &r.Results); err != nil {
		return r, err
	}
	if err := wire.Measure(size, measure.Start, &r.Results); err != nil {
		return r, err
	}
	var err error
	r.Machine.Redis, err = overredis.Measure(size, started(overredis.Kind), &r.Results)
	return r, err
}

// show prints the tables, and writes the document if there is a folder for it.
func (r *measured) show(folder string, out io.Writer) error {
	document := report.Document{
		Machine: r.Machine, Results: &r.Results,
		Sections: []report.Section{memory.Section(&r.Results, r.Keys), middleware.Section(&r.Results), overredis.Section(&r.Results), wire.Section()},
	}
	if err := document.Print(out); err != nil || folder == "" {
		return err
	}
	return document.Write(folder)
}

func (r *measured) write(file string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

func read(file string) (*measured, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r := new(measured)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}

// started begins sessions in processes of their own.
func started(kind string) func(string) (measure.Session, error) {
	return func(contender string) (measure.Session, error) { return measure.Start(kind, contender) }
}

// progress shows what is being done in one line, if there is a terminal to show
// it on.
func progress(text string) {
	if stat, err := os.Stderr.Stat(); err == nil && stat.Mode()&os.ModeCharDevice != 0 {
		fmt.Fprintf(os.Stderr, "\r\x1b[K%s", text)
	}
}
