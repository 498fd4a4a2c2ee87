// Consumer packs every module as it would be published and uses each from a
// program of its own outside the repository. It fails if anything comes along
// that the user of the module did not ask for.
//
//	go run ./consumer
//
// It is run in scripts/, by the Makefile. What the modules require of others
// comes from the module cache, so that only missing ones are downloaded.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-floodgate/floodgate/scripts/repository"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	w, err := repository.Load(ctx, "..")
	if err != nil {
		return err
	}
	version := w.SiblingVersion()
	temp, err := os.MkdirTemp("", "floodgate-consumer-")
	if err != nil {
		return err
	}
	env, err := environment(ctx, temp)
	if err != nil {
		return err
	}
	defer func() {
		// The module cache is read-only, which RemoveAll does not overcome.
		_, cleaned := goCommand(ctx, temp, env, "clean", "-modcache")
		if removed := os.RemoveAll(temp); err == nil {
			err = removed
		}
		if err == nil {
			err = cleaned
		}
	}()
	if err := proxy(w, filepath.Join(temp, "proxy"), version); err != nil {
		return err
	}
	k := checker{workspace: w, version: version, temp: temp, env: env}
	return k.check(ctx)
}

// environment is that of a user: no workspace, our modules from the proxy in
// temp, all others from the module cache of this machine or as it gets them.
func environment(ctx context.Context, temp string) ([]string, error) {
	known, err := goCommand(ctx, temp, []string{"GOWORK=off"}, "env", "GOMODCACHE", "GOPROXY")
	if err != nil {
		return nil, err
	}
	cached := "file://" + filepath.ToSlash(filepath.Join(known[0], "cache", "download"))
	return []string{
		"GOWORK=off", "GOFLAGS=-mod=mod -trimpath",
		"GOMODCACHE=" + filepath.Join(temp, "modules"),
		"GOPROXY=file://" + filepath.ToSlash(filepath.Join(temp, "proxy")) + "," + cached + "," + known[1],
		"GONOSUMDB=" + strings.TrimSuffix(repository.Prefix, "/") + "/*",
		"GONOSUMCHECK=1",
	}, nil
}

type checker struct {
	workspace *repository.Workspace
	version   string
	temp      string
	env       []string
}

// purposes are the packages from outside that each module is for, or stands on:
// what its user asked for by using it. core is for none.
var purposes = map[string][]string{
	"memstore":   {},
	"redisstore": {"github.com/redis/go-redis/v9", "github.com/sony/gobreaker/v2"},
	"nethttp":    {"github.com/felixge/httpsnoop"},
	"chi":        {"github.com/go-chi/chi/v5", "github.com/felixge/httpsnoop"},
	"gin":        {"github.com/gin-gonic/gin"},
	"echo":       {"github.com/labstack/echo/v4"},
	"echov5":     {"github.com/labstack/echo/v5"},
	"fiber":      {"github.com/gofiber/fiber/v2"},
	"fiberv3":    {"github.com/gofiber/fiber/v3"},

	"prommetrics": {"github.com/prometheus/client_golang/prometheus"},
}

// standard are packages of the standard library that core stands on.
var standard = []string{"encoding/json", "log/slog", "net/http"}

// external is what a module is for: packages and the modules they are in.
type external struct {
	packages []string
	modules  []string
}

func (k *checker) check(ctx context.Context) error {
	externals := make(map[string]external)
	for i := range k.workspace.Modules {
		if m := &k.workspace.Modules[i]; m.Published() && m.Folder != "core" {
			found, err := k.external(ctx, m)
			if err != nil {
				return err
			}
			externals[m.Folder] = found
		}
	}
	faults, checked := 0, 0
	for i := range k.workspace.Modules {
		m := &k.workspace.Modules[i]
		if !m.Published() || m.Folder == "core" {
			continue
		}
		c, err := k.consume(ctx, m, externals)
		if err != nil {
			return err
		}
		for _, fault := range c.faults() {
			fmt.Fprintln(os.Stderr, fault)
			faults++
		}
		checked++
		fmt.Printf("%-12s %3d modules, %3d packages; alone its framework has %d and %d\n",
			m.Folder, len(c.modules), len(c.packages), len(c.baseModules), len(c.basePackages))
	}
	if faults > 0 {
		return fmt.Errorf("consumer: %d faults", faults)
	}
	fmt.Printf("consumer: %d modules stand alone\n", checked)
	return nil
}

// external finds the modules of what m is for.
func (k *checker) external(ctx context.Context, m *repository.Module) (external, error) {
	packages, known := purposes[m.Folder]
	if !known {
		return external{}, fmt.Errorf("consumer: nobody says what %s is for: add it to purposes", m.Folder)
	}
	found := external{packages: packages}
	folder := filepath.Join(k.workspace.Root, filepath.FromSlash(m.Folder))
	for _, name := range packages {
		module, err := goCommand(ctx, folder, []string{"GOWORK=off"}, "list", "-f", "{{.Module.Path}}", name)
		if err != nil {
			return external{}, err
		}
		found.modules = append(found.modules, module...)
	}
	return found, nil
}

// consume builds a program with m and one without.
func (k *checker) consume(ctx context.Context, m *repository.Module, externals map[string]external) (*consumed, error) {
	c := &consumed{folder: m.Folder}
	for folder, other := range externals {
		if folder != m.Folder {
			c.others = append(c.others, other.modules...)
		}
	}
	var bare []use
	for _, name := range slices.Concat(standard, externals[m.Folder].packages) {
		bare = append(bare, use{path: name})
	}
	base, err := write(ctx, filepath.Join(k.temp, "base", m.Folder), k.env, k.pins(m), bare)
	if err != nil {
		return nil, err
	}
	path := m.Mod.Module.Path
	with, err := write(ctx, filepath.Join(k.temp, "with", m.Folder), k.env, []string{path + "@" + k.version}, []use{{path, "New"}})
	if err != nil {
		return nil, err
	}
	if err := with.build(ctx); err != nil {
		return nil, err
	}
	if c.baseModules, err = base.modules(ctx); err != nil {
		return nil, err
	}
	if c.basePackages, err = base.packages(ctx); err != nil {
		return nil, err
	}
	if c.modules, err = with.modules(ctx); err != nil {
		return nil, err
	}
	c.packages, err = with.packages(ctx)
	return c, err
}

// pins are m's requirements from outside, so that the program without m is
// built from the same versions.
func (k *checker) pins(m *repository.Module) []string {
	var pins []string
	for _, require := range m.Mod.Require {
		if !strings.HasPrefix(require.Path, repository.Prefix) {
			pins = append(pins, require.Path+"@"+require.Version)
		}
	}
	return pins
}
