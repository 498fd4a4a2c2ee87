package adaptertest

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden answers anew, as the reference adapter gives them")

// TestReference runs the suite against an adapter that is right. It also sees
// that every golden answer is still asked for.
func TestReference(t *testing.T) {
	asked := &askedFor{golden: kept{}, names: make(map[string]bool)}
	if *update {
		written := &written{answers: make(map[string]string)}
		asked.golden = written
		t.Cleanup(func() { written.save(t) })
	}
	runCases(realTest{t}, harness(0), allCases(), &settings{golden: asked, patience: 30 * time.Second})
	if *update || t.Failed() {
		return
	}
	files, err := fs.Glob(goldenFiles, "testdata/golden/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden answers: %v", err)
	}
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".txt"); !asked.names[name] {
			t.Errorf("no case asks for the golden answer %q", name)
		}
	}
}

// TestLacks sees that the suite takes a framework as it is, if the harness says
// so.
func TestLacks(t *testing.T) {
	h := harness(routesLate)
	h.Lacks = RouteInUse | ClientGone | Switching | Writer | RouteList | RouteListInUse | ErrorHandler
	var cases []testCase
	for _, c := range allCases() {
		if c.needs != 0 || strings.HasPrefix(c.name, "routes/") || strings.HasPrefix(c.name, "mounting/") || strings.HasPrefix(c.name, "endpoints/") {
			cases = append(cases, c)
		}
	}
	ran := &counting{realTest: realTest{t}}
	runCases(ran, h, cases, &settings{golden: kept{}, patience: 30 * time.Second})
	for _, c := range cases {
		if ran.names[c.name] != (c.needs == 0) {
			t.Errorf("case %s, which needs %b, ran: %t", c.name, c.needs, ran.names[c.name])
		}
	}
}

// counting notes which cases run.
type counting struct {
	realTest
	names map[string]bool
}

func (c *counting) run(name string, f func(tester)) bool {
	if c.names == nil {
		c.names = make(map[string]bool)
	}
	c.names[name] = true
	return c.realTest.run(name, f)
}

// askedFor notes which golden answers are asked for.
type askedFor struct {
	golden goldens
	mu     sync.Mutex
	names  map[string]bool
}

func (a *askedFor) want(name, got string) (string, error) {
	a.mu.Lock()
	a.names[name] = true
	a.mu.Unlock()
	return a.golden.want(name, got)
}

// written are golden answers that are written anew. One that is asked for
// again must be the same.
type written struct {
	mu      sync.Mutex
	answers map[string]string
}

func (w *written) want(name, got string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if first, ok := w.answers[name]; ok {
		return first, nil
	}
	w.answers[name] = got
	return got, nil
}

func (w *written) save(t *testing.T) {
	t.Helper()
	folder := filepath.Join("testdata", "golden")
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(folder, 0o750); err != nil {
		t.Fatal(err)
	}
	for name, text := range w.answers {
		if err := os.WriteFile(filepath.Join(folder, name+".txt"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
