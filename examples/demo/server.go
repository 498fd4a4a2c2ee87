package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// serverName is the example server that is shown; they are all alike.
const serverName = "nethttp"

// server is the example server's process.
type server struct {
	// line is the first that it printed, url the address therein.
	line, url string

	folder  string
	process *exec.Cmd
	stderr  bytes.Buffer
}

// start builds the server and starts it on a free port.
func start(ctx context.Context) (_ *server, err error) {
	s := &server{}
	if s.folder, err = os.MkdirTemp("", "floodgate-demo-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(s.folder)
		}
	}()
	program := filepath.Join(s.folder, serverName)
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "github.com/go-floodgate/floodgate/examples/"+serverName)
	if output, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the server: %w\n%s", err, output)
	}

	// Not bound to ctx: an interrupt reaches the server by itself.
	s.process = exec.CommandContext(context.WithoutCancel(ctx), program, "-addr", "127.0.0.1:0")
	s.process.Stderr = &s.stderr
	stdout, err := s.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.process.Start(); err != nil {
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	s.line = strings.TrimSpace(line)
	var found bool
	if s.url, found = strings.CutPrefix(s.line, "listening on "); err != nil || !found {
		err = fmt.Errorf("the server said %q instead of where it is listening", s.line)
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// stop ends the server as a supervisor does and waits for it.
func (s *server) stop() error {
	defer func() { _ = os.RemoveAll(s.folder) }()
	if err := s.process.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping the server: %w", err)
	}
	if err := s.process.Wait(); err != nil {
		return fmt.Errorf("the server ended with %w\n%s", err, &s.stderr)
	}
	return nil
}
