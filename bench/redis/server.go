package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// server is the Redis that all contenders use.
type server struct {
	address string
	process *exec.Cmd
	client  *redis.Client
	folder  string
}

func startServer() (*server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed at once
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	_ = listener.Close()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	s := &server{address: net.JoinHostPort("127.0.0.1", port), folder: folder}
	s.process = exec.Command("redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", folder) //nolint:noctx // it ends with the run
	if err := s.process.Start(); err != nil {
		return nil, fmt.Errorf("redis-server is missing: install it (Debian: apt-get install -y redis-server, macOS: brew install redis): %w", err)
	}
	s.client = redis.NewClient(&redis.Options{Addr: s.address, MaxRetries: 100, MaxRetryBackoff: 50 * time.Millisecond})
	if err := s.client.Ping(context.Background()).Err(); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *server) stop() {
	_ = s.client.Close()
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
	_ = os.RemoveAll(s.folder)
}

// cpu is what the server has used, in seconds.
func (s *server) cpu() (float64, error) {
	info, err := s.client.Info(context.Background(), "cpu").Result()
	if err != nil {
		return 0, err
	}
	total := 0.0
	for _, name := range []string{"used_cpu_sys:", "used_cpu_user:"} {
		_, rest, found := strings.Cut(info, name)
		if !found {
			return 0, errors.New("INFO cpu does not say what it used")
		}
		value, _, _ := strings.Cut(rest, "\r\n")
		seconds, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, err
		}
		total += seconds
	}
	return total, nil
}

// delay is a proxy that lets everything arrive later, in both directions, and
// keeps no one waiting for another's delay.
func delay(target string, by time.Duration) (net.Listener, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed with the run
	if err != nil {
		return nil, err
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
		defer to.Close()
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
