package adaptertest

import (
	"embed"
	"fmt"
	"slices"
	"strings"
)

// goldens holds the one set of answers that all adapters give.
type goldens interface {
	// want returns the answer with this name; got is for one that writes them
	// anew.
	want(name, got string) (string, error)
}

//go:embed testdata/golden
var goldenFiles embed.FS

// kept are the goldens as they were compiled in.
type kept struct{}

func (kept) want(name, _ string) (string, error) {
	text, err := goldenFiles.ReadFile("testdata/golden/" + name + ".txt")
	return string(text), err
}

// golden compares an answer in the sense in which adapters answer the same:
// status, body, and the sorted lines of the fields that a limiter sends, with
// Content-Type, Content-Length and Cache-Control. What else a framework sends
// is its own business.
func (s *suite) golden(name string, a answer) {
	s.Helper()
	got := a.canonical()
	want, err := s.settings.golden.want(name, got)
	switch {
	case err != nil:
		s.Errorf("no golden answer %q: %v", name, err)
	case got != want:
		s.Errorf("the answer is not the golden answer %q\n--- got\n%s\n--- want\n%s", name, got, want)
	}
}

func (a answer) canonical() string {
	lines := ownFields(a.header, true)
	slices.Sort(lines)
	return fmt.Sprintf("%d\n%s\n\n%s", a.status, strings.Join(lines, "\n"), a.body)
}

// ownFields returns the lines of a header that adapters have in common, or all
// others, names in lower case.
func ownFields(header map[string][]string, own bool) []string {
	var lines []string
	for name, values := range header {
		name = strings.ToLower(name)
		if isOwn(name) != own {
			continue
		}
		for _, value := range values {
			lines = append(lines, name+": "+value)
		}
	}
	return lines
}

func isOwn(name string) bool {
	switch name {
	case "content-type", "content-length", "cache-control", "retry-after", "access-control-expose-headers",
		"etag", "last-modified", "expires":
		return true
	}
	return strings.HasPrefix(name, "ratelimit") || strings.HasPrefix(name, "x-ratelimit-")
}
