package adaptertest

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
)

// server is a site that is being served, and its clients.
type server struct {
	s    *suite
	wire *wire

	mu      sync.Mutex
	clients map[string]*client
}

// client is one peer, which keeps its connections.
type client struct{ transport *http.Transport }

// request is one request; the zero one is GET / of the usual peer.
type request struct {
	method, path string
	header       http.Header
	body         string
	// chunked sends the body without saying how long it is.
	chunked bool
	// peer is the address that the server sees.
	peer string
	// fresh uses a new connection.
	fresh bool
	// ctx ends the request early.
	ctx context.Context
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

// usualPeer is an address of those set aside for documentation.
const usualPeer = "192.0.2.10"

// fields makes a header of pairs of names and values.
func fields(pairs ...string) http.Header {
	header := make(http.Header)
	for i := 0; i < len(pairs); i += 2 {
		header.Add(pairs[i], pairs[i+1])
	}
	return header
}

func (v *server) newClient(peer string) *client {
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return v.wire.dial(ctx, peer)
		},
		DisableCompression:  true,
		MaxIdleConnsPerHost: 1000,
		Protocols:           new(http.Protocols),
	}
	if v.s.h.HTTP2 {
		transport.Protocols.SetUnencryptedHTTP2(true)
	} else {
		transport.Protocols.SetHTTP1(true)
	}
	return &client{transport: transport}
}

func (v *server) client(peer string) *client {
	v.mu.Lock()
	defer v.mu.Unlock()
	c := v.clients[peer]
	if c == nil {
		c = v.newClient(peer)
		v.clients[peer] = c
	}
	return c
}

func (v *server) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range v.clients {
		c.transport.CloseIdleConnections()
	}
}

// open sends a request and returns the response with its body unread. end
// releases all it holds.
func (v *server) open(r request) (response *http.Response, end func(), err error) {
	ctx := r.ctx
	if ctx == nil {
		ctx = v.s.Context()
	}
	ctx, cancel := context.WithTimeout(ctx, v.s.patience)
	if r.method == "" {
		r.method = http.MethodGet
	}
	if r.peer == "" {
		r.peer = usualPeer
	}
	var body io.Reader
	if r.body != "" {
		body = strings.NewReader(r.body)
		if r.chunked {
			body = io.MultiReader(body)
		}
	}
	sent, err := http.NewRequestWithContext(ctx, r.method, "http://"+v.wire.Addr().String()+r.path, body)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	for name, values := range r.header {
		sent.Header[http.CanonicalHeaderKey(name)] = values
	}
	c := v.client(r.peer)
	if r.fresh {
		c = v.newClient(r.peer)
	}
	release := func() {
		cancel()
		if r.fresh {
			c.transport.CloseIdleConnections()
		}
	}
	if response, err = c.transport.RoundTrip(sent); err != nil {
		release()
		return nil, nil, err
	}
	return response, func() { _ = response.Body.Close(); release() }, nil
}

// try sends a request; it may be called by any goroutine.
func (v *server) try(r request) (answer, error) {
	response, end, err := v.open(r)
	if err != nil {
		return answer{}, err
	}
	defer end()
	body, err := io.ReadAll(response.Body)
	return answer{status: response.StatusCode, header: response.Header, body: string(body)}, err
}

// do sends a request that must be answered.
func (v *server) do(r request) answer {
	v.s.Helper()
	a, err := v.try(r)
	if err != nil {
		v.s.Fatalf("%s %s: %v", r.method, r.path, err)
	}
	return a
}

// get is do with GET.
func (v *server) get(path string) answer {
	v.s.Helper()
	return v.do(request{path: path})
}

// raw sends text on a connection of its own and returns all that comes back
// until the server closes it.
func (v *server) raw(text string) string {
	v.s.Helper()
	ctx, cancel := context.WithTimeout(v.s.Context(), v.s.patience)
	defer cancel()
	conn, err := v.wire.dial(ctx, usualPeer)
	if err != nil {
		v.s.Fatal(err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := io.WriteString(conn, text); err != nil {
		v.s.Fatal(err)
	}
	all, err := io.ReadAll(conn)
	if err != nil {
		v.s.Fatalf("reading the answer to %q: %v", text, err)
	}
	return string(all)
}

// is checks the answer's status.
func (a answer) is(s *suite, what string, status int) {
	s.Helper()
	if a.status != status {
		s.Errorf("%s: status %d, want %d (body %.100q)", what, a.status, status, a.body)
	}
}

// has checks a field that is sent as one line, "" if it is not to be there.
func (a answer) has(s *suite, name, want string) {
	s.Helper()
	if got := strings.Join(a.header.Values(name), "\n"); got != want {
		s.Errorf("%s: got %q, want %q", name, got, want)
	}
}
