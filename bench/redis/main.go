// Command redis is the part of the comparison that is about Redis, by itself: the
// same tables, and no document. `go run .. -only redis` has more settings.
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"time"

	"github.com/go-floodgate/floodgate/bench/measure"
	"github.com/go-floodgate/floodgate/bench/overredis"
	"github.com/go-floodgate/floodgate/bench/report"
)

func main() {
	if measure.Serve(measure.Kind{Name: overredis.Kind, New: overredis.NewSession}) {
		return
	}
	each := flag.Duration("each", 500*time.Millisecond, "how long one measurement takes")
	rounds := flag.Int("rounds", 6, "measurements of each contender, taken in turn")
	only := flag.String("only", "", "a regular expression: only the comparisons whose title matches")
	flag.Parse()
	pattern, err := regexp.Compile(*only)
	if err == nil {
		err = run(&measure.Size{Rounds: *rounds, Each: *each / overredis.Longer, Keys: 1_000_000, Only: pattern, Progress: func(string) {}})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(size *measure.Size) error {
	var results measure.Results
	machine := report.ThisMachine(overredis.Modules())
	start := func(contender string) (measure.Session, error) { return measure.Start(overredis.Kind, contender) }
	var err error
	if machine.Redis, err = overredis.Measure(size, start, &results); err != nil {
		return err
	}
	machine.Rounds, machine.Took = size.Rounds, time.Since(machine.Date)
	document := report.Document{Machine: machine, Results: &results, Sections: []report.Section{overredis.Section(&results)}}
	return document.Print(os.Stdout)
}
