package repository_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-floodgate/floodgate/scripts/repository"
)

// complete is sound with all that structure demands.
func complete() map[string]string {
	files := map[string]string{
		"go.work":         "go 1.26.0\n\nuse (\n\t./chi\n\t./examples\n\t./memstore\n)\n",
		"examples/go.mod": "module github.com/go-floodgate/floodgate/examples\n\ngo 1.26.0\n",
		"README.md":       "[chi](chi/) and [memstore](memstore/)\n",
		".golangci.yml":   "[\"${config-path}/chi/**\", \"${config-path}/memstore/**\"]\n",
		"memstore/go.mod": "module github.com/go-floodgate/floodgate/memstore\n\ngo 1.26.0\n",
		"memstore/doc.go": "// Package memstore stores.\npackage memstore\n",
		"memstore/a.go":   "package memstore\n",
		"memstore/a_test.go": "package memstore_test\n\nfunc ExampleNew() {}\n\n" +
			"func TestConformance(t *testing.T) { storetest.Run(t, storetest.Harness{}) }\n",
		"memstore/README.md": "import \"github.com/go-floodgate/floodgate/memstore\"\n",
		"chi/go.mod":         "module github.com/go-floodgate/floodgate/chi\n\ngo 1.26.0\n",
		"chi/doc.go":         "// Package chilimit adapts.\npackage chilimit\n",
		"chi/a_test.go": "package chilimit_test\n\nfunc Example() {}\n\n" +
			"func TestConformance(t *testing.T) { adaptertest.Run(t, adaptertest.Harness{}) }\n",
		"chi/README.md": "import chilimit \"github.com/go-floodgate/floodgate/chi\"\n",
	}
	return files
}

func TestCheckStructureFindsEachFault(t *testing.T) {
	for name, c := range map[string]struct {
		file, old, text string
		want            []string
	}{
		"complete": {"memstore/a.go", "", "\n", nil},
		"doc.go": {"memstore/doc.go", "Package memstore ", "What this is: ", []string{
			`memstore: the comment of doc.go does not begin with "Package memstore "`,
		}},
		"import": {"chi/README.md", "chilimit ", "", []string{
			`chi: chi/README.md does not have: chilimit "github.com/go-floodgate/floodgate/chi"`,
		}},
		"root README": {"README.md", "](chi/)", "]", []string{
			"chi: README.md does not have: ](chi/)",
		}},
		"rule of imports": {".golangci.yml", "chi/**", "chi/*", []string{
			"chi: .golangci.yml does not have: ${config-path}/chi/**",
		}},
		"example": {"chi/a_test.go", "Example", "example", []string{
			"chi: no Example in a _test.go of the module's own folder",
		}},
		"conformance of an adapter": {"chi/a_test.go", "adaptertest.Run", "storetest.Run", []string{
			"chi: no test calls adaptertest.Run",
		}},
		"conformance of a store": {"memstore/a_test.go", "TestConformance", "TestSome", []string{
			"memstore: no TestConformance",
		}},
		"syntax": {"chi/doc.go", "package chilimit", "pack", []string{
			"chi: ",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			check(t, edited(t, complete(), c.file, c.old, c.text), c.want)
		})
	}
	for file, want := range map[string]string{
		"chi/README.md":   "chi: no chi/README.md",
		"memstore/doc.go": "memstore: no doc.go",
	} {
		t.Run("no "+file, func(t *testing.T) {
			files := maps.Clone(complete())
			delete(files, file)
			check(t, files, []string{want})
		})
	}
}

// check compares what CheckStructure finds, by the beginning of each line.
func check(t *testing.T, files map[string]string, want []string) {
	t.Helper()
	w, err := repository.Load(t.Context(), write(t, files))
	if err != nil {
		t.Fatal(err)
	}
	got := repository.CheckStructure(w)
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}
