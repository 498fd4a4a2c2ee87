package httplimit_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	httplimit "github.com/go-floodgate/floodgate/nethttp"
)

// A refusal is read to its end, so that its connection is used again; if the
// end is far, the connection is closed instead.
func TestConnections(t *testing.T) {
	big := strings.Repeat("x", 1<<20)
	for _, c := range []struct {
		name        string
		refuse      func(http.ResponseWriter, *http.Request)
		connections int64
	}{
		{"short", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "no") }, 1},
		{"in chunks", func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).Flush()
			_, _ = io.WriteString(w, big[:60<<10])
		}, 1},
		{"too long", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, big) }, 2},
		{"without an end", func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			var requests, connections atomic.Int64
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if requests.Add(1) == 1 {
					w.WriteHeader(http.StatusTooManyRequests)
					c.refuse(w, r)
				}
			}))
			server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateNew {
					connections.Add(1)
				}
			}
			server.Start()
			defer server.Close()
			client := &http.Client{Transport: &httplimit.Transport{Base: server.Client().Transport, MinBackoff: time.Nanosecond}}
			res, err := client.Get(server.URL) //nolint:noctx // the test ends anyway
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != http.StatusOK || requests.Load() != 2 || connections.Load() != c.connections {
				t.Errorf("status %d after %d requests over %d connections, want %d", res.StatusCode, requests.Load(), connections.Load(), c.connections)
			}
		})
	}
}
