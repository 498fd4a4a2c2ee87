package httplimit_test

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/adaptertest"
	httplimit "github.com/go-floodgate/floodgate/nethttp"
)

// What io.Copy found nothing to send of may still end in a status of 500.
func TestStatusAfterACopy(t *testing.T) {
	for name, c := range map[string]struct {
		body io.Reader
		sent int
		back int
	}{
		"nothing":   {struct{ io.Reader }{strings.NewReader("")}, http.StatusInternalServerError, 0},
		"a failure": {iotest.ErrReader(errors.New("the file is gone")), http.StatusInternalServerError, 0},
		"a byte":    {struct{ io.Reader }{strings.NewReader("x")}, http.StatusOK, 1},
	} {
		script := adaptertest.NewScript(adaptertest.Step{Results: []ratelimit.Result{{Allowed: true, Limit: 10, Remaining: 9}}})
		l := newLimiter(t, script, ratelimit.Policy{Name: "p", Limit: ratelimit.PerMinute(10), Counts: ratelimit.CountFailures})
		ended := make(chan struct{})
		handler := httplimit.Wrap(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.Copy(w, c.body)
			w.WriteHeader(http.StatusInternalServerError)
		}))
		// The ReaderFrom of a real connection is what behaves so.
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer close(ended)
			handler.ServeHTTP(w, r)
		}))
		server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
		server.Start()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		<-ended
		server.Close()
		if n := len(script.Adjustments()); response.StatusCode != c.sent || n != c.back {
			t.Errorf("%s: status %d with %d given back, want %d with %d", name, response.StatusCode, n, c.sent, c.back)
		}
	}
}
