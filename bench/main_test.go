package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-floodgate/floodgate/bench/measure"
)

func TestMain(m *testing.M) {
	if measure.Serve(kinds()...) {
		return
	}
	os.Exit(m.Run())
}

// TestRun runs a scenario of each kind, with contenders in processes of their
// own, keeps the numbers, and writes the document from them.
func TestRun(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	size := measure.Size{
		Rounds: 1, Each: time.Millisecond, Keys: 2000, Progress: func(string) {},
		Only: regexp.MustCompile(`hot key, denied, 1|curve|net/http|redis: one denied key, 16`),
	}
	fresh, err := run(&size)
	if err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(folder, "kept.json")
	if err := fresh.write(kept); err != nil {
		t.Fatal(err)
	}
	r, err := read(kept)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := r.show(folder, &out); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "benchmarks.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"One key, denied, 1 processor", "net/http, allowed", "net/http over the wire", "one denied key, 16 goroutines", "redis-server", "(benchmarks-keys.svg)"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the document has no %q", want)
		}
	}
	if !strings.Contains(out.String(), "What is promised") {
		t.Error("what is promised is not printed")
	}
}
