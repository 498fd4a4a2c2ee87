package storetest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// vectorFile is one file of decision vectors; testdata/vectors/README.md
// defines the format.
type vectorFile struct {
	name      string
	Algorithm string       `json:"algorithm"`
	Columns   []string     `json:"columns"`
	Cases     []vectorCase `json:"cases"`
}

// vectorCase is one key, fresh at its first step.
type vectorCase struct {
	Name   string       `json:"name"`
	Quota  *int64       `json:"quota"`
	Window int64        `json:"window_us"`
	Burst  *int64       `json:"burst"`
	Limit  *int64       `json:"limit"`
	Steps  []vectorStep `json:"steps"`

	limit ratelimit.Limit
}

// vectorStep is a take, with the answer it must get, or an adjustment of what
// an earlier step charged.
type vectorStep struct {
	at     int64
	adjust bool

	cost int64
	want ratelimit.Result // without Limit and At

	step    int
	newCost int64
}

var takeColumns = []string{
	"time_us", "cost", "allowed", "remaining", "retry_after_us", "reset_after_us", "delay_us",
}

// UnmarshalJSON reads [time, cost, answer...], the same after "take", or
// ["adjust", time, step, new cost].
func (s *vectorStep) UnmarshalJSON(data []byte) error {
	var fields []json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	kind := "take"
	if len(fields) > 0 && bytes.HasPrefix(fields[0], []byte{'"'}) {
		if err := json.Unmarshal(fields[0], &kind); err != nil {
			return err
		}
		fields = fields[1:]
	}
	n := make([]int64, len(fields))
	for i, field := range fields {
		if err := json.Unmarshal(field, &n[i]); err != nil {
			return fmt.Errorf("step %s: %w", data, err)
		}
	}
	switch {
	case kind == "take" && len(n) == len(takeColumns) && (n[2] == 0 || n[2] == 1):
		*s = vectorStep{at: n[0], cost: n[1], want: ratelimit.Result{
			Allowed: n[2] == 1, Remaining: n[3], RetryAfter: vectorWait(n[4]), ResetAfter: vectorWait(n[5]), Delay: vectorWait(n[6]),
		}}
	case kind == "adjust" && len(n) == 3 && n[1] >= 0:
		*s = vectorStep{at: n[0], adjust: true, step: int(n[1]), newCost: n[2]}
	default:
		return fmt.Errorf("step %s is neither a take of %d numbers nor an adjust of 3", data, len(takeColumns))
	}
	return nil
}

// vectorWait is a wait in microseconds, of which -1 means never.
func vectorWait(us int64) time.Duration {
	if us == -1 {
		return ratelimit.Never
	}
	return time.Duration(us) * time.Microsecond
}

// loadVectors reads every *.json directly in dir. A folder that is not there
// or has none, and a file that says anything unclear, is an error.
func loadVectors(fsys fs.FS, dir string) ([]vectorFile, error) {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil, fmt.Errorf("storetest: reading vectors: %w", err)
	}
	var files []vectorFile
	for _, entry := range entries {
		if path.Ext(entry.Name()) != ".json" {
			continue
		}
		file, err := loadVectorFile(fsys, path.Join(dir, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("storetest: vectors in %s: %w", entry.Name(), err)
		}
		files = append(files, file)
	}
	if len(files) == 0 {
		return nil, errors.New("storetest: no vectors: there is no *.json in the folder")
	}
	return files, nil
}

func loadVectorFile(fsys fs.FS, name string) (vectorFile, error) {
	file := vectorFile{name: path.Base(name)}
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return file, err
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return file, err
	}
	algorithm, err := algorithmNamed(file.Algorithm)
	if err != nil {
		return file, err
	}
	if file.Columns != nil && !slices.Equal(file.Columns, takeColumns) {
		return file, fmt.Errorf("columns are %q, want %q", file.Columns, takeColumns)
	}
	if len(file.Cases) == 0 {
		return file, errors.New("it has no cases")
	}
	for i := range file.Cases {
		if err := file.Cases[i].complete(algorithm); err != nil {
			return file, fmt.Errorf("case %d %q: %w", i, file.Cases[i].Name, err)
		}
	}
	slices.SortStableFunc(file.Cases, func(a, b vectorCase) int { return cmp.Compare(a.Steps[0].at, b.Steps[0].at) })
	return file, nil
}

func algorithmNamed(name string) (ratelimit.Algorithm, error) {
	for _, a := range algorithms {
		if a.String() == name {
			return a, nil
		}
	}
	return 0, fmt.Errorf("algorithm %q is none of %v", name, algorithms)
}

// complete checks the case and makes its limit. A bucket's burst may be left
// to its capacity ("limit"); other algorithms have none, whatever the file
// says of it.
func (c *vectorCase) complete(a ratelimit.Algorithm) error {
	if c.Quota == nil {
		return errors.New("it has no quota")
	}
	if c.Window <= 0 || c.Window > ratelimit.MaxWindow.Microseconds() {
		return fmt.Errorf("window_us %d is out of range", c.Window)
	}
	c.limit = ratelimit.Limit{Algorithm: a, Quota: *c.Quota, Window: time.Duration(c.Window) * time.Microsecond}
	switch {
	case !a.Bucket():
	case c.Burst != nil:
		c.limit.Burst = *c.Burst
	case c.Limit == nil:
		return errors.New("it has neither burst nor limit")
	case a == ratelimit.AlgorithmLeakyBucket:
		c.limit.Burst = *c.Limit - 1
	default:
		c.limit.Burst = *c.Limit
	}
	if err := c.limit.Validate(); err != nil {
		return err
	}
	if len(c.Steps) == 0 {
		return errors.New("it has no steps")
	}
	for i, step := range c.Steps {
		if step.adjust && (step.step >= i || c.Steps[step.step].adjust || !c.Steps[step.step].want.Allowed) {
			return fmt.Errorf("step %d adjusts step %d, which is no earlier admitted take", i, step.step)
		}
	}
	return nil
}

// goesBack reports whether the case sets the clock back.
func (c *vectorCase) goesBack() bool {
	return !slices.IsSortedFunc(c.Steps, func(a, b vectorStep) int { return cmp.Compare(a.at, b.at) })
}
