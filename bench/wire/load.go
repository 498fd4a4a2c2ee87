package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/go-floodgate/floodgate/bench/measure"
)

// LoadKind is the kind of session that asks servers.
const LoadKind = "load"

const (
	// connections are open at a time, each with one request under way.
	connections = 32
	// most is how many requests a connection makes at most.
	most = 100_000
	// patience is how long an answer may take.
	patience = 10 * time.Second
)

// requests is the metric that says how many were answered.
const requests = "requests"

// load is a session that asks a server, again and again, on many connections.
type load struct{}

// NewLoad begins a session; the contender does not matter.
func NewLoad(string) (measure.Session, error) { return load{}, nil }

func (load) Close() error { return nil }

func (load) Do(o measure.Order) (map[string]float64, error) {
	var wait sync.WaitGroup
	times := make([][]time.Duration, connections)
	failures := make([]error, connections)
	start := time.Now()
	for i := range connections {
		wait.Go(func() { times[i], failures[i] = ask(o.Address, start.Add(o.For)) })
	}
	wait.Wait()
	took := time.Since(start)
	if err := errors.Join(failures...); err != nil {
		return nil, err
	}
	var all []time.Duration
	for _, t := range times {
		all = append(all, t...)
	}
	return map[string]float64{
		measure.Nanoseconds: float64(took.Nanoseconds()) / float64(max(len(all), 1)),
		measure.P50:         measure.Percentile(all, 50), measure.P99: measure.Percentile(all, 99),
		requests: float64(len(all)),
	}, nil
}

// ask sends one request after another on one connection, until a time, at least
// one. It is as little of an HTTP client as there can be, since it shares the
// processors with the server.
func ask(address string, until time.Time) (times []time.Duration, err error) {
	conn, err := net.DialTimeout("tcp", address, patience) //nolint:noctx // bounded
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := conn.SetDeadline(until.Add(patience)); err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	request := []byte("GET / HTTP/1.1\r\nHost: " + address + "\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n")
	in := bufio.NewReader(conn)
	times = make([]time.Duration, 0, 1<<14)
	for asked := time.Now(); len(times) == 0 || asked.Before(until) && len(times) < most; {
		if _, err := conn.Write(request); err != nil {
			return nil, fmt.Errorf("wire: %w", err)
		}
		if err := answer(in); err != nil {
			return nil, err
		}
		now := time.Now()
		times = append(times, now.Sub(asked))
		asked = now
	}
	return times, nil
}

// answer reads an answer, which must be a 200.
func answer(in *bufio.Reader) error {
	length := 0
	for first := true; ; first = false {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return fmt.Errorf("wire: %w", err)
		}
		line = bytes.TrimRight(line, "\r\n")
		switch name, value, _ := bytes.Cut(line, []byte(": ")); {
		case first:
			if !bytes.HasPrefix(line, []byte("HTTP/1.1 200")) {
				return fmt.Errorf("wire: the server answered %q", line)
			}
		case len(line) == 0:
			_, err := io.CopyN(io.Discard, in, int64(length))
			return err
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(value)); err != nil {
				return fmt.Errorf("wire: %w", err)
			}
		}
	}
}
