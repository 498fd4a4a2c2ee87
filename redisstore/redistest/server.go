// Package redistest starts real Redis servers for tests, on free loopback
// ports, and lets them fail in all the ways they do.
package redistest

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// install is what to do where there is no redis-server: a run without it must
// fail, not pass untested.
const install = "redis-server is missing: install it (Debian: apt-get install -y redis-server, macOS: brew install redis) and put it on the PATH"

// Binary is the server that tests start: $REDIS_SERVER, or redis-server.
func Binary(t testing.TB) string {
	t.Helper()
	name := os.Getenv("REDIS_SERVER")
	if name == "" {
		name = "redis-server"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s: %v", install, err)
	}
	return path
}

// Server is a redis-server process.
type Server struct {
	Addr string
	Port int

	t    testing.TB
	dir  string
	args []string

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{}
	output *bytes.Buffer
}

// Start starts a server with further arguments, such as "--maxmemory", "3mb".
// It ends with the test.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	s := prepare(t, args...)
	s.Run()
	return s
}

// StartValkey starts a valkey-server. Where there is none it says so, and
// returns nil.
func StartValkey(t testing.TB) *Server {
	t.Helper()
	binary, err := exec.LookPath("valkey-server")
	if err != nil {
		_, _ = os.Stdout.WriteString("valkey: not tried\n")
		return nil
	}
	s := prepare(t)
	s.start(binary, s.args)
	s.Await()
	return s
}

// Prepare reserves an address for a server that is not running yet.
func Prepare(t testing.TB, args ...string) *Server {
	t.Helper()
	return prepare(t, args...)
}

func prepare(t testing.TB, args ...string) *Server {
	t.Helper()
	port := FreePort(t)
	s := &Server{Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), Port: port, t: t, dir: t.TempDir()}
	s.args = append([]string{
		"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
		"--dir", s.dir, "--logfile", "", "--enable-debug-command", "local",
	}, args...)
	t.Cleanup(s.Kill)
	return s
}

// Run starts the process and waits until it answers.
func (s *Server) Run() {
	s.t.Helper()
	s.start(Binary(s.t), s.args)
	s.Await()
}

func (s *Server) start(binary string, args []string) {
	s.t.Helper()
	output := new(bytes.Buffer)
	cmd := exec.Command(binary, args...) //nolint:noctx // it ends with the test
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = dieWithParent()
	if err := cmd.Start(); err != nil {
		s.t.Fatalf("starting %s: %v", binary, err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	s.mu.Lock()
	s.cmd, s.exited, s.output = cmd, exited, output
	s.mu.Unlock()
}

// Await waits until the server answers.
func (s *Server) Await() {
	s.t.Helper()
	client := s.Client()
	defer client.Close()
	Eventually(s.t, "the server answers", func() bool {
		select {
		case <-s.exited:
			s.t.Fatalf("redis-server has ended: %s", s.output.String())
		default:
		}
		err := client.Ping(context.Background()).Err()
		return err == nil || strings.Contains(err.Error(), "NOAUTH") || strings.Contains(err.Error(), "NOPERM")
	})
}

// Client returns a client for the server, closed with the test. It is patient:
// a machine that is busy for seconds is no failure.
func (s *Server) Client() *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: s.Addr, MaxRetries: -1, DialTimeout: patience, ReadTimeout: patience})
	s.t.Cleanup(func() { _ = client.Close() })
	return client
}

const patience = time.Minute

// Kill ends the process at once, as a crash does.
func (s *Server) Kill() {
	s.mu.Lock()
	cmd, exited := s.cmd, s.exited
	s.mu.Unlock()
	if cmd == nil {
		return
	}
	_ = cmd.Process.Kill()
	<-exited
}

// Pause stops the process: it keeps its connections and answers nothing.
func (s *Server) Pause() { s.signal(syscall.SIGSTOP) }

// Resume lets a paused process go on.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatalf("signalling redis-server: %v", err)
	}
}

// Do runs a command that must succeed and returns its answer.
func (s *Server) Do(args ...any) any {
	s.t.Helper()
	client := redis.NewClient(&redis.Options{Addr: s.Addr, MaxRetries: -1})
	defer client.Close()
	v, err := client.Do(context.Background(), args...).Result()
	if err != nil {
		s.t.Fatalf("%v: %v", args, err)
	}
	return v
}

// Calls is how often the server has been sent a command of this name.
func (s *Server) Calls(command string) int {
	s.t.Helper()
	stats, ok := s.Do("INFO", "commandstats").(string)
	if !ok {
		s.t.Fatal("INFO commandstats did not answer with text")
	}
	_, rest, found := strings.Cut(stats, "cmdstat_"+command+":calls=")
	if !found {
		return 0
	}
	n, _, _ := strings.Cut(rest, ",")
	calls, err := strconv.Atoi(n)
	if err != nil {
		s.t.Fatalf("INFO commandstats: %v", err)
	}
	return calls
}

var ports = struct {
	sync.Mutex
	used map[int]bool
}{used: make(map[int]bool)}

// FreePort is a free port from 10000 to 22767: neither it nor the port 10000
// above it, which a Cluster node takes for its bus by default, is one of those
// that systems give to connections (from 32768 on Linux), so that no client
// takes it in the time until a server listens there, or starts there again.
func FreePort(t testing.TB) int {
	t.Helper()
	ports.Lock()
	defer ports.Unlock()
	for range 1000 {
		// By chance: other processes look for ports at the same time.
		port := 10000 + rand.IntN(12768)
		if ports.used[port] {
			continue
		}
		listener, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port)) //nolint:noctx // closed at once
		if err != nil {
			continue
		}
		_ = listener.Close()
		ports.used[port] = true
		return port
	}
	t.Fatal("no free port from 10000 to 22767")
	return 0
}

// Eventually waits for a condition; what names it when it never comes.
func Eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("not within 20 s: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// File writes a configuration file for a server.
func (s *Server) File(name, content string) string {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}

func (s *Server) String() string { return "redis-server on " + s.Addr }
