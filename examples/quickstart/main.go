// Command quickstart is the shortest server with a limit: 100 requests per
// minute for each client address.
package main

import (
	"fmt"
	"net/http"
	"os"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/memstore"
	httplimit "github.com/go-floodgate/floodgate/nethttp"
)

var api = ratelimit.Must(ratelimit.New(memstore.New(),
	ratelimit.Policy{Name: "per-ip", Key: ratelimit.ByIP(), Limit: ratelimit.PerMinute(100)},
))

func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "hello")
	})
	server := &http.Server{Addr: "127.0.0.1:8080", Handler: httplimit.New(api)(mux), ReadHeaderTimeout: 5 * time.Second}
	fmt.Println("listening on http://" + server.Addr)
	fmt.Fprintln(os.Stderr, server.ListenAndServe())
	os.Exit(1)
}
