package redistest

import (
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy stands between a client and a server and can hold back what the server
// answers, delay it, or lose it.
type Proxy struct {
	Addr string

	t        testing.TB
	target   string
	listener net.Listener
	wait     sync.WaitGroup

	mu      sync.Mutex
	changed *sync.Cond
	conns   map[net.Conn]bool
	deaf    bool // requests go nowhere
	held    bool // answers wait
	lose    bool // the next answer is dropped, and its connection
	lost    int
	delay   time.Duration
	passed  int // answers let through
	closed  bool
}

// NewProxy starts a proxy in front of the server at target. It ends with the
// test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", "0")) //nolint:noctx // it ends with the test
	if err != nil {
		t.Fatalf("starting a proxy: %v", err)
	}
	p := &Proxy{Addr: listener.Addr().String(), t: t, target: target, listener: listener, conns: make(map[net.Conn]bool)}
	p.changed = sync.NewCond(&p.mu)
	p.wait.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// BlackHole lets connections be made and requests be sent, and answers
// nothing; what it has swallowed is gone for good.
func (p *Proxy) BlackHole() { p.set(func() { p.deaf = true }) }

// Hold lets requests through and keeps the answers until Release.
func (p *Proxy) Hold() { p.set(func() { p.held = true }) }

// Release ends Hold and BlackHole. Connections of a black hole are closed.
func (p *Proxy) Release() {
	p.set(func() {
		if p.deaf {
			for conn := range p.conns {
				_ = conn.Close()
			}
		}
		p.deaf, p.held = false, false
	})
}

// Delay makes each answer come later.
func (p *Proxy) Delay(d time.Duration) { p.set(func() { p.delay = d }) }

// LoseAnswer drops the next answer and closes its connection; the server has
// done what it was asked.
func (p *Proxy) LoseAnswer() { p.set(func() { p.lose = true }) }

// Lost is how many answers were dropped, Passed how many pieces of answers
// were let through.
func (p *Proxy) Lost() int { return p.get(&p.lost) }

// Passed is how many pieces of answers were let through.
func (p *Proxy) Passed() int { return p.get(&p.passed) }

func (p *Proxy) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	p.changed.Broadcast()
}

func (p *Proxy) get(n *int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return *n
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.wait.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.target) //nolint:noctx // loopback
	if err != nil {
		return
	}
	defer server.Close()
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.conns[client], p.conns[server] = true, true
	p.mu.Unlock()
	defer p.set(func() {
		delete(p.conns, client)
		delete(p.conns, server)
	})

	var both sync.WaitGroup
	both.Go(func() {
		p.copy(server, client, p.mayAsk)
		_ = server.Close()
	})
	both.Go(func() {
		p.copy(client, server, p.mayAnswer)
		_ = client.Close()
	})
	both.Wait()
}

// copy copies until an end is closed; may decides on each piece.
func (p *Proxy) copy(to, from net.Conn, may func() (pass, goOn bool)) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			pass, goOn := may()
			if !goOn {
				return
			}
			if pass {
				if _, err := to.Write(buf[:n]); err != nil {
					return
				}
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *Proxy) mayAsk() (pass, goOn bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.deaf, !p.closed
}

func (p *Proxy) mayAnswer() (pass, goOn bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lose {
		p.lose = false
		p.lost++
		return false, false
	}
	if delay := p.delay; delay > 0 {
		p.mu.Unlock()
		time.Sleep(delay)
		p.mu.Lock()
	}
	for p.held && !p.closed {
		p.changed.Wait()
	}
	p.passed++
	return !p.deaf, !p.closed
}

func (p *Proxy) close() {
	_ = p.listener.Close()
	p.set(func() {
		p.closed = true
		for conn := range p.conns {
			_ = conn.Close()
		}
	})
	p.wait.Wait()
}
