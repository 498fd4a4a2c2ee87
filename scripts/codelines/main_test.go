package main

import "testing"

func TestCodeLines(t *testing.T) {
	const source = "// Package p.\npackage p\n\n/* a\ncomment */\nvar s = `two\nlines` // and a remark\n\nfunc f() {\n\n\treturn\n}\n"
	if got := codeLines([]byte(source)); got != 6 {
		t.Errorf("%d lines, want 6", got)
	}
}
