package prommetrics_test

import (
	"context"
	"os/exec"
	"testing"
	"time"
)

// The alerts fire and clear as their unit tests say.
func TestRules(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatal("promtool is missing: apt-get install -y prometheus (brew install prometheus), or run make deps")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, arguments := range [][]string{
		{"check", "rules", "floodgate.rules.yml"},
		{"test", "rules", "floodgate.rules.test.yml"},
	} {
		command := exec.CommandContext(ctx, promtool, arguments...)
		command.Dir = "rules"
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", arguments, err, out)
		}
	}
}
