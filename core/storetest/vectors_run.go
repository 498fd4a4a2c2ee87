package storetest

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

//go:embed testdata/vectors/*.json testdata/vectors/adjust/*.json
var embedded embed.FS

// vectorsVariable names the environment variable with a folder of more
// vectors.
const vectorsVariable = "RATELIMIT_VECTORS"

func vectorCases() []testCase {
	return []testCase{
		{"vectors", setClock, "every store answers the decision vectors to the microsecond, so that stores can be exchanged", func(s *suite) {
			s.runVectors("", "vectors")
		}},
		{"adjust_vectors", setClock, "what was charged changes afterwards by the same rules in every store", func(s *suite) {
			s.runVectors("adjust", "adjust vectors")
		}},
	}
}

// runVectors runs the embedded folder and the one of the environment, both in
// the subfolder sub.
func (s *suite) runVectors(sub, label string) {
	s.Helper()
	const own = "testdata/vectors"
	s.runFolder(embedded, filepath.ToSlash(filepath.Join(own, sub)), label, filepath.Join(own, sub))

	folder := os.Getenv(vectorsVariable)
	if folder == "" {
		return
	}
	root, dir, shown := os.DirFS(folder), ".", folder
	if sub != "" {
		dir, shown = sub, filepath.Join(folder, sub)
		// The folder itself must be there, its subfolder need not.
		_, err := fs.Stat(root, sub)
		if _, rootErr := fs.Stat(root, "."); rootErr == nil && errors.Is(err, fs.ErrNotExist) {
			s.printf("%s: 0 cases, 0 steps from %s (there is no such folder)\n", label, shown)
			return
		}
	}
	s.runFolder(root, dir, label, shown)
}

// runFolder runs the vectors in dir of fsys; shown is its name for people.
func (s *suite) runFolder(fsys fs.FS, dir, label, shown string) {
	s.Helper()
	files, err := loadVectors(fsys, dir)
	if err != nil {
		s.Errorf("%s from %s: %v", label, shown, err)
		return
	}
	var total tally
	for _, file := range files {
		s.sub(file.name, func(s *suite) {
			s.reopen()
			count := s.runFile(file, shown)
			total.cases, total.steps, total.leftOut = total.cases+count.cases, total.steps+count.steps, total.leftOut+count.leftOut
		})
	}
	s.printf("%s: %d cases, %d steps from %s\n", label, total.cases, total.steps, shown)
	if total.leftOut > 0 {
		s.Logf("storetest: left out %d cases in which the clock goes back, which this store's can't", total.leftOut)
	}
}

// printf writes to standard output, since a line of t.Log does not begin with
// its text.
func (s *suite) printf(format string, args ...any) {
	if !testing.Verbose() {
		return
	}
	if _, err := fmt.Fprintf(os.Stdout, format, args...); err != nil {
		s.Errorf("writing how many vectors were run: %v", err)
	}
}

// tally counts what was really run.
type tally struct{ cases, steps, leftOut int }

func (s *suite) runFile(file vectorFile, shown string) tally {
	s.Helper()
	const most = 10
	var count tally
	failed := 0
	for _, c := range file.Cases {
		if s.h.MonotonicClock {
			if c.goesBack() {
				count.leftOut++
				continue
			}
			if c.Steps[0].at < s.clock.UnixMicro() {
				s.reopen()
			}
		}
		steps, err := s.runVector(&c, shown+"/"+file.name)
		count.cases++
		count.steps += steps
		if err == nil {
			continue
		}
		if failed++; failed <= most {
			s.Errorf("%s, case %q (%s): %v", file.name, c.Name, showLimit(c.limit), err)
		}
	}
	if failed > most {
		s.Errorf("%s: %d more cases failed", file.name, failed-most)
	}
	return count
}

// runVector runs one case up to the first step that is answered wrongly, after
// which all others would be as well, and returns how many it ran.
func (s *suite) runVector(c *vectorCase, from string) (int, error) {
	charge := ratelimit.Charge{Policy: "vectors", Partition: ratelimit.Partition(from + "/" + c.Name), Limit: c.limit}
	answers := make([]ratelimit.Result, len(c.Steps))
	for i, step := range c.Steps {
		s.clock.set(step.at)
		if step.adjust {
			taken := charge
			taken.Cost = c.Steps[step.step].cost
			err := s.store.Adjust(s.Context(), []ratelimit.Adjustment{changed(taken, answers[step.step], step.newCost)})
			if err != nil {
				return i + 1, fmt.Errorf("step %d (adjust step %d to %d at %d): %w", i, step.step, step.newCost, step.at, err)
			}
			continue
		}
		charge.Cost = step.cost
		if err := s.store.Take(s.Context(), []ratelimit.Charge{charge}, answers[i:i+1]); err != nil {
			return i + 1, fmt.Errorf("step %d (cost %d at %d): %w", i, step.cost, step.at, err)
		}
		want := step.want
		want.Limit = c.limit.Capacity()
		if c.Limit != nil {
			want.Limit = *c.Limit
		}
		if diff := differ(want, answers[i], decisionColumns); diff != "" {
			return i + 1, fmt.Errorf("step %d (cost %d at %d): %s", i, step.cost, step.at, diff)
		}
	}
	return len(c.Steps), nil
}
