// Command bench compares Floodgate with its peers, each in its documented
// fastest set-up, in one run on one machine, and writes docs/benchmarks.md. It is
// a module of its own, so that the peers are nobody's dependencies. README.md says
// how it is used.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/go-floodgate/floodgate/bench/measure"
	"github.com/go-floodgate/floodgate/bench/memory"
	"github.com/go-floodgate/floodgate/bench/middleware"
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
	only := flag.String("only", "", "words with commas between: only scenarios whose name has one of them, and no document")
	quick := flag.Bool("quick", false, "the least of everything, to see that it runs, and no document")
	folder := flag.String("o", "../docs", "the folder that the document and its pictures are written to")
	flag.Parse()

	size := measure.Size{Rounds: *rounds, Each: *each, Keys: *keys, Progress: progress}
	if *only != "" {
		size.Only = strings.Split(*only, ",")
	}
	if *quick {
		size.Rounds, size.Each, size.Keys = 1, 2*time.Millisecond, 10_000
	}
	if *quick || *only != "" {
		*folder = ""
	}
	if err := run(&size, *folder); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func kinds() []measure.Kind {
	return []measure.Kind{
		{Name: memory.Kind, New: memory.NewSession},
		{Name: middleware.Kind, New: middleware.NewSession},
		{Name: wire.ServerKind, New: wire.NewServer},
		{Name: wire.LoadKind, New: wire.NewLoad},
	}
}

// run measures, prints, and writes the document if there is a folder for it.
func run(size *measure.Size, folder string) error {
	var results measure.Results
	start := time.Now()
	if err := memory.Measure(size, started(memory.Kind), &results); err != nil {
		return err
	}
	if err := middleware.Measure(size, started(middleware.Kind), &results); err != nil {
		return err
	}
	if err := wire.Measure(size, measure.Start, &results); err != nil {
		return err
	}
	document := report.Document{
		Machine:  report.ThisMachine(append(memory.Modules(), middleware.Modules()...)),
		Results:  &results,
		Sections: []report.Section{memory.Section(&results, size.Keys), middleware.Section(&results), wire.Section()},
	}
	document.Machine.Rounds, document.Machine.Took = size.Rounds, time.Since(start)
	progress("")
	if err := document.Print(os.Stdout); err != nil {
		return err
	}
	if folder == "" {
		return nil
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
