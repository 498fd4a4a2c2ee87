package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// program is a small module outside the repository.
type program struct {
	dir string
	env []string
}

// write makes a program that uses these imports, each by the name given: with
// a function of it, or with nothing if that is empty.
func write(ctx context.Context, dir string, env []string, requires []string, uses []use) (*program, error) {
	p := &program{dir: dir, env: env}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/consumer\n\ngo 1.26.0\n"), 0o644); err != nil {
		return nil, err
	}
	var source strings.Builder
	source.WriteString("package main\n\nimport (\n")
	for i, u := range uses {
		name := "_"
		if u.function != "" {
			name = fmt.Sprintf("used%d", i)
		}
		fmt.Fprintf(&source, "\t%s %q\n", name, u.path)
	}
	source.WriteString(")\n\nfunc main() {\n")
	for i, u := range uses {
		if u.function != "" {
			fmt.Fprintf(&source, "\t_ = used%d.%s\n", i, u.function)
		}
	}
	source.WriteString("}\n")
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(source.String()), 0o644); err != nil {
		return nil, err
	}
	for _, require := range requires {
		if _, err := p.run(ctx, "mod", "edit", "-require="+require); err != nil {
			return nil, err
		}
	}
	_, err := p.run(ctx, "mod", "tidy")
	return p, err
}

// build links the program.
func (p *program) build(ctx context.Context) error {
	_, err := p.run(ctx, "build", "-o", os.DevNull, ".")
	return err
}

// use is an imported package and a function of it.
type use struct{ path, function string }

// modules are the modules of the program's build list, its own left out.
func (p *program) modules(ctx context.Context) ([]string, error) {
	lines, err := p.run(ctx, "list", "-m", "-f", "{{if not .Main}}{{.Path}}{{end}}", "all")
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" }), err
}

// packages are the packages that are linked into the program.
func (p *program) packages(ctx context.Context) ([]string, error) {
	return p.run(ctx, "list", "-deps", ".")
}

func (p *program) run(ctx context.Context, args ...string) ([]string, error) {
	return goCommand(ctx, p.dir, p.env, args...)
}

func goCommand(ctx context.Context, dir string, env []string, args ...string) ([]string, error) {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir, command.Env = dir, append(os.Environ(), env...)
	out, err := command.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil, fmt.Errorf("consumer: go %s in %s: %w\n%s", strings.Join(args, " "), dir, err, exit.Stderr)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n"), err
}
