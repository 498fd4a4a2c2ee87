package storetest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// answers are the columns of a step that say what a store must answer.
var answers = []struct {
	column string
	alter  func(r *ratelimit.Result)
}{
	{"allowed", func(r *ratelimit.Result) { r.Allowed = !r.Allowed }},
	{"remaining", func(r *ratelimit.Result) { r.Remaining++ }},
	{"retry_after_us", func(r *ratelimit.Result) { r.RetryAfter ^= ratelimit.Never }},
	{"retry_after_us", func(r *ratelimit.Result) { r.RetryAfter -= time.Microsecond }},
	{"reset_after_us", func(r *ratelimit.Result) { r.ResetAfter += time.Microsecond }},
	{"delay_us", func(r *ratelimit.Result) { r.Delay += time.Microsecond }},
}

// TestAlteredAnswers alters each column of each case at a step of its own and
// expects the failure to name the place and both values.
func TestAlteredAnswers(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 3))
	s := newSuite(realTest{t}, harnessOf(correct))
	for _, dir := range []string{"testdata/vectors", "testdata/vectors/adjust"} {
		files, err := loadVectors(embedded, dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			for _, c := range file.Cases {
				limit := c.limit.Capacity()
				for i, answer := range answers {
					at := rnd.IntN(len(c.Steps))
					for c.Steps[at].adjust {
						at = rnd.IntN(len(c.Steps))
					}
					altered := c
					altered.Steps = slices.Clone(c.Steps)
					answer.alter(&altered.Steps[at].want)
					_, err := s.runVector(&altered, fmt.Sprint(dir, i))
					if err == nil {
						t.Fatalf("%s, %s, step %d: nobody sees that %s was altered", file.name, c.Name, at, answer.column)
					}
					if want := fmt.Sprintf("step %d ", at); !strings.Contains(err.Error(), want) {
						t.Fatalf("%s, %s, step %d, %s altered: the failure is %q, want %q in it", file.name, c.Name, at, answer.column, err, want)
					}
					if want := answer.column + ": want "; !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "got ") {
						t.Fatalf("%s, %s, step %d, %s altered: the failure is %q, want %q and what it got in it", file.name, c.Name, at, answer.column, err, want)
					}
				}
				limit++
				c.Limit = &limit
				if _, err := s.runVector(&c, dir+"limit"); err == nil || !strings.Contains(err.Error(), "limit: want") {
					t.Fatalf("%s, %s: nobody sees that the limit was altered: %v", file.name, c.Name, err)
				}
			}
		}
	}
}

const oneCase = `{"algorithm": "token_bucket", "cases": [
	{"name": "one", "quota": 10, "window_us": 1000000, "burst": 5, "steps": [[1700000000000000,1,1,4,0,100000,0]]}]}`

// TestUnknownFiles reads what other files may look like.
func TestUnknownFiles(t *testing.T) {
	limitOfOnly := func(text string) ratelimit.Limit {
		t.Helper()
		files, err := loadVectors(fstest.MapFS{"x.json": {Data: []byte(text)}, "README.md": {Data: []byte("no vectors")}}, ".")
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return files[0].Cases[0].limit
	}
	window := time.Second
	for text, want := range map[string]ratelimit.Limit{
		oneCase: ratelimit.TokenBucket(10, window, 5),
		strings.Replace(oneCase, `"burst"`, `"limit"`, 1):                                                              ratelimit.TokenBucket(10, window, 5),
		strings.Replace(strings.Replace(oneCase, `"burst"`, `"limit"`, 1), "token", "leaky", 1):                        ratelimit.LeakyBucket(10, window, 4),
		strings.Replace(oneCase, "token", "leaky", 1):                                                                  ratelimit.LeakyBucket(10, window, 5),
		strings.Replace(oneCase, "token_bucket", "fixed_window", 1):                                                    ratelimit.FixedWindow(10, window),
		strings.Replace(strings.Replace(oneCase, "token_bucket", "sliding_log", 1), `"burst": 5, `, ``, 1):             ratelimit.SlidingLog(10, window),
		strings.Replace(strings.Replace(oneCase, "token_bucket", "sliding_window", 1), `"burst"`, `"note": 3, "x"`, 1): ratelimit.SlidingWindow(10, window),
		strings.Replace(oneCase, `[[1700000000000000,1,`, `[["take",1700000000000000,1,`, 1):                           ratelimit.TokenBucket(10, window, 5),
		strings.Replace(oneCase, `0]]`, `0],["adjust",1700000000000001,0,3]]`, 1):                                      ratelimit.TokenBucket(10, window, 5),
		strings.Replace(oneCase, `"cases"`, `"columns": ["`+strings.Join(takeColumns, `","`)+`"], "cases"`, 1):         ratelimit.TokenBucket(10, window, 5),
	} {
		if got := limitOfOnly(text); got != want {
			t.Errorf("%s\nis read as %s, want %s", text, showLimit(got), showLimit(want))
		}
	}
}

// TestMalformedFiles: what can't be read in full must not be run in part.
func TestMalformedFiles(t *testing.T) {
	for what, text := range map[string]string{
		"nothing":                 ``,
		"no JSON":                 `cases`,
		"cut off":                 oneCase[:len(oneCase)-3],
		"more after it":           oneCase + `{}`,
		"a list":                  `[` + oneCase + `]`,
		"no cases":                `{"algorithm": "token_bucket", "cases": []}`,
		"other columns":           strings.Replace(oneCase, `"cases"`, `"columns": ["time_us"], "cases"`, 1),
		"unknown algorithm":       strings.Replace(oneCase, "token_bucket", "gcra", 1),
		"no algorithm":            strings.Replace(oneCase, "algorithm", "algo", 1),
		"no quota":                strings.Replace(oneCase, `"quota"`, `"q"`, 1),
		"no window":               strings.Replace(oneCase, `"window_us"`, `"w"`, 1),
		"window out of range":     strings.Replace(oneCase, `1000000,`, `9223372036854775807,`, 1),
		"neither burst nor limit": strings.Replace(oneCase, `"burst"`, `"b"`, 1),
		"burst 0":                 strings.Replace(oneCase, `"burst": 5`, `"burst": 0`, 1),
		"negative quota":          strings.Replace(oneCase, `"quota": 10`, `"quota": -10`, 1),
		"no steps":                strings.Replace(oneCase, `"steps"`, `"step"`, 1),
		"a short step":            strings.Replace(oneCase, `,100000,0]`, `,100000]`, 1),
		"a long step":             strings.Replace(oneCase, `,100000,0]`, `,100000,0,0]`, 1),
		"a fraction":              strings.Replace(oneCase, `,100000,0]`, `,100000.5,0]`, 1),
		"a text":                  strings.Replace(oneCase, `,100000,0]`, `,"100000",0]`, 1),
		"too large a number":      strings.Replace(oneCase, `,100000,0]`, `,100000000000000000000,0]`, 1),
		"allowed 2":               strings.Replace(oneCase, `000,1,1,`, `000,1,2,`, 1),
		"an unknown kind":         strings.Replace(oneCase, `[[1700000000000000,1,`, `[["give",1700000000000000,1,`, 1),
		"adjusts a later step":    strings.Replace(oneCase, `0]]`, `0],["adjust",1700000000000001,1,3]]`, 1),
		"adjusts a negative step": strings.Replace(oneCase, `0]]`, `0],["adjust",1700000000000001,-1,3]]`, 1),
		"adjusts a denied step":   strings.Replace(oneCase, `1,1,4,0,100000,0]]`, `9,0,5,-1,0,0],["adjust",1700000000000001,0,3]]`, 1),
	} {
		if text == oneCase {
			t.Errorf("%s: the text is well-formed", what)
		}
		files := fstest.MapFS{"good.json": {Data: []byte(oneCase)}, "bad.json": {Data: []byte(text)}}
		if _, err := loadVectors(files, "."); err == nil || !strings.Contains(err.Error(), "bad.json") {
			t.Errorf("%s: error %v, want one that names bad.json", what, err)
		}
	}
}

// write makes a folder of vectors and returns its path.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestBadFolders: a folder that was asked for and can't be run is a failure.
func TestBadFolders(t *testing.T) {
	good := write(t, map[string]string{"good.json": oneCase, "adjust/good.json": oneCase})
	for what, c := range map[string]struct {
		dir, fails string // the cases that must fail
	}{
		"good":             {good, ""},
		"without adjust":   {write(t, map[string]string{"good.json": oneCase}), ""},
		"missing":          {filepath.Join(good, "missing"), "vectors adjust_vectors"},
		"a file":           {filepath.Join(good, "good.json"), "vectors adjust_vectors"},
		"empty":            {t.TempDir(), "vectors"},
		"no vectors in it": {write(t, map[string]string{"README.md": "see adjust", "adjust/good.json": oneCase}), "vectors"},
		"empty adjust":     {write(t, map[string]string{"good.json": oneCase, "adjust/README.md": "none"}), "adjust_vectors"},
		"a bad file":       {write(t, map[string]string{"good.json": oneCase, "bad.json": "{}"}), "vectors"},
		"a bad adjust":     {write(t, map[string]string{"good.json": oneCase, "adjust/bad.json": "{"}), "adjust_vectors"},
		"a wrong answer":   {write(t, map[string]string{"bad.json": strings.Replace(oneCase, "4,0", "3,0", 1)}), "vectors"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Setenv(vectorsVariable, c.dir)
			r := record(t, func(t tester) { runCases(t, harnessOf(correct), vectorCases()) })
			for _, name := range []string{"vectors", "adjust_vectors"} {
				want := slices.Contains(strings.Fields(c.fails), name)
				if got := slices.Contains(*r.failures, name); got != want {
					t.Errorf("%s fails: %t, want %t: %s", name, got, want, r.output())
				}
			}
		})
	}
}

// TestVerbose runs this package's own conformance test as a user would.
func TestVerbose(t *testing.T) {
	run := func(dir string) (string, error) {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), self, "-test.v", "-test.run=^TestConformance$/vectors$")
		cmd.Env = append(os.Environ(), vectorsVariable+"="+dir)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	good := write(t, map[string]string{"a.json": oneCase, "b.json": oneCase, "adjust/a.json": strings.Replace(oneCase, `0]]`, `0],["adjust",1700000000000001,0,3]]`, 1)})
	out, err := run(good)
	if err != nil {
		t.Fatalf("good vectors: %v\n%s", err, out)
	}
	for _, want := range []string{
		"vectors: 486 cases, 17496 steps from testdata/vectors",
		"adjust vectors: 105 cases, 5304 steps from testdata/vectors/adjust",
		"vectors: 2 cases, 2 steps from " + good,
		"adjust vectors: 1 cases, 2 steps from " + good + "/adjust",
	} {
		if !regexp.MustCompile("(?m)^" + regexp.QuoteMeta(want) + "$").MatchString(out) {
			t.Errorf("no line %q in\n%s", want, out)
		}
	}

	out, err = run(write(t, map[string]string{"wrong.json": strings.Replace(oneCase, "1,1,4,0", "1,1,4,7", 1)}))
	if err == nil {
		t.Errorf("altered vectors pass:\n%s", out)
	}
	if want := `wrong.json, case "one" (token_bucket 10 per 1s burst 5): step 0 (cost 1 at 1700000000000000): retry_after_us: want 7, got 0`; !strings.Contains(out, want) {
		t.Errorf("no %q in\n%s", want, out)
	}
}
