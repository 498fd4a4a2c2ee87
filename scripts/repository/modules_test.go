package repository_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-floodgate/floodgate/scripts/repository"
)

// sound is a small repository without a fault: chi needs nethttp, and core
// through it.
func sound() map[string]string {
	return map[string]string{
		"go.work":     "go 1.26.0\n\nuse (\n\t./chi\n\t./core\n\t./nethttp\n)\n",
		"core/go.mod": "module github.com/go-floodgate/floodgate/core\n\ngo 1.26.0\n",
		"nethttp/go.mod": `module github.com/go-floodgate/floodgate/nethttp

go 1.26.0

require github.com/go-floodgate/floodgate/core v0.1.0

replace github.com/go-floodgate/floodgate/core => ../core
`,
		"chi/go.mod": `module github.com/go-floodgate/floodgate/chi

go 1.26.0

require (
	github.com/go-chi/chi/v5 v5.0.0
	github.com/go-floodgate/floodgate/nethttp v0.1.0
)

replace github.com/go-floodgate/floodgate/core => ../core

replace github.com/go-floodgate/floodgate/nethttp => ../nethttp
`,
		"core/testdata/go.mod": "module example.com/not-a-module-of-ours\n",
	}
}

// write makes files below a new folder and returns it.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// edited is files with old replaced by text in one of them; empty old appends.
func edited(t *testing.T, files map[string]string, file, old, text string) map[string]string {
	t.Helper()
	files = maps.Clone(files)
	before := files[file]
	if !strings.Contains(before, old) {
		t.Fatalf("%s has no %q to replace", file, old)
	}
	if old == "" {
		files[file] = before + text
	} else {
		files[file] = strings.Replace(before, old, text, 1)
	}
	return files
}

func TestCheckModulesFindsEachFault(t *testing.T) {
	const ours = "github.com/go-floodgate/floodgate/"
	for name, c := range map[string]struct {
		file, old, text string
		want            []string
	}{
		"sound": {"go.work", "", "\n", nil},
		"go.work's go line": {"go.work", "go 1.26.0", "go 1.26.1", []string{
			`go.work: go line is "1.26.1", not "1.26.0"`,
		}},
		"go.work's toolchain": {"go.work", "go 1.26.0", "go 1.26.0\n\ntoolchain go1.26.8", []string{
			"go.work: has a toolchain line: remove it",
		}},
		"go.work's replace": {"go.work", "", "\nreplace example.com/a => ./core\n", []string{
			"go.work: replaces example.com/a: replace it in the go.mod files, which count without the workspace too",
		}},
		"not listed": {"go.work", "\t./nethttp\n", "", []string{
			`go.work: does not list nethttp: add "./nethttp"`,
			"chi/go.mod: requires " + ours + "nethttp, which go.work does not have",
			"chi/go.mod: replaces " + ours + "core, which it does not need: remove the line",
			"chi/go.mod: replaces " + ours + "nethttp: users' builds would not, so require what works",
		}},
		"not there": {"go.work", "\t./core\n", "\t./core\n\t./gin\n", []string{
			"go.work: lists gin, which has no go.mod",
		}},
		"path": {"chi/go.mod", "floodgate/chi", "floodgate/chilimit", []string{
			`chi/go.mod: module is "` + ours + `chilimit", not "` + ours + `chi"`,
		}},
		"go line": {"core/go.mod", "go 1.26.0", "go 1.26", []string{
			`core/go.mod: go line is "1.26", not "1.26.0"`,
		}},
		"toolchain": {"core/go.mod", "", "\ntoolchain go1.26.8\n", []string{
			"core/go.mod: has a toolchain line: remove it",
		}},
		"tool": {"core/go.mod", "", "\ntool example.com/a\n", []string{
			"core/go.mod: has the tool line example.com/a: users would get its dependencies; run it by `go run example.com/a@version`",
		}},
		"exclude": {"core/go.mod", "", "\nexclude example.com/a v1.0.0\n", []string{
			"core/go.mod: excludes example.com/a: users' builds would not, so require a version that works",
		}},
		"placeholder version": {"nethttp/go.mod", "v0.1.0", "v0.0.0", []string{
			"nethttp/go.mod: requires " + ours + "core v0.0.0, which cannot be a release",
		}},
		"another version": {"nethttp/go.mod", "v0.1.0", "v0.0.9", []string{
			"nethttp/go.mod: requires " + ours + "core v0.0.9, but most siblings are required at v0.1.0",
		}},
		"no replace": {"nethttp/go.mod", "replace github.com/go-floodgate/floodgate/core => ../core\n", "", []string{
			"nethttp/go.mod: does not replace " + ours + `core: add "replace ` + ours + `core => ../core"`,
		}},
		"no replace of what a sibling needs": {"chi/go.mod", "replace github.com/go-floodgate/floodgate/core => ../core\n", "", []string{
			"chi/go.mod: does not replace " + ours + `core: add "replace ` + ours + `core => ../core"`,
		}},
		"absolute replace": {"nethttp/go.mod", "=> ../core", "=> /src/core", []string{
			"nethttp/go.mod: replaces " + ours + `core by "/src/core", not "../core"`,
		}},
		"replace of one version": {"nethttp/go.mod", "core => ../core", "core v0.1.0 => ../core", []string{
			"nethttp/go.mod: replaces " + ours + "core at v0.1.0 only: leave the version out",
		}},
		"replace without need": {"core/go.mod", "", "\nreplace github.com/go-floodgate/floodgate/chi => ../chi\n", []string{
			"core/go.mod: replaces " + ours + "chi, which it does not need: remove the line",
		}},
		"replace of another's": {"core/go.mod", "", "\nreplace example.com/a => example.com/b v1.0.0\n", []string{
			"core/go.mod: replaces example.com/a: users' builds would not, so require what works",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := repository.Load(t.Context(), write(t, edited(t, sound(), c.file, c.old, c.text)))
			if err != nil {
				t.Fatal(err)
			}
			if got := repository.CheckModules(w); !slices.Equal(got, c.want) {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(c.want, "\n  "))
			}
		})
	}
}

func TestLoadFailsOnUnreadableFiles(t *testing.T) {
	for _, file := range []string{"go.work", "core/go.mod"} {
		files := sound()
		files[file] = "what is this\n"
		if _, err := repository.Load(t.Context(), write(t, files)); err == nil || !strings.Contains(err.Error(), filepath.FromSlash(file)) {
			t.Errorf("broken %s: got error %v, want one that names it", file, err)
		}
	}
}

// The repository itself keeps the rules.
func TestThisRepositorysModules(t *testing.T) {
	w, err := repository.Load(t.Context(), "../..")
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Modules) == 0 {
		t.Fatal("no module found")
	}
	for _, line := range repository.CheckModules(w) {
		t.Error(line)
	}
}
