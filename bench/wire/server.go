package wire

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/go-floodgate/floodgate/bench/measure"
	"github.com/go-floodgate/floodgate/bench/middleware"
)

// ServerKind is the kind of session that is a server.
const ServerKind = "server"

// What a server can be told, as Order.Scenario: where it listens, and how much of
// the processor it has used.
const (
	listening = "listening"
	using     = "using"
)

// Metrics of a server.
const (
	port = "port"
	used = "used" // microseconds
)

// server is a session that serves until it is closed.
type server struct {
	listener net.Listener
	close    func() error
}

// NewServer begins a session of a contender of package middleware, which listens
// on a port of its own.
func NewServer(id string) (measure.Session, error) {
	c, err := middleware.Named(id)
	if err != nil {
		return nil, err
	}
	site, err := c.New(middleware.Plenty)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed with the session
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	s := &server{listener: listener}
	if site.App != nil {
		go func() { _ = site.App.Listener(listener) }()
		s.close = listener.Close
		return s, nil
	}
	h := &http.Server{Handler: site.Handler, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = h.Serve(listener) }()
	s.close = h.Close
	return s, nil
}

func (s *server) Do(o measure.Order) (map[string]float64, error) {
	switch o.Scenario {
	case listening:
		address, ok := s.listener.Addr().(*net.TCPAddr)
		if !ok {
			return nil, errors.New("wire: the server has no port")
		}
		return map[string]float64{port: float64(address.Port)}, nil
	case using:
		cpu, err := measure.CPU()
		return map[string]float64{used: float64(cpu.Nanoseconds()) / 1000}, err
	}
	return nil, fmt.Errorf("wire: a server cannot be told %q", o.Scenario)
}

func (s *server) Close() error { return s.close() }
