package repository

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	// Prefix is what every module path begins with; its folder follows.
	Prefix = "github.com/go-floodgate/floodgate/"
	// GoLine is the go directive of every module. `go get` raises it without
	// a word; raising it for users is a decision.
	GoLine = "1.26.0"
)

var released = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// Releasable reports whether a version can be tagged. v0.0.0 can't: a tagged
// go.mod that requires it can't be used by anyone.
func Releasable(version string) bool { return version != "v0.0.0" && released.MatchString(version) }

// CheckModules returns where go.work and the go.mod files do not fit together,
// a line each that begins with the file, nil if nowhere.
func CheckModules(w *Workspace) []string {
	c := modulesCheck{
		Workspace: w,
		byPath:    make(map[string]*Module, len(w.Modules)),
		version:   w.SiblingVersion(),
	}
	for i := range w.Modules {
		c.byPath[w.Modules[i].Mod.Module.Path] = &w.Modules[i]
	}
	c.work()
	for i := range w.Modules {
		c.lines(&w.Modules[i])
		c.requires(&w.Modules[i])
		c.replaces(&w.Modules[i])
	}
	return c.found
}

type modulesCheck struct {
	*Workspace
	byPath  map[string]*Module
	version string
	found   []string
}

func (c *modulesCheck) add(file, format string, args ...any) {
	c.found = append(c.found, file+": "+fmt.Sprintf(format, args...))
}

// work checks go.work itself, and that it lists all modules there are.
func (c *modulesCheck) work() {
	if c.Work.Go != GoLine {
		c.add("go.work", "go line is %q, not %q", c.Work.Go, GoLine)
	}
	if c.Work.Toolchain != "" {
		c.add("go.work", "has a toolchain line: remove it")
	}
	for _, replace := range c.Work.Replace {
		c.add("go.work", "replaces %s: replace it in the go.mod files, which count without the workspace too", replace.Old.Path)
	}
	listed := c.Work.Folders()
	for _, folder := range listed {
		if !slices.Contains(c.OnDisk, folder) {
			c.add("go.work", "lists %s, which has no go.mod", folder)
		}
	}
	for _, folder := range c.OnDisk {
		if !slices.Contains(listed, folder) {
			c.add("go.work", "does not list %s: add \"./%s\"", folder, folder)
		}
	}
}

// lines checks what a go.mod says of its own module.
func (c *modulesCheck) lines(m *Module) {
	file := m.Folder + "/go.mod"
	if want := Prefix + m.Folder; m.Mod.Module.Path != want {
		c.add(file, "module is %q, not %q", m.Mod.Module.Path, want)
	}
	if m.Mod.Go != GoLine {
		c.add(file, "go line is %q, not %q", m.Mod.Go, GoLine)
	}
	if m.Mod.Toolchain != "" {
		c.add(file, "has a toolchain line: remove it")
	}
	for _, tool := range m.Mod.Tool {
		c.add(file, "has the tool line %s: users would get its dependencies; run it by `go run %s@version`", tool.Path, tool.Path)
	}
	for _, exclude := range m.Mod.Exclude {
		c.add(file, "excludes %s: users' builds would not, so require a version that works", exclude.Path)
	}
}

// requires checks that siblings are required at the one version.
func (c *modulesCheck) requires(m *Module) {
	file := m.Folder + "/go.mod"
	for _, require := range m.Mod.Require {
		switch {
		case !strings.HasPrefix(require.Path, Prefix):
		case c.byPath[require.Path] == nil:
			c.add(file, "requires %s, which go.work does not have", require.Path)
		case !Releasable(require.Version):
			c.add(file, "requires %s %s, which cannot be a release", require.Path, require.Version)
		case require.Version != c.version:
			c.add(file, "requires %s %s, but most siblings are required at %s", require.Path, require.Version, c.version)
		}
	}
}

// replaces checks that exactly the siblings a module needs, through others
// too, are replaced by their folders.
func (c *modulesCheck) replaces(m *Module) {
	file := m.Folder + "/go.mod"
	missing := c.needed(m)
	for _, replace := range m.Mod.Replace {
		sibling := c.byPath[replace.Old.Path]
		switch {
		case sibling == nil:
			c.add(file, "replaces %s: users' builds would not, so require what works", replace.Old.Path)
			continue
		case replace.Old.Version != "":
			c.add(file, "replaces %s at %s only: leave the version out", replace.Old.Path, replace.Old.Version)
		case !missing[replace.Old.Path]:
			c.add(file, "replaces %s, which it does not need: remove the line", replace.Old.Path)
		}
		if want := relative(m.Folder, sibling.Folder); replace.New.Path != want || replace.New.Version != "" {
			c.add(file, "replaces %s by %q, not %q", replace.Old.Path, replace.New.Path, want)
		}
		delete(missing, replace.Old.Path)
	}
	for _, lacking := range slices.Sorted(maps.Keys(missing)) {
		c.add(file, "does not replace %s: add \"replace %s => %s\"",
			lacking, lacking, relative(m.Folder, c.byPath[lacking].Folder))
	}
}

// needed is the set of siblings that m requires, directly or through another.
func (c *modulesCheck) needed(m *Module) map[string]bool {
	seen := make(map[string]bool)
	todo := []*Module{m}
	for len(todo) > 0 {
		next := todo[0]
		todo = todo[1:]
		for _, require := range next.Mod.Require {
			if sibling := c.byPath[require.Path]; sibling != nil && sibling != m && !seen[require.Path] {
				seen[require.Path] = true
				todo = append(todo, sibling)
			}
		}
	}
	return seen
}

// SiblingVersion is the version at which most siblings are required, the
// later one in a tie, empty if no module requires another.
func (w *Workspace) SiblingVersion() string {
	counts := make(map[string]int)
	for _, m := range w.Modules {
		for _, require := range m.Mod.Require {
			if strings.HasPrefix(require.Path, Prefix) {
				counts[require.Version]++
			}
		}
	}
	most := ""
	for _, version := range slices.Sorted(maps.Keys(counts)) {
		if counts[version] >= counts[most] {
			most = version
		}
	}
	return most
}

// relative is the path from one module's folder to another's as a go.mod
// spells it.
func relative(from, to string) string {
	rel, err := filepath.Rel(filepath.FromSlash(from), filepath.FromSlash(to))
	if err != nil {
		return path.Join("..", to)
	}
	return filepath.ToSlash(rel)
}
