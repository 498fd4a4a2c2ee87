package readme

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Every Go block of every README compiles.
func TestCodeCompiles(t *testing.T) {
	var blocks []block
	for _, file := range readmes(t) {
		blocks = append(blocks, blocksOf(file, read(t, file), "go")...)
	}
	if len(blocks) < 10 {
		t.Errorf("found only %d blocks of Go in the README files", len(blocks))
	}
	if err := compile(t, blocks); err != nil {
		t.Error(err)
	}
}

// The compiler's word is heard: blocks that are wrong in their several forms
// fail, and the message says where.
func TestBrokenCodeDoesNot(t *testing.T) {
	broken := map[string]struct {
		document string
		line     int
	}{
		"WHOLE":       {"# T\n\n```go\n// Hello.\npackage main\n\nfunc main() { ratelimit.PerMinute(1) }\n```\n", 7},
		"DECLARATION": {"```go\nvar l = ratelimit.PerCentury(1)\n```\n", 2},
		"STATEMENT":   {"```go\nl, err := ratelimit.New(memstore.New())\nl.Allow(\"me\")\n```\n", 3},
		"IMPORTS":     {"```go\nimport (\n\t\"time\"\n)\n\nvar d time.Duration = \"1s\"\n```\n", 6},
		"NOT-GIVEN":   {"<!-- given: api int -->\nText.\n```go\nuse(api)\n```\n", 4},
		"GIVEN":       {"<!-- given: api int -->\n```go\napi.Allow()\n```\n", 3},
		"VET":         {"```go\nfmt.Printf(\"%d\", \"one\")\n```\n", 2},
	}
	var blocks []block
	for name, b := range broken {
		blocks = append(blocks, blocksOf(name+".md", b.document, "go")...)
	}
	err := compile(t, blocks)
	if err == nil {
		t.Fatal("broken blocks compile")
	}
	for name, b := range broken {
		if want := fmt.Sprintf("%s.md:%d", name, b.line); !strings.Contains(err.Error(), want) {
			t.Errorf("no error at %s, only\n%v", want, err)
		}
	}

	text := blocksOf("TEXT.md", "```go\n$ make test\n```\n", "go")
	if err := compile(t, text); err == nil || !strings.Contains(err.Error(), "TEXT.md:2") {
		t.Errorf("what is no Go got %v, want an error at TEXT.md:2", err)
	}
}

// The quick start of the root is the program in examples/quickstart.
func TestQuickStartIsTheProgram(t *testing.T) {
	program := read(t, "examples/quickstart/main.go")
	blocks := blocksOf("README.md", read(t, "README.md"), "go")
	if !slices.ContainsFunc(blocks, func(b block) bool { return b.text == program }) {
		t.Error("README.md has no block that is examples/quickstart/main.go")
	}
	if lines := strings.Count(program, "\n"); lines > 30 {
		t.Errorf("the quick start has grown to %d lines, the most is 30", lines)
	}
}

// What the root shows of answers is what the example servers answer.
func TestAnswersAreThoseOfTheScript(t *testing.T) {
	script := strings.Split(read(t, "examples/apptest/testdata/script.txt"), "\n\n")
	blocks := blocksOf("README.md", read(t, "README.md"), "http")
	if len(blocks) == 0 {
		t.Error("README.md shows no answer")
	}
	for _, b := range blocks {
		lines := asInScript(b.text)
		if !slices.ContainsFunc(script, func(exchange string) bool {
			return !slices.ContainsFunc(lines, func(line string) bool { return !strings.Contains(exchange+"\n", line) })
		}) {
			t.Errorf("README.md:%d: no example server gives this answer:\n%s", b.line, b.text)
		}
	}
}

// asInScript are the lines of an answer as the script writes them, each
// between two ends of line.
func asInScript(answer string) (lines []string) {
	for line := range strings.Lines(answer) {
		name, value, isField := strings.Cut(line, ": ")
		switch {
		case line == "\n":
			continue
		case strings.HasPrefix(line, "HTTP/1.1 "):
			line = strings.Fields(line)[1] + "\n"
		case strings.HasPrefix(line, "{"):
			line = "| " + line
		case isField:
			line = strings.ToLower(name) + ": " + value
		}
		lines = append(lines, "\n"+line)
	}
	return lines
}

// readmes are the README files, relative to the root.
func readmes(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir("../..", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") && len(entry.Name()) > 2) {
			return filepath.SkipDir
		}
		if entry.Name() == "README.md" {
			file, err := filepath.Rel("../..", name)
			files = append(files, filepath.ToSlash(file))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
