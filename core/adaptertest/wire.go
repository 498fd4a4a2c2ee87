package adaptertest

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"testing"
)

// wire is the loopback listener that a site is served on, together with all
// connections to it. Each connection shows the server the peer's address that
// the suite gives it, so that one machine can be many clients, in IPv6 too
// where the machine has none. What the server sends is kept.
type wire struct {
	net.Listener

	mu       sync.Mutex
	peers    map[string]net.Addr // by the client's own address
	changed  *sync.Cond
	closed   bool
	received bytes.Buffer
}

func listen(t testing.TB) *wire {
	t.Helper()
	// A port of the loopback interface, on which nothing else arrives.
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("adaptertest: no loopback listener: %v", err)
	}
	w := &wire{Listener: l, peers: make(map[string]net.Addr)}
	w.changed = sync.NewCond(&w.mu)
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// Close ends the listener.
func (w *wire) Close() error {
	w.mu.Lock()
	w.closed = true
	w.changed.Broadcast()
	w.mu.Unlock()
	return w.Listener.Close()
}

// Accept waits for a connection and for [wire.dial] to say whose it is.
func (w *wire) Accept() (net.Conn, error) {
	conn, err := w.Listener.Accept()
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	from := conn.RemoteAddr().String()
	for w.peers[from] == nil && !w.closed {
		w.changed.Wait()
	}
	if w.closed {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	return peerConn{conn, w.peers[from]}, nil
}

// dial connects as the peer with this address; one that is no IP address is
// that of a Unix socket.
func (w *wire) dial(ctx context.Context, peer string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", w.Addr().String())
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.peers[conn.LocalAddr().String()] = peerAddr(peer, conn.LocalAddr())
	w.changed.Broadcast()
	return keptConn{conn, w}, nil
}

func peerAddr(peer string, local net.Addr) net.Addr {
	addr, err := netip.ParseAddr(peer)
	if err != nil {
		return &net.UnixAddr{Net: "unix", Name: peer}
	}
	port := 4711
	if tcp, ok := local.(*net.TCPAddr); ok {
		port = tcp.Port
	}
	return &net.TCPAddr{IP: addr.AsSlice(), Port: port, Zone: addr.Zone()}
}

// sent is everything that the server has sent so far.
func (w *wire) sent() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return bytes.Clone(w.received.Bytes())
}

// peerConn is a server's end of a connection.
type peerConn struct {
	net.Conn
	peer net.Addr
}

func (c peerConn) RemoteAddr() net.Addr { return c.peer }

// keptConn is a client's end.
type keptConn struct {
	net.Conn
	w *wire
}

func (c keptConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.w.received.Write(p[:n])
	return n, err
}

// ServeHTTP serves h on l, HTTP/1.1 and, without TLS, HTTP/2, until t's
// cleanup, which waits for the server to end.
func ServeHTTP(t testing.TB, l net.Listener, h http.Handler) {
	t.Helper()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	//nolint:gosec // its only clients are those of the suite, which end by themselves
	server := &http.Server{
		Handler:   h,
		Protocols: protocols,
		ErrorLog:  slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-ended
	})
}
