package repository

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Workspace is the repository as its go.work and go.mod files tell it.
type Workspace struct {
	// Root is the repository's folder.
	Root string
	// Work is what go.work says.
	Work WorkFile
	// Modules are those that go.work lists and that have a go.mod, in the
	// order of go.work.
	Modules []Module
	// OnDisk are the folders that have a go.mod, sorted.
	OnDisk []string
}

// WorkFile is a go.work, as `go work edit -json` prints it; of the toolchain
// line it says nothing (Go 1.26), so Load finds that by itself.
type WorkFile struct {
	Go, Toolchain string
	Use           []struct{ DiskPath string }
	Replace       []Replacement
}

// Folders are the folders of go.work, slash-separated and without "./".
func (w *WorkFile) Folders() []string {
	folders := make([]string, len(w.Use))
	for i, use := range w.Use {
		folders[i] = path.Clean(use.DiskPath)
	}
	return folders
}

var toolchain = regexp.MustCompile(`(?m)^toolchain\s.*`)

// Module is one module of the repository.
type Module struct {
	// Folder is where it is, slash-separated and relative to the root.
	Folder string
	// Mod is what its go.mod says.
	Mod ModFile
}

// ModFile is a go.mod, as `go mod edit -json` prints it.
type ModFile struct {
	Module        struct{ Path string }
	Go, Toolchain string
	Require       []Version
	Exclude       []Version
	Replace       []Replacement
	Tool          []struct{ Path string }
}

// Version is a module at a version; a replacement by a folder has none.
type Version struct{ Path, Version string }

// Replacement is a replace line.
type Replacement struct{ Old, New Version }

// Published reports whether the module is one that users can require. The
// others exist for the repository's own sake and are never tagged.
func (m *Module) Published() bool {
	switch m.Folder {
	case "bench", "examples", "scripts":
		return false
	}
	return true
}

// Adapter reports whether the module is a framework's adapter.
func (m *Module) Adapter() bool {
	switch m.Folder {
	case "nethttp", "chi", "gin", "echo", "echov5", "fiber", "fiberv3":
		return true
	}
	return false
}

// Load reads the go.work below root and the go.mod of each module.
func Load(ctx context.Context, root string) (*Workspace, error) {
	w := &Workspace{Root: root}
	work := filepath.Join(root, "go.work")
	if err := readJSON(ctx, &w.Work, "work", work); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(work)
	if err != nil {
		return nil, err
	}
	w.Work.Toolchain = toolchain.FindString(string(text))
	for _, folder := range w.Work.Folders() {
		file := filepath.Join(root, filepath.FromSlash(folder), "go.mod")
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			continue // CheckModules tells
		}
		m := Module{Folder: folder}
		if err := readJSON(ctx, &m.Mod, "mod", file); err != nil {
			return nil, err
		}
		w.Modules = append(w.Modules, m)
	}
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata"):
			return filepath.SkipDir
		case entry.Name() == "go.mod":
			folder, err := filepath.Rel(root, filepath.Dir(name))
			w.OnDisk = append(w.OnDisk, filepath.ToSlash(folder))
			return err
		}
		return nil
	})
	slices.Sort(w.OnDisk)
	return w, err
}

// readJSON decodes what `go work edit -json` or `go mod edit -json` says of a
// file.
func readJSON(ctx context.Context, into any, kind, file string) error {
	out, err := exec.CommandContext(ctx, "go", kind, "edit", "-json", file).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return fmt.Errorf("repository: reading %s: %w: %s", file, err, exit.Stderr)
	} else if err != nil {
		return fmt.Errorf("repository: reading %s: %w", file, err)
	}
	if err := json.Unmarshal(out, into); err != nil {
		return fmt.Errorf("repository: reading %s: %w", file, err)
	}
	return nil
}
