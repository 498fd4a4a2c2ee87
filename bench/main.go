// Command bench compares Floodgate with its peers, each in its documented
// fastest set-up, in one run on one machine, and writes docs/benchmarks.md. It is
// a module of its own, so that the peers are nobody's dependencies. README.md says
// how it is used.
package main

import (
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
	folder := flag.String("o", "../docs", "the folder that the document and its pictures are written to")
	flag.Parse()

	size := measure.Size{Rounds: *rounds, Each: *each, Keys: *keys, Progress: progress}
	if *quick {
		size.Rounds, size.Each, size.Keys = 1, 2*time.Millisecond, 10_000
	}
	if *quick || *only != "" {
		*folder = ""
	}
	var err error
	if *only != "" {
		size.Only, err = regexp.Compile(*only)
	}
	if err == nil {
		err = run(&size, *folder, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
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

// run measures, prints, and writes the document if there is a folder for it.
func run(size *measure.Size, folder string, out io.Writer) error {
	var results measure.Results
	machine := report.ThisMachine(slices.Concat(memory.Modules(), middleware.Modules(), overredis.Modules()))
	if err := memory.Measure(size, started(memory.Kind), &results); err != nil {
		return err
	}
	if err := middleware.Measure(size, started(middleware.Kind), &results); err != nil {
		return err
	}
	if err := wire.Measure(size, measure.Start, &results); err != nil {
		return err
	}
	redis, err := overredis.Measure(size, started(overredis.Kind), &results)
	if err != nil {
		return err
	}
	progress("")
	machine.Rounds, machine.Redis, machine.Took = size.Rounds, redis, time.Since(machine.Date)
	document := report.Document{
		Machine: machine, Results: &results,
		Sections: []report.Section{memory.Section(&results, size.Keys), middleware.Section(&results), overredis.Section(&results), wire.Section()},
	}
	if err := document.Print(out); err != nil || folder == "" {
		return err
	}
	return document.Write(folder)
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
