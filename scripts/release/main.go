// Release prepares a release of all modules at one version, and by default
// only in a copy, so that one sees what would happen:
//
//	go run ./release [-apply] [-test=false] v0.2.0
//
// It sets the version that the modules require of each other, tidies every
// module, runs all tests without the workspace, and prints the change and the
// commands that commit, tag and push it. Tags are never made here: a pushed
// tag can't be taken back. It is run in scripts/, by the Makefile.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/go-floodgate/floodgate/scripts/repository"
)

func main() {
	apply := flag.Bool("apply", false, "change this tree instead of a copy")
	test := flag.Bool("test", true, "run the tests of every module")
	flag.Parse()
	if err := run(context.Background(), flag.Args(), *apply, *test); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, apply, test bool) (err error) {
	if len(args) != 1 || !repository.Releasable(args[0]) {
		return fmt.Errorf("want one version such as v0.2.0, not %q", args)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		return err
	}
	if apply {
		if err := ready(ctx, root); err != nil {
			return err
		}
	} else {
		copied, err := os.MkdirTemp("", "floodgate-release-")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(copied)) }()
		if err := command(ctx, root, "git", "clone", "--quiet", "--local", ".", copied); err != nil {
			return err
		}
		root = copied
	}
	w, err := repository.Load(ctx, root)
	if err != nil {
		return err
	}
	if err := prepare(ctx, w, args[0], test); err != nil {
		return err
	}
	if err := command(ctx, root, "git", "--no-pager", "diff", "--stat"); err != nil {
		return err
	}
	announce(w, args[0], apply)
	return nil
}

// ready is nil if the tree is what a release is made of: main, all committed.
func ready(ctx context.Context, root string) error {
	branch, err := output(ctx, root, "git", "branch", "--show-current")
	if err != nil {
		return err
	}
	if branch != "main" {
		return fmt.Errorf("the branch is %q: releases are made on main", branch)
	}
	changes, err := output(ctx, root, "git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if changes != "" {
		return fmt.Errorf("the tree has changes, commit them first:\n%s", changes)
	}
	return nil
}

// prepare sets the version in every module, tidies and tests.
func prepare(ctx context.Context, w *repository.Workspace, version string, test bool) error {
	for i := range w.Modules {
		m := &w.Modules[i]
		folder := filepath.Join(w.Root, filepath.FromSlash(m.Folder))
		edit := []string{"go", "mod", "edit"}
		for _, require := range m.Mod.Require {
			if strings.HasPrefix(require.Path, repository.Prefix) {
				edit = append(edit, "-require="+require.Path+"@"+version)
			}
		}
		if len(edit) == 3 {
			continue
		}
		if err := command(ctx, folder, edit...); err != nil {
			return err
		}
	}
	steps := [][]string{{"go", "mod", "tidy"}}
	if test {
		steps = append(steps, []string{"go", "vet", "./..."}, []string{"go", "test", "-count=1", "./..."})
	}
	for i := range w.Modules {
		folder := filepath.Join(w.Root, filepath.FromSlash(w.Modules[i].Folder))
		for _, step := range steps {
			fmt.Printf("--- %s: %s\n", w.Modules[i].Folder, strings.Join(step, " "))
			if err := command(ctx, folder, step...); err != nil {
				return err
			}
		}
	}
	again, err := repository.Load(ctx, w.Root)
	if err != nil {
		return err
	}
	if faults := repository.CheckModules(again); len(faults) > 0 {
		return errors.New(strings.Join(faults, "\n"))
	}
	return nil
}

// announce prints what is left to do by hand.
func announce(w *repository.Workspace, version string, applied bool) {
	if !applied {
		fmt.Println("\nThis was a copy; nothing has changed here. To do it: make release VERSION=" + version + " APPLY=1")
	}
	fmt.Println("\nThen, with CHANGELOG.md brought up to date, on one commit:")
	fmt.Printf("  git commit -am 'release: %s'\n", version)
	var tags []string
	for i := range w.Modules {
		if m := &w.Modules[i]; m.Published() {
			tags = append(tags, m.Folder+"/"+version)
			fmt.Printf("  git tag %s/%s\n", m.Folder, version)
		}
	}
	fmt.Printf("  git push --atomic origin main %s\n", strings.Join(tags, " "))
}

func command(ctx context.Context, dir string, words ...string) error {
	c := exec.CommandContext(ctx, words[0], words[1:]...)
	c.Dir, c.Stdout, c.Stderr = dir, os.Stdout, os.Stderr
	c.Env = append(os.Environ(), "GOWORK=off")
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s in %s: %w", strings.Join(words, " "), dir, err)
	}
	return nil
}

func output(ctx context.Context, dir string, words ...string) (string, error) {
	c := exec.CommandContext(ctx, words[0], words[1:]...)
	c.Dir, c.Stderr = dir, os.Stderr
	out, err := c.Output()
	return strings.TrimSpace(string(out)), err
}
