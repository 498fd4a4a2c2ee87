package wire

import (
	"bufio"
	"strings"
	"testing"
	"time"

	"github.com/go-floodgate/floodgate/bench/measure"
	"github.com/go-floodgate/floodgate/bench/middleware"
)

// within begins sessions in this process.
func within(kind, contender string) (measure.Session, error) {
	if kind == LoadKind {
		return NewLoad(contender)
	}
	return NewServer(contender)
}

// TestMeasure runs every scenario once.
func TestMeasure(t *testing.T) {
	t.Parallel()
	var results measure.Results
	size := measure.Size{Rounds: 1, Each: time.Millisecond, Progress: func(string) {}}
	if err := Measure(&size, within, &results); err != nil {
		t.Fatal(err)
	}
	for _, framework := range middleware.Frameworks {
		for _, name := range []string{middleware.Bare, middleware.Ours, peers[framework]} {
			if got := results.Of(Scenario(framework), name, requests); got.Median() < connections {
				t.Errorf("%s, %s: %v requests", framework, name, got)
			}
		}
	}
	if s := Section(); len(s.Comparisons) != len(middleware.Frameworks) {
		t.Errorf("%d tables", len(s.Comparisons))
	}
}

// TestAnswer shows that an answer that is none, or another than 200, is not
// counted.
func TestAnswer(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok":              true,
		"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n": false,
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no":               false,
		"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n":             false,
		"HTTP/1.1 200 OK\r\ncontent-length: 1\r\nX-Other: 7\r\n\r\n1": true,
	} {
		if err := answer(bufio.NewReader(strings.NewReader(text))); (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := answer(bufio.NewReader(strings.NewReader(strings.Repeat("x", 10_000)))); err == nil {
		t.Error("a line without an end is an answer")
	}
}
