package ginlimit_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/adaptertest"
	ginlimit "github.com/go-floodgate/floodgate/gin"
	"github.com/go-floodgate/floodgate/memstore"
)

func newLimiter(t testing.TB, store ratelimit.Store, options ...ratelimit.Option) *ratelimit.Limiter {
	t.Helper()
	l, err := ratelimit.New(store, options...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// send serves one request and returns its answer.
func send(t testing.TB, h http.Handler, method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body)))
	return w
}

func TestMistakesAtStart(t *testing.T) {
	l := newLimiter(t, memstore.New(), ratelimit.Policy{Name: "ip", Limit: ratelimit.PerMinute(1)})
	for _, c := range []struct {
		make func()
		want string
	}{
		{func() { ginlimit.New(nil) }, "ginlimit: the limiter is nil"},
		{func() { ginlimit.New(l, ginlimit.Config{}, ginlimit.Config{}) }, "ginlimit: more than one Config"},
	} {
		func() {
			defer func() {
				if got, _ := recover().(string); !strings.HasPrefix(got, c.want) {
					t.Errorf("panicked with %q, want %q", got, c.want)
				}
			}()
			c.make()
		}()
	}
}

func TestOnMemstore(t *testing.T) {
	at := time.UnixMicro(1_700_000_000_000_000)
	store := memstore.New(memstore.WithClock(func() time.Time { return at }))
	r := gin.New()
	r.Use(ginlimit.New(newLimiter(t, store, ratelimit.Policy{Name: "ip", Limit: ratelimit.TokenBucket(60, time.Minute, 3)})))
	r.GET("/", func(*gin.Context) {})
	for i, want := range []struct {
		status    int
		remaining string
	}{{200, "2"}, {200, "1"}, {200, "0"}, {429, "0"}, {429, "0"}} {
		w := send(t, r, http.MethodGet, "/", "")
		if w.Code != want.status || w.Header().Get("X-RateLimit-Remaining") != want.remaining {
			t.Errorf("request %d: %d with %q left, want %d with %s", i+1, w.Code, w.Header().Get("X-RateLimit-Remaining"), want.status, want.remaining)
		}
	}
	at = at.Add(time.Second)
	if w := send(t, r, http.MethodGet, "/", ""); w.Code != http.StatusOK {
		t.Errorf("after Retry-After: %d, want 200", w.Code)
	}
}

// TestErrorOfOnDeny sees that an error of OnDeny goes where Gin keeps those of
// handlers, and that no handler runs after it.
func TestErrorOfOnDeny(t *testing.T) {
	own := errors.New("no answer")
	var found error
	ran := false
	r := gin.New()
	r.Use(func(c *gin.Context) {
		c.Next()
		if last := c.Errors.Last(); last != nil {
			found = last.Err
		}
	}, ginlimit.New(newLimiter(t, memstore.New(), ratelimit.Policy{Name: "none", Limit: ratelimit.PerHour(0)}), ginlimit.Config{
		OnDeny: func(c *gin.Context, _ ratelimit.Decision) error {
			c.Status(http.StatusTooManyRequests)
			return own
		},
	}))
	r.GET("/", func(*gin.Context) { ran = true })
	if w := send(t, r, http.MethodGet, "/", ""); w.Code != http.StatusTooManyRequests {
		t.Errorf("status %d, want 429", w.Code)
	}
	if !errors.Is(found, own) || ran {
		t.Errorf("Gin's last error is %v, want %v; the handler ran: %t", found, own, ran)
	}
}

// TestAnswerIsFinal sees that what is mounted further out and answers requests
// that nobody has answered doesn't answer a refused one, HEAD included.
func TestAnswerIsFinal(t *testing.T) {
	r := gin.New()
	r.Use(func(c *gin.Context) {
		c.Next()
		if !c.Writer.Written() {
			c.String(http.StatusInternalServerError, "nobody has answered")
		}
	}, ginlimit.New(newLimiter(t, memstore.New(), ratelimit.Policy{Name: "none", Limit: ratelimit.PerHour(0)})))
	r.HEAD("/", func(*gin.Context) {})
	if w := send(t, r, http.MethodHead, "/", ""); w.Code != http.StatusTooManyRequests || w.Body.Len() > 0 {
		t.Errorf("the answer to HEAD is %d with %d bytes, want 429 with none", w.Code, w.Body.Len())
	}
}

// TestBinding sees that a handler can bind the body that JSONField has read.
func TestBinding(t *testing.T) {
	script := adaptertest.NewScript()
	r := gin.New()
	var bound struct{ Username, Password string }
	r.POST("/login", ginlimit.New(newLimiter(t, script, ratelimit.Login()), ginlimit.Config{Account: ginlimit.JSONField("username")}),
		func(c *gin.Context) {
			if err := c.ShouldBindJSON(&bound); err != nil {
				_ = c.AbortWithError(http.StatusBadRequest, err)
			}
		})
	if w := send(t, r, http.MethodPost, "/login", `{"username":"Alice","password":"x"}`); w.Code != http.StatusOK {
		t.Errorf("status %d, want 200", w.Code)
	}
	if bound.Username != "Alice" || bound.Password != "x" {
		t.Errorf("the handler bound %+v", bound)
	}
	if got, want := script.Charges()[0][1].Partition, ratelimit.AccountKey("alice"); got != want {
		t.Errorf("charged %q, want %q", got, want)
	}
}

// TestServedAgain sees that a request which a handler sends through the engine
// once more is counted once.
func TestServedAgain(t *testing.T) {
	script := adaptertest.NewScript()
	r := gin.New()
	r.Use(ginlimit.New(newLimiter(t, script, ratelimit.Policy{Name: "ip", Limit: ratelimit.PerMinute(1)}, ratelimit.Logger(nil))))
	r.GET("/new", func(c *gin.Context) { c.String(http.StatusOK, "new") })
	r.GET("/old", func(c *gin.Context) {
		c.Request.URL.Path = "/new"
		r.HandleContext(c)
		c.Abort()
	})
	if w := send(t, r, http.MethodGet, "/old", ""); w.Body.String() != "new" {
		t.Errorf("the answer is %d %q, want new", w.Code, w.Body)
	}
	if n := len(script.Charges()); n != 1 {
		t.Errorf("decided %d times, want once", n)
	}
}
