package httplimit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/memstore"
	httplimit "github.com/go-floodgate/floodgate/nethttp"
)

// A cost that is known afterwards: an estimate is charged, and the handler tells
// what it has come to.
func Example_settle() {
	api := ratelimit.Must(ratelimit.New(memstore.New(), ratelimit.Policy{
		Name: "tokens", Limit: ratelimit.SlidingLog(1000, time.Hour), Settles: true,
		Cost: func(*ratelimit.Request) int64 { return 500 },
	}))
	complete := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tokens := int64(300) // what the answer took
		if err := ratelimit.Settle(r.Context(), "tokens", tokens); err != nil {
			http.Error(w, "try again later", http.StatusServiceUnavailable)
		}
	})
	handler := httplimit.Wrap(api, complete)

	for range 4 {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/complete", http.NoBody))
		fmt.Println(w.Code, w.Header().Get("X-RateLimit-Remaining"), "left ahead")
	}
	// Output:
	// 200 500 left ahead
	// 200 200 left ahead
	// 429 400 left ahead
	// 429 400 left ahead
}
