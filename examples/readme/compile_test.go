package readme

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-floodgate/floodgate/examples/apptest"
)

// compile vets the blocks, each as a package of its own, in a module that has
// what examples/ has. The error is what the compiler says, with the lines of
// the README files.
func compile(t *testing.T, blocks []block) error {
	t.Helper()
	folder := t.TempDir()
	module(t, folder)
	for i, b := range blocks {
		source, err := b.source()
		if err != nil {
			return err
		}
		name := filepath.Join(folder, fmt.Sprintf("block%02d", i), "block.go")
		if err := os.Mkdir(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	vet := exec.CommandContext(context.Background(), "go", append([]string{"vet"}, append(apptest.BuildFlags(), "./...")...)...)
	vet.Dir = folder
	vet.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	if output, err := vet.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, output)
	}
	return nil
}

// module makes a module that requires what examples/ does.
func module(t *testing.T, folder string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		text = []byte(strings.ReplaceAll(string(text), " => ../", " => "+filepath.ToSlash(root)+"/"))
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
