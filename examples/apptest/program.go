package apptest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"
)

// runProgram builds the program in the current folder and runs it as a user
// does.
func runProgram(t *testing.T) {
	program := build(t)
	t.Run("serves until SIGTERM", func(t *testing.T) { servesUntilTerminated(t, program) })
	t.Run("refuses what it is not told right", func(t *testing.T) { refusesFlags(t, program) })
}

// build builds the program.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "server")
	arguments := append(append([]string{"build", "-o", program}, BuildFlags()...), ".")
	if out, err := exec.CommandContext(context.Background(), "go", arguments...).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program
}

// BuildFlags are the flags with which the go command finds its packages
// compiled already, because the running test was built so.
func BuildFlags() []string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			if setting.Key == "-race" && setting.Value == "true" {
				return []string{"-race"}
			}
		}
	}
	return nil
}

// servesUntilTerminated sends SIGTERM while a request is under way: it gets its
// whole answer, and the program ends well.
func servesUntilTerminated(t *testing.T, program string) {
	server := exec.CommandContext(context.Background(), program, "-addr", "127.0.0.1:0")
	var stderr bytes.Buffer
	server.Stderr = &stderr
	stdout, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill() }) // if the test has failed
	output := bufio.NewReader(stdout)
	line, err := output.ReadString('\n')
	addr, found := strings.CutPrefix(strings.TrimSpace(line), "listening on http://")
	if err != nil || !found {
		t.Fatalf("the first line is %q (%v), want \"listening on http://HOST:PORT\"\n%s", line, err, &stderr)
	}

	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+addr+"/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := newClient(t).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	stream := bufio.NewReader(res.Body)
	first, err := stream.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(stream)
	if events := strings.Count(first+string(rest), "data: "); err != nil || events != 5 {
		t.Errorf("the request under way got %d events and %v, want 5", events, err)
	}
	if more, err := io.ReadAll(output); err != nil || len(more) > 0 {
		t.Errorf("the program also wrote %q (%v)", more, err)
	}
	if err := server.Wait(); err != nil {
		t.Errorf("the program ended with %v\n%s", err, &stderr)
	}
}

// refusesFlags gives the program arguments that it can't work with; what it
// says names the mend.
func refusesFlags(t *testing.T, program string) {
	for arguments, mend := range map[string]string{
		"-addr 8080":                   "-addr: ",
		"-trusted-proxies 10.0.0.0/33": "use at most 32",
		"-trusted-proxies proxy":       "write a network like",
		"-on-store-failure sometimes":  "-on-store-failure: use open, closed or local",
		"-redis ftp://localhost":       "-redis: redisstore: Open: redis: invalid URL scheme",
		"-port 8080":                   "-h lists the flags",
		"8080":                         "give flags only",
	} {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		server := exec.CommandContext(ctx, program, strings.Fields(arguments)...)
		var stdout, stderr bytes.Buffer
		server.Stdout, server.Stderr = &stdout, &stderr
		err := server.Run()
		cancel()
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 1 {
			t.Errorf("%s: ended with %v, want status 1", arguments, err)
		}
		if text := stderr.String(); !strings.Contains(text, mend) || strings.Count(text, "\n") != 1 || stdout.Len() > 0 {
			t.Errorf("%s: says %q and prints %q, want one line with %q", arguments, text, stdout.String(), mend)
		}
	}
}
