package adaptertest

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
)

// Exchange is one request and its response, as the functions of a [Site] see
// them. A harness makes one of its framework's context; [HTTP] is the ready one
// for frameworks that hand out a ResponseWriter and a Request.
type Exchange interface {
	// Context is the request's context, as a handler of the framework finds
	// it.
	Context() context.Context
	// Header returns the first line of a request field, in the cheapest way
	// that the framework has.
	Header(name string) string
	// Body reads the request's whole body.
	Body() ([]byte, error)

	// SetHeader sets a field of the response.
	SetHeader(name, value string)
	// Respond answers with this status and body; it sets no Content-Type.
	Respond(status int, body string) error
	// Fail answers with this status in the way in which the framework's
	// handlers fail: it returns an error of the framework where handlers do.
	Fail(status int) error
	// Stream answers with this status and lets f send the body, each chunk
	// flushed to the client.
	Stream(status int, f func(send func(chunk string) error) error) error
	// Upgrade answers 101 and hands the connection over to f.
	Upgrade(f func(net.Conn)) error
	// Writer is what the handler was given to write to, nil if the framework
	// has no http.ResponseWriter.
	Writer() http.ResponseWriter
}

// HTTP is an [Exchange] of net/http.
type HTTP struct {
	W http.ResponseWriter
	R *http.Request
	// Failure makes the framework's own error with a status, nil if its
	// handlers return none.
	Failure func(status int) error
}

// Context returns the Request's context.
func (x HTTP) Context() context.Context { return x.R.Context() }

// Header returns the first line of a request field.
func (x HTTP) Header(name string) string { return x.R.Header.Get(name) }

// Body reads the Request's body.
func (x HTTP) Body() ([]byte, error) { return io.ReadAll(x.R.Body) }

// SetHeader sets a response field.
func (x HTTP) SetHeader(name, value string) { x.W.Header().Set(name, value) }

// Writer returns W.
func (x HTTP) Writer() http.ResponseWriter { return x.W }

// Respond writes status and body.
func (x HTTP) Respond(status int, body string) error {
	x.W.WriteHeader(status)
	if body == "" {
		return nil
	}
	_, err := io.WriteString(x.W, body)
	return err
}

// Fail returns what Failure does, or answers with the status and its name.
func (x HTTP) Fail(status int) error {
	if x.Failure != nil {
		return x.Failure(status)
	}
	return x.Respond(status, http.StatusText(status)+"\n")
}

// Stream writes status and flushes each chunk.
func (x HTTP) Stream(status int, f func(send func(chunk string) error) error) error {
	x.W.WriteHeader(status)
	controller := http.NewResponseController(x.W)
	return f(func(chunk string) error {
		if _, err := io.WriteString(x.W, chunk); err != nil {
			return err
		}
		return controller.Flush()
	})
}

// Upgrade hijacks the connection.
func (x HTTP) Upgrade(f func(net.Conn)) error {
	x.W.WriteHeader(http.StatusSwitchingProtocols)
	// Gin holds the status back until told so.
	if w, ok := x.W.(interface{ WriteHeaderNow() }); ok {
		w.WriteHeaderNow()
	}
	conn, buffered, err := http.NewResponseController(x.W).Hijack()
	if err != nil {
		return err
	}
	defer conn.Close()
	f(hijacked{conn, buffered.Reader})
	return nil
}

// hijacked is a connection of which the server has read a little ahead.
type hijacked struct {
	net.Conn
	ahead *bufio.Reader
}

func (h hijacked) Read(p []byte) (int, error) { return h.ahead.Read(p) }

// ServeHTTP makes a Handler one of net/http.
func (h Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := HTTP{W: w, R: r}
	if h(x) != nil {
		_ = x.Fail(http.StatusInternalServerError)
	}
}

// Handler is m's Around as a middleware of net/http.
func (m Middleware) Handler(next http.Handler) http.Handler {
	return Handler(func(x Exchange) error {
		of := x.(HTTP)
		return m.Around(x, func(ctx context.Context) error {
			next.ServeHTTP(of.W, of.R.WithContext(ctx))
			return nil
		})
	})
}
