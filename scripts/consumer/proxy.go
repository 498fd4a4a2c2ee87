package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/go-floodgate/floodgate/scripts/repository"
)

// proxy writes every published module of w into dir, as a module proxy serves
// it: https://go.dev/ref/mod#goproxy-protocol.
func proxy(w *repository.Workspace, dir, version string) error {
	for i := range w.Modules {
		if m := &w.Modules[i]; m.Published() {
			if err := publish(w.Root, dir, m, version); err != nil {
				return fmt.Errorf("consumer: packing %s: %w", m.Folder, err)
			}
		}
	}
	return nil
}

func publish(root, dir string, m *repository.Module, version string) (err error) {
	at := filepath.Join(dir, filepath.FromSlash(m.Mod.Module.Path), "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	folder := filepath.Join(root, filepath.FromSlash(m.Folder))
	mod, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil {
		return err
	}
	info := fmt.Sprintf(`{"Version":%q,"Time":%q}`, version, time.Now().UTC().Format(time.RFC3339))
	for name, content := range map[string]string{"list": version + "\n", version + ".info": info, version + ".mod": string(mod)} {
		if err := os.WriteFile(filepath.Join(at, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	file, err := os.Create(filepath.Join(at, version+".zip"))
	if err != nil {
		return err
	}
	defer func() {
		if closed := file.Close(); err == nil {
			err = closed
		}
	}()
	return zip.CreateFromDir(file, module.Version{Path: m.Mod.Module.Path, Version: version}, folder)
}
