package apptest

import (
	_ "embed"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-floodgate/floodgate/examples/app"
)

// statusTable is what each framework answers where it, not a limiter, decides:
// HEAD, unknown paths, other methods, other spellings of a path. A row is
// method, path and a status for each server; the first line names the servers.
//
//go:embed testdata/statuses.txt
var statusTable string

// frameworkStatuses checks the server's column of the table. In each row the
// limited routes count as they always do: a status is looked at, not a quota.
func frameworkStatuses(t *testing.T, b *bench) {
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(statusTable), "\n")
	column := slices.Index(strings.Fields(lines[0]), filepath.Base(folder))
	if column < 2 {
		t.Fatalf("testdata/statuses.txt has no column for %s: its first line is %q", filepath.Base(folder), lines[0])
	}
	for _, line := range lines[1:] {
		row := strings.Fields(line)
		if len(row) <= column {
			t.Fatalf("testdata/statuses.txt: %q has no status for %s", line, filepath.Base(folder))
		}
		s := b.open(t, app.Flags{}, nil)
		got := s.must(t, request{method: row[0], path: row[1]})
		if want := row[column]; strconv.Itoa(got.status) != want {
			t.Errorf("%s %s: status %d, want %s", row[0], row[1], got.status, want)
		}
		if got.status == 404 || got.status == 405 || got.status/100 == 3 {
			if i := slices.IndexFunc(got.fields, isRateLimitField); i >= 0 {
				t.Errorf("%s %s is answered by the framework, but has a rate-limit field: %s", row[0], row[1], got.fields[i])
			}
		}
	}
}
