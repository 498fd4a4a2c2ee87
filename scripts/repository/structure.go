package repository

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// CheckStructure returns what modules lack that every published module has, a
// line each that begins with the folder, nil if nothing:
//
//   - a README.md that shows the import path, under the package's name if that is
//     not the folder's;
//   - a doc.go that documents the package;
//   - an example that the documentation shows;
//   - a place in the root README and a rule in .golangci.yml of what it may
//     import;
//   - a TestConformance that runs storetest (stores) or adaptertest
//     (adapters).
func CheckStructure(w *Workspace) []string {
	var found []string
	for i := range w.Modules {
		m := &w.Modules[i]
		if !m.Published() {
			continue
		}
		c := structureCheck{root: w.Root, module: m}
		if err := c.run(); err != nil {
			c.add("%v", err)
		}
		found = append(found, c.found...)
	}
	return found
}

type structureCheck struct {
	root   string
	module *Module
	found  []string
}

func (c *structureCheck) add(format string, args ...any) {
	c.found = append(c.found, c.module.Folder+": "+fmt.Sprintf(format, args...))
}

func (c *structureCheck) run() error {
	folder := filepath.Join(c.root, filepath.FromSlash(c.module.Folder))
	files, err := parseFolder(folder)
	if err != nil {
		return err
	}
	name := c.doc(files)
	c.readmes(folder, name)
	if !files.has(func(file string, f *ast.FuncDecl) bool {
		return strings.HasSuffix(file, "_test.go") && strings.HasPrefix(f.Name.Name, "Example")
	}) {
		c.add("no Example in a _test.go of the module's own folder")
	}
	if suite := suiteOf(c.module); suite != "" {
		c.conformance(files, suite)
	}
	return nil
}

// conformance checks that the suite is run, in TestConformance or in what it
// calls.
func (c *structureCheck) conformance(files sources, suite string) {
	if !files.has(func(_ string, f *ast.FuncDecl) bool { return f.Name.Name == "TestConformance" }) {
		c.add("no TestConformance")
	}
	if !files.has(func(file string, f *ast.FuncDecl) bool {
		return strings.HasSuffix(file, "_test.go") && calls(f, suite, "Run")
	}) {
		c.add("no test calls %s.Run", suite)
	}
}

// doc checks doc.go and returns the package's name, "" if there is none.
func (c *structureCheck) doc(files sources) string {
	doc, ok := files["doc.go"]
	if !ok {
		c.add("no doc.go")
		return ""
	}
	name := doc.Name.Name
	if !strings.HasPrefix(doc.Doc.Text(), "Package "+name+" ") {
		c.add("the comment of doc.go does not begin with \"Package %s \"", name)
	}
	return name
}

// readmes checks that people find the module and its import, and that the
// linter knows what it may import itself.
func (c *structureCheck) readmes(folder, name string) {
	imported := c.module.Mod.Module.Path
	if name != path.Base(c.module.Folder) {
		imported = name + ` "` + imported + `"`
	}
	for _, want := range []struct{ file, text string }{
		{filepath.Join(folder, "README.md"), imported},
		{filepath.Join(c.root, "README.md"), "](" + c.module.Folder + "/)"},
		{filepath.Join(c.root, ".golangci.yml"), "${config-path}/" + c.module.Folder + "/**"},
	} {
		shown, err := filepath.Rel(c.root, want.file)
		if err != nil {
			shown = want.file
		}
		switch content, err := os.ReadFile(want.file); {
		case errors.Is(err, fs.ErrNotExist):
			c.add("no %s", filepath.ToSlash(shown))
		case err != nil:
			c.add("%v", err)
		case !strings.Contains(string(content), want.text):
			c.add("%s does not have: %s", filepath.ToSlash(shown), want.text)
		}
	}
}

// suiteOf is the conformance suite a module has to pass, "" if none.
func suiteOf(m *Module) string {
	switch {
	case m.Adapter():
		return "adaptertest"
	case strings.HasSuffix(m.Folder, "store"):
		return "storetest"
	}
	return ""
}

// sources are the parsed Go files of one folder, by name.
type sources map[string]*ast.File

func parseFolder(folder string) (sources, error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	files := make(sources, len(names))
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files[filepath.Base(name)] = file
	}
	return files, nil
}

// has reports whether a function of any file is as wanted.
func (s sources) has(wanted func(file string, f *ast.FuncDecl) bool) bool {
	for name, file := range s {
		if slices.ContainsFunc(file.Decls, func(decl ast.Decl) bool {
			f, ok := decl.(*ast.FuncDecl)
			return ok && f.Recv == nil && wanted(name, f)
		}) {
			return true
		}
	}
	return false
}

// calls reports whether f's body calls pkg.name.
func calls(f *ast.FuncDecl, pkg, name string) bool {
	found := false
	ast.Inspect(f, func(node ast.Node) bool {
		if call, ok := node.(*ast.CallExpr); ok {
			if selector, ok := call.Fun.(*ast.SelectorExpr); ok && selector.Sel.Name == name {
				if ident, ok := selector.X.(*ast.Ident); ok && ident.Name == pkg {
					found = true
				}
			}
		}
		return !found
	})
	return found
}
