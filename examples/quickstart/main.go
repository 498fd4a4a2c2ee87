// Command quickstart is the shortest server with a limit: 100 requests per
// minute for each client address.
package main

import (
	"log"
	"net/http"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/memstore"
	httplimit "github.com/go-floodgate/floodgate/nethttp"
)

func main() {
	api, err := ratelimit.New(memstore.New(),
		ratelimit.Policy{Name: "per-ip", Key: ratelimit.ByIP(), Limit: ratelimit.PerMinute(100)},
	)
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("hello\n"))
	})
	server := &http.Server{Addr: "127.0.0.1:8080", Handler: httplimit.New(api)(mux), ReadHeaderTimeout: 5 * time.Second}
	log.Fatal(server.ListenAndServe())
}
