package overredis

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Server is the Redis that all contenders use.
type Server struct {
	Address string
	Version string

	process *exec.Cmd
	client  *redis.Client
	folder  string
}

// StartServer starts a redis-server on a free port of loopback, which saves
// nothing.
func StartServer() (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed at once
	if err != nil {
		return nil, fmt.Errorf("overredis: %w", err)
	}
	address := listener.Addr().String()
	_, port, err := net.SplitHostPort(address)
	if err := errors.Join(err, listener.Close()); err != nil {
		return nil, fmt.Errorf("overredis: %w", err)
	}
	folder, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, fmt.Errorf("overredis: %w", err)
	}
	s := &Server{Address: address, folder: folder}
	s.process = exec.Command("redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", folder) //nolint:noctx // it ends with the run
	if err := s.process.Start(); err != nil {
		_ = os.RemoveAll(folder)
		return nil, fmt.Errorf("redis-server is missing: install it (Debian: apt-get install -y redis-server, macOS: brew install redis): %w", err)
	}
	s.client = redis.NewClient(&redis.Options{Addr: address, MaxRetries: 100, MaxRetryBackoff: 50 * time.Millisecond})
	info, err := s.client.Info(context.Background(), "server").Result()
	if err != nil {
		s.Stop()
		return nil, fmt.Errorf("overredis: %w", err)
	}
	_, rest, _ := strings.Cut(info, "redis_version:")
	s.Version, _, _ = strings.Cut(rest, "\r\n")
	return s, nil
}

// Stop ends the server and removes what it wrote.
func (s *Server) Stop() {
	_ = s.client.Close()
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
	_ = os.RemoveAll(s.folder)
}

// empty removes all keys.
func (s *Server) empty() error {
	if err := s.client.FlushAll(context.Background()).Err(); err != nil {
		return fmt.Errorf("overredis: %w", err)
	}
	return nil
}

// delay is a proxy that lets everything arrive later, in both directions, and
// keeps no one waiting for another's delay.
func delay(target string, by time.Duration) (net.Listener, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed with the run
	if err != nil {
		return nil, fmt.Errorf("overredis: %w", err)
	}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", target) //nolint:noctx // loopback
			if err != nil {
				_ = client.Close()
				continue
			}
			go later(server, client, by)
			go later(client, server, by)
		}
	}()
	return listener, nil
}

// piece is what arrived at one time.
type piece struct {
	data []byte
	due  time.Time
}

func later(to, from net.Conn, by time.Duration) {
	pieces := make(chan piece, 1024)
	go func() {
		defer func() { _ = to.Close() }()
		for p := range pieces {
			time.Sleep(time.Until(p.due))
			if _, err := to.Write(p.data); err != nil {
				break
			}
		}
		for range pieces { // so that the reader ends
		}
	}()
	reader := bufio.NewReaderSize(from, 64<<10)
	for {
		if _, err := reader.Peek(1); err != nil {
			break
		}
		data := make([]byte, reader.Buffered())
		if _, err := io.ReadFull(reader, data); err != nil {
			break
		}
		pieces <- piece{data: data, due: time.Now().Add(by)}
	}
	close(pieces)
}
