package fiberlimit_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/adaptor"
	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/adapter"
	"github.com/go-floodgate/floodgate/core/adaptertest"
	fiberlimit "github.com/go-floodgate/floodgate/fiberv3"
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

// perMinute is a limiter that admits everything and counts it as told.
func perMinute(t testing.TB, store ratelimit.Store, options ...ratelimit.Option) *ratelimit.Limiter {
	t.Helper()
	return newLimiter(t, store, append(options, ratelimit.Policy{Name: "ip", Limit: ratelimit.PerMinute(1)})...)
}

// exchanges sends requests one after the other through one RequestCtx, so that
// each finds the buffers of the one before.
type exchanges struct {
	handler fasthttp.RequestHandler
	ctx     fasthttp.RequestCtx
	// namesKept leaves the names of header fields as they are.
	namesKept bool
}

func to(app *fiber.App) *exchanges { return &exchanges{handler: app.Handler()} }

func (e *exchanges) send(method, target string, header ...string) *fasthttp.Response {
	e.ctx.Request.Reset()
	e.ctx.Response.Reset()
	e.ctx.ResetUserValues()
	if e.namesKept {
		e.ctx.Request.Header.DisableNormalizing()
	}
	e.ctx.Request.Header.SetMethod(method)
	e.ctx.Request.SetRequestURI(target)
	for i := 0; i < len(header); i += 2 {
		e.ctx.Request.Header.Add(header[i], header[i+1])
	}
	e.handler(&e.ctx)
	e.ctx.ResetUserValues() // as the server does
	return &e.ctx.Response
}

func answering(status int) fiber.Handler {
	return func(c fiber.Ctx) error { return c.SendStatus(status) }
}

func TestMistakesAtStart(t *testing.T) {
	l := newLimiter(t, memstore.New(), ratelimit.Policy{Name: "ip", Limit: ratelimit.PerMinute(1)})
	for _, c := range []struct {
		make func()
		want string
	}{
		{func() { fiberlimit.New(nil) }, "fiberlimit: the limiter is nil"},
		{func() { fiberlimit.New(l, fiberlimit.Config{}, fiberlimit.Config{}) }, "fiberlimit: more than one Config"},
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
	app := fiber.New()
	app.Use(fiberlimit.New(newLimiter(t, store, ratelimit.Policy{Name: "ip", Limit: ratelimit.TokenBucket(60, time.Minute, 3)})))
	app.Get("/", answering(200))
	server := to(app)
	for i, want := range []struct {
		status    int
		remaining string
	}{{200, "2"}, {200, "1"}, {200, "0"}, {429, "0"}, {429, "0"}} {
		response := server.send("GET", "/")
		if left := string(response.Header.Peek("X-RateLimit-Remaining")); response.StatusCode() != want.status || left != want.remaining {
			t.Errorf("request %d: %d with %q left, want %d with %s", i+1, response.StatusCode(), left, want.status, want.remaining)
		}
	}
	at = at.Add(time.Second)
	if status := server.send("GET", "/").StatusCode(); status != http.StatusOK {
		t.Errorf("after Retry-After: %d, want 200", status)
	}
}

// TestNothingIsAView sees that what a limiter was told stays what it was when
// Fiber has filled the buffers of the request with the next one.
func TestNothingIsAView(t *testing.T) {
	var kept []string
	l := perMinute(t, adaptertest.NewScript(), ratelimit.Exempt(ratelimit.ExemptIf(func(r *ratelimit.Request) bool {
		kept = append(kept, r.Method(), r.Route(), r.Header("X-Api-Key"), r.User(), r.Account(), r.HeaderValues("X-Many")[1])
		return false
	})))
	header := func(name string) func(fiber.Ctx) string {
		return func(c fiber.Ctx) string { return c.Get(name) }
	}
	app := fiber.New()
	app.Use(fiberlimit.New(l, fiberlimit.Config{
		User: header("X-User"), Account: header("X-Account"), Route: func(c fiber.Ctx) string { return c.Path() },
	}))
	app.All("/*", answering(200))
	server := to(app)
	server.send("POST", "/first", "X-Api-Key", "first", "X-User", "first", "X-Account", "first", "X-Many", "a", "X-Many", "first")
	want := slices.Clone(kept)
	for i, s := range want {
		want[i] = strings.Clone(s)
	}
	server.send("LINK", "/other", "X-Api-Key", "other", "X-User", "other", "X-Account", "other", "X-Many", "b", "X-Many", "other")
	server.send("PUSH", "/other", "X-Api-Key", "other", "X-User", "other", "X-Account", "other", "X-Many", "b", "X-Many", "other")
	if got := kept[:len(want)]; !slices.Equal(got, want) || want[1] != "/first" || want[3] != "first" {
		t.Errorf("after other requests what was told of the first one is %q, was %q", got, want)
	}
}

// TestRoute sees which route is found: in front of the handler of a route its
// own, elsewhere the one that Fiber will come to next.
func TestRoute(t *testing.T) {
	var route string
	var log strings.Builder
	l := newLimiter(t, adaptertest.NewScript(), ratelimit.Policy{Name: "ip", Key: ratelimit.ByRoute(), Limit: ratelimit.PerMinute(1)},
		ratelimit.Logger(slog.New(slog.NewTextHandler(&log, nil))),
		ratelimit.Observe(ratelimit.Observer{Decision: func(_ context.Context, o *ratelimit.Observation) { route = o.Route }}))
	limited, handler := fiberlimit.New(l), answering(200)
	next := func(c fiber.Ctx) error { return c.Next() }

	mounted := fiber.New()
	mounted.Get("/in/:id", limited, handler)
	app := fiber.New()
	app.Get("/users/:id<int>", next, limited, handler)
	app.Get("/files/*", limited, handler)
	app.Get("/", limited, handler)
	app.Group("/g").Get("/users/:id", limited, handler)
	app.Use("/mounted", mounted)
	app.Use("/used", limited)
	app.Get("/used", handler)
	app.Use("/both", next, limited)
	app.All("/alone/*", next, limited)
	app.Get("/alone/:id", handler)
	app.All("/group/*", next) // comes before the limiter
	group := app.Group("/group", limited)
	group.Get("/", handler)
	group.Get("/opt", handler)
	group.Get("/rows/:row<int>", handler)
	group.Get("/later/*", handler)
	group.All("/:name.:kind", next, handler)
	group.All("/*", handler)
	server := to(app)
	for _, c := range []struct {
		target, want string
	}{
		{"GET /users/1", "/users/{id}"},
		{"HEAD /users/1", "/users/{id}"},
		{"GET /USERS/1/", "/users/{id}"},
		{"GET /files/a/b", "/files/{...}"},
		{"GET /", "/"},
		{"GET /g/users/1", "/g/users/{id}"},
		{"GET /mounted/in/1", "/mounted/in/{id}"},
		{"GET /used", "/used"},
		{"GET /used/", "/used"},
		{"GET /used/more", ratelimit.UnmatchedRoute},
		{"POST /used", ratelimit.UnmatchedRoute},
		{"GET /both", ratelimit.UnmatchedRoute},
		{"GET /alone/1", "/alone/{id}"},
		{"GET /alone/1/2", ratelimit.UnmatchedRoute},
		{"GET /group", "/group/"},
		{"GET /GROUP/Rows/7", "/group/rows/{row}"},
		{"GET /group/rows/seven", "/group/{...}"},
		{"GET /group/later/x/y", "/group/later/{...}"},
		{"POST /group/rows/7", "/group/{...}"},
		{"GET /group/opt", "/group/opt"},
		{"GET /group/a.b", "/group/{name.:kind}"},
	} {
		method, path, _ := strings.Cut(c.target, " ")
		route = "the limiter was not asked"
		server.send(method, path)
		if route != c.want {
			t.Errorf("%s: route %q, want %q", c.target, route, c.want)
		}
	}
	if strings.Contains(log.String(), ratelimit.CodeRouteUnknown) {
		t.Errorf("a route was taken for unknown: %s", log.String())
	}
}

// TestHeaderNames sees that a header is found in any letter case also if Fiber
// keeps names as they were sent.
func TestHeaderNames(t *testing.T) {
	for _, kept := range []bool{false, true} {
		script := adaptertest.NewScript()
		app := fiber.New(fiber.Config{DisableHeaderNormalizing: kept})
		app.Use(fiberlimit.New(newLimiter(t, script, ratelimit.Policy{Name: "key", Key: ratelimit.ByHeader("X-API-Key"), Limit: ratelimit.PerMinute(1)})))
		server := to(app)
		server.namesKept = kept
		for i, name := range []string{"X-Api-Key", "x-api-key", "X-API-KEY"} {
			server.send("GET", "/", name, "secret")
			if got, want := script.Charges()[i][0].Partition, ratelimit.HeaderKey("X-API-Key", "secret"); got != want {
				t.Errorf("names kept: %t, %s: charged %q, want %q", kept, name, got, want)
			}
		}
	}
}

// TestFieldsInLines sees that all lines of a field that is there already are
// kept, in one.
func TestFieldsInLines(t *testing.T) {
	app := fiber.New()
	app.Use(func(c fiber.Ctx) error {
		for _, line := range []string{`"a";q=1;w=1`, `"b";q=2;w=2`} {
			c.Response().Header.Add("RateLimit-Policy", line)
		}
		return c.Next()
	}, fiberlimit.New(perMinute(t, adaptertest.NewScript())))
	var lines []string
	for _, line := range to(app).send("GET", "/").Header.PeekAll("RateLimit-Policy") {
		lines = append(lines, string(line))
	}
	if want := []string{`"a";q=1;w=1, "b";q=2;w=2, "ip";q=1;w=60`}; !slices.Equal(lines, want) {
		t.Errorf("RateLimit-Policy is %q, want %q", lines, want)
	}
}

// TestProxyHeader sees that the client is not whom Fiber takes for it.
func TestProxyHeader(t *testing.T) {
	script := adaptertest.NewScript()
	app := fiber.New(fiber.Config{ProxyHeader: fiber.HeaderXForwardedFor})
	app.Use(fiberlimit.New(perMinute(t, script, ratelimit.Logger(nil))))
	server := to(app)
	server.send("GET", "/")
	server.send("GET", "/", "X-Forwarded-For", "192.0.2.99")
	if charges := script.Charges(); charges[0][0].Partition != charges[1][0].Partition {
		t.Errorf("a forged client is charged %q, itself %q", charges[1][0].Partition, charges[0][0].Partition)
	}
}

// TestStreamedBody sees that JSONField leaves a body that Fiber has not read
// yet to the handler, which may read it as a stream or as a whole.
func TestStreamedBody(t *testing.T) {
	const small = `{"username":"alice"}`
	large := small + strings.Repeat(" ", adapter.MaxBody)
	for _, c := range []struct {
		what, body string
		length     int
		want       ratelimit.Partition
		unread     int
	}{
		{"a small body", small, len(small), ratelimit.AccountKey("alice"), 0},
		{"a large body", large, len(large), "none:", len(large)},
		{"a body of unknown length", small, -1, "none:", len(small)},
	} {
		for _, streaming := range []bool{false, true} {
			script := adaptertest.NewScript()
			l := newLimiter(t, script, ratelimit.Policy{Name: "account", Key: ratelimit.ByAccount(), Limit: ratelimit.PerMinute(1)})
			var read []byte
			var unread int
			body := strings.NewReader(c.body)
			app := fiber.New(fiber.Config{StreamRequestBody: true})
			app.Post("/", fiberlimit.New(l, fiberlimit.Config{Account: fiberlimit.JSONField("username")}), func(c fiber.Ctx) (err error) {
				unread = body.Len()
				if !streaming {
					read = c.Body()
					return nil
				}
				read, err = io.ReadAll(c.RequestCtx().RequestBodyStream())
				return err
			})
			var ctx fasthttp.RequestCtx
			ctx.Request.Header.SetMethod("POST")
			ctx.Request.SetBodyStream(body, c.length)
			app.Handler()(&ctx)
			if string(read) != c.body || unread != c.unread {
				t.Errorf("%s, read as a stream: %t: the handler read %d bytes of which %d were left, want %d and %d",
					c.what, streaming, len(read), unread, len(c.body), c.unread)
			}
			if got := script.Charges()[0][0].Partition; got != c.want {
				t.Errorf("%s: charged %q, want %q", c.what, got, c.want)
			}
		}
	}
}

// TestStatusOfErrors sees that a policy goes by the status that Fiber's own
// handler of errors sends.
func TestStatusOfErrors(t *testing.T) {
	for _, err := range []error{
		fiber.ErrNotFound, fiber.NewError(fiber.StatusTeapot, "short and stout"), fmt.Errorf("wrapped: %w", fiber.ErrUnauthorized), errors.New("plain"),
	} {
		told := make(chan int, 10)
		app := fiber.New()
		app.Use(fiberlimit.New(newLimiter(t, adaptertest.NewScript(), ratelimit.Policy{
			Name: "counted", Limit: ratelimit.PerMinute(1), Counts: ratelimit.CountStatus(func(status int) bool { told <- status; return true }),
		})))
		for len(told) > 0 { // what was asked when the limiter was made
			<-told
		}
		app.Get("/", func(fiber.Ctx) error { return err })
		sent := to(app).send("GET", "/").StatusCode()
		if got := <-told; got != sent {
			t.Errorf("%v: the policy was told %d, Fiber sent %d", err, got, sent)
		}
	}
}

// TestBehindNetHTTP sees that failures count where net/http runs Fiber, which
// then tells nobody how an error was answered.
func TestBehindNetHTTP(t *testing.T) {
	const quota = 3
	app := fiber.New(fiber.Config{ErrorHandler: func(c fiber.Ctx, _ error) error { return c.SendStatus(fiber.StatusUnauthorized) }})
	app.Post("/login", fiberlimit.New(newLimiter(t, memstore.New(), ratelimit.Policy{
		Name: "login", Limit: ratelimit.SlidingLog(quota, time.Hour), Counts: ratelimit.CountFailures,
	})), func(fiber.Ctx) error { return errors.New("a wrong password") })
	handler := adaptor.FiberApp(app)
	for i := range 10 {
		w := httptest.NewRecorder()
		handler(w, httptest.NewRequest(http.MethodPost, "/login", http.NoBody))
		want := http.StatusUnauthorized
		if i >= quota {
			want = http.StatusTooManyRequests
		}
		if w.Code != want {
			t.Errorf("attempt %d: %d, want %d", i+1, w.Code, want)
		}
	}
}

// TestRestartRouting sees that a request that a handler sends through the app
// once more is counted once.
func TestRestartRouting(t *testing.T) {
	script := adaptertest.NewScript()
	app := fiber.New()
	app.Use(fiberlimit.New(perMinute(t, script, ratelimit.Logger(nil))))
	app.Get("/new", func(c fiber.Ctx) error { return c.SendString("new") })
	app.Get("/old", func(c fiber.Ctx) error {
		c.Path("/new")
		return c.RestartRouting()
	})
	if body := to(app).send("GET", "/old").Body(); string(body) != "new" {
		t.Errorf("the answer is %q, want new", body)
	}
	if n := len(script.Charges()); n != 1 {
		t.Errorf("decided %d times, want once", n)
	}
}

// TestHandlerLeftBehind has middleware answer before the rest of the chain has
// returned, as timeouts do: the requests that follow on the connection, in the
// same memory, are counted all the same.
func TestHandlerLeftBehind(t *testing.T) {
	l := newLimiter(t, memstore.New(), ratelimit.Policy{Name: "ip", Limit: ratelimit.FixedWindow(10, 24*time.Hour)})
	limit, in, gate := fiberlimit.New(l), make(chan struct{}), make(chan struct{})
	app := fiber.New()
	app.Use(func(c fiber.Ctx) error {
		if c.Path() != "/slow" {
			return limit(c)
		}
		go func() { _ = limit(c) }()
		<-in
		return fiber.ErrRequestTimeout
	})
	app.Get("/slow", func(fiber.Ctx) error {
		close(in)
		<-gate
		return nil
	})
	app.Get("/", func(c fiber.Ctx) error { return c.SendString("served") })
	listener := fasthttputil.NewInmemoryListener()
	served := make(chan error)
	go func() { served <- app.Listener(listener, fiber.ListenConfig{DisableStartupMessage: true}) }()
	conn, err := listener.Dial()
	if err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewReader(conn)
	for _, path := range []string{"/slow", "/", "/"} {
		if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: example.com\r\n\r\n", path); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
	}
	if left := l.Peek(t.Context(), "ip:unknown").Result.Remaining; left != 7 {
		t.Errorf("3 requests leave %d of 10", left)
	}
	close(gate)
	_ = conn.Close()
	if err := errors.Join(app.Shutdown(), <-served); err != nil {
		t.Error(err)
	}
}
