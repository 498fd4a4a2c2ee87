package measure

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Order is what a session is told to measure. Which fields it looks at is its
// own business.
type Order struct {
	Scenario   string
	Processors int
	Goroutines int
	Keys       int // how many there are to be when it is done
	Room       int // how many there will be in the end
	For        time.Duration
	Address    string
}

// Session measures one contender. It remembers what it built from one order to
// the next.
type Session interface {
	Do(o Order) (metrics map[string]float64, err error)
	Close() error
}

// Kind is a kind of session, by whose name a process begins one.
type Kind struct {
	Name string
	New  func(contender string) (Session, error)
}

// variable says in the environment which session a process is to be.
const variable = "FLOODGATE_BENCH_SESSION"

// Serve is called first thing in main: it returns false in the process that a
// user started. In one that Start started it serves orders until its input
// ends, and returns true.
func Serve(kinds ...Kind) bool {
	name, contender, found := strings.Cut(os.Getenv(variable), "/")
	if !found {
		return false
	}
	for _, kind := range kinds {
		if kind.Name != name {
			continue
		}
		session, err := kind.New(contender)
		if err == nil {
			err = errors.Join(answer(session, os.Stdin, os.Stdout), session.Close())
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "bench: %s: %v\n", contender, err)
		}
		return true
	}
	fmt.Fprintf(os.Stderr, "bench: no session is called %q\n", name)
	return true
}

// reply is what a process answers to an order.
type reply struct {
	Metrics map[string]float64
	Error   string
}

func answer(s Session, from io.Reader, to io.Writer) error {
	orders, replies := json.NewDecoder(from), json.NewEncoder(to)
	for {
		var o Order
		if err := orders.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		metrics, err := s.Do(o)
		r := reply{Metrics: metrics}
		if err != nil {
			r.Error = err.Error()
		}
		if err := replies.Encode(r); err != nil {
			return err
		}
	}
}

// process is a Session in another process.
type process struct {
	contender string
	command   *exec.Cmd
	orders    io.WriteCloser
	replies   *json.Decoder
}

// patience is how long a process may take for an order beyond the time it is
// told to measure for; a store is filled in it.
const patience = 2 * time.Minute

// Start begins a session of a contender in a process of its own, which is this
// program again; see Serve.
func Start(kind, contender string) (Session, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("measure: %w", err)
	}
	command := exec.Command(program) //nolint:noctx // it ends when its input does, and after patience
	command.Env = append(os.Environ(), variable+"="+kind+"/"+contender)
	command.Stderr = os.Stderr
	orders, err := command.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("measure: %w", err)
	}
	replies, err := command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("measure: %w", err)
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("measure: %w", err)
	}
	return &process{contender: contender, command: command, orders: orders, replies: json.NewDecoder(replies)}, nil
}

func (p *process) Do(o Order) (map[string]float64, error) {
	hung := time.AfterFunc(patience+10*o.For, func() { _ = p.command.Process.Kill() })
	defer hung.Stop()
	if err := json.NewEncoder(p.orders).Encode(o); err != nil {
		return nil, fmt.Errorf("measure: the process of %s has ended: %w", p.contender, err)
	}
	var r reply
	if err := p.replies.Decode(&r); err != nil {
		return nil, fmt.Errorf("measure: the process of %s has ended in %q: %w", p.contender, o.Scenario, err)
	}
	if r.Error != "" {
		return nil, errors.New(r.Error)
	}
	return r.Metrics, nil
}

func (p *process) Close() error {
	_ = p.orders.Close()
	hung := time.AfterFunc(patience, func() { _ = p.command.Process.Kill() })
	defer hung.Stop()
	return p.command.Wait()
}
