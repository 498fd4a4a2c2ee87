package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-floodgate/floodgate/examples/app"
	"github.com/go-floodgate/floodgate/memstore"
	httplimit "github.com/go-floodgate/floodgate/nethttp"
)

// TestClients drives the server at three times its limits, 5 requests per
// second by each algorithm, with one client and with two who don't know of
// each other: every request succeeds in the end, with at most 1.2 sent for each.
func TestClients(t *testing.T) {
	for _, algorithm := range []string{"fixed_window", "sliding_window", "sliding_log", "token_bucket", "leaky_bucket"} {
		for name, clients := range map[string]int{"one client": 1, "two clients": 2} {
			t.Run(algorithm+" "+name, func(t *testing.T) {
				t.Parallel()
				drive(t, "/algorithms/"+algorithm, clients)
			})
		}
	}
}

func drive(t *testing.T, path string, clients int) {
	l, err := app.NewLimiters(app.Flags{}, memstore.New())
	if err != nil {
		t.Fatal(err)
	}
	var sent, succeeded atomic.Int64
	limited := handler(l)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent.Add(1)
		limited.ServeHTTP(w, r)
	}))
	defer server.Close()

	const requests, perSecond = 40, 15
	var all []*http.Client
	for range clients {
		all = append(all, &http.Client{Transport: &httplimit.Transport{}})
	}
	var underWay sync.WaitGroup
	for i := range requests {
		underWay.Go(func() {
			r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, server.URL+path, http.NoBody)
			if err != nil {
				t.Error(err)
				return
			}
			res, err := all[i%clients].Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				succeeded.Add(1)
			}
		})
		time.Sleep(time.Second / perSecond)
	}
	underWay.Wait()
	t.Logf("%d sent for %d that succeeded", sent.Load(), succeeded.Load())
	if succeeded.Load() != requests || sent.Load()*10 > requests*12 {
		t.Errorf("%d of %d requests succeeded with %d sent, want all, with at most 1.2 for each", succeeded.Load(), requests, sent.Load())
	}
}
