package apptest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/examples/app"
)

// site is a server that is running, and a client of its own.
type site struct {
	limiters *app.Limiters
	store    ratelimit.Store
	clock    *Clock
	addr     string
	client   *http.Client
}

// open starts a server on a store of its own. The store that it works on is
// what change makes of that one; a nil change leaves it.
func (b *bench) open(t *testing.T, flags app.Flags, change func(ratelimit.Store) ratelimit.Store) *site {
	t.Helper()
	s := &site{clock: newClock()}
	s.store = b.store.New(t, s.clock)
	if change != nil {
		s.store = change(s.store)
	}
	var err error
	if s.limiters, err = app.NewLimiters(flags, s.store); err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addr = listener.Addr().String()
	s.client = newClient(t)

	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- app.Serve(ctx, listener, b.server(s.limiters)) }()
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return s
}

// newClient returns a client whose connections are nobody else's.
func newClient(t *testing.T) *http.Client {
	transport := &http.Transport{MaxIdleConnsPerHost: connections, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

// failing is a store that is down.
type failing struct{}

var errDown = errors.New("the store is down")

func (failing) Take(context.Context, []ratelimit.Charge, []ratelimit.Result) error { return errDown }

func (failing) Adjust(context.Context, []ratelimit.Adjustment) error { return errDown }

func (failing) Reset(context.Context, []ratelimit.Key) error { return errDown }

func down(ratelimit.Store) ratelimit.Store { return failing{} }
