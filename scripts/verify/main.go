// Verify prints where the repository breaks its own rules and then fails.
//
//	go run ./verify mods|structure
//
// It is run in scripts/, by the Makefile.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/go-floodgate/floodgate/scripts/repository"
)

var checks = map[string]func(*repository.Workspace) []string{
	"mods":      repository.CheckModules,
	"structure": repository.CheckStructure,
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 || checks[args[0]] == nil {
		return fmt.Errorf("verify: want one argument, mods or structure, not %q", args)
	}
	workspace, err := repository.Load(context.Background(), "..")
	if err != nil {
		return err
	}
	found := checks[args[0]](workspace)
	for _, line := range found {
		fmt.Fprintln(os.Stderr, line)
	}
	if len(found) > 0 {
		return fmt.Errorf("verify %s: %d faults", args[0], len(found))
	}
	fmt.Printf("verify %s: %d modules, no fault\n", args[0], len(workspace.Modules))
	return nil
}
