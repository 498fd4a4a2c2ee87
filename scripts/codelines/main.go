// Codelines prints how many lines of code each adapter has: lines of its
// non-test files that hold more than space and comments.
//
//	go run ./codelines
//
// It is run in scripts/, by the Makefile.
package main

import (
	"context"
	"fmt"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-floodgate/floodgate/scripts/repository"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	w, err := repository.Load(ctx, "..")
	if err != nil {
		return err
	}
	for i := range w.Modules {
		m := &w.Modules[i]
		if !m.Adapter() {
			continue
		}
		lines, err := count(filepath.Join(w.Root, filepath.FromSlash(m.Folder)))
		if err != nil {
			return err
		}
		fmt.Printf("%-10s %4d lines of code\n", m.Folder, lines)
	}
	return nil
}

// count adds up the code lines of the package in a folder.
func count(folder string) (int, error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return 0, err
	}
	total := 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return 0, err
		}
		total += codeLines(source)
	}
	return total, nil
}

// codeLines counts the lines on which a token begins or ends.
func codeLines(source []byte) int {
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, 0)
	lines := make(map[int]bool)
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return len(lines)
		}
		if tok == token.SEMICOLON && text == "\n" {
			continue // the scanner's own
		}
		first := file.Line(pos)
		for line := first; line <= first+strings.Count(text, "\n"); line++ {
			lines[line] = true
		}
	}
}
