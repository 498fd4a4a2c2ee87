package adaptertest

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// handlerCases are about what a handler may do, under a policy that counts
// everything and under one that has to know how the handler ends.
func handlerCases() []testCase {
	return []testCase{
		{
			name: "handlers/stream",
			why:  "what a handler flushes reaches the client at once, with the limiter's fields in front",
			f: func(s *suite) {
				s.bothWays(func(l *ratelimit.Limiter) { streamed(s, l) })
			},
		},
		{
			name:  "handlers/upgrade",
			needs: Switching,
			why:   "a handler that takes the connection over (a websocket) has it to itself, both ways",
			f: func(s *suite) {
				s.bothWays(func(l *ratelimit.Limiter) { upgraded(s, l) })
			},
		},
		{
			name: "handlers/panic",
			why:  "a panic is the framework's or the server's to handle: it passes through as it was",
			f: func(s *suite) {
				s.bothWays(func(l *ratelimit.Limiter) { panicked(s, l) })
			},
		},
		{
			name: "handlers/errors",
			why:  "an error that a handler returns is the framework's to answer: it passes through untouched",
			f: func(s *suite) {
				s.bothWays(func(l *ratelimit.Limiter) { failed(s, l) })
			},
		},
		{
			name: "handlers/answers",
			why:  "whatever a handler answers, or if it answers nothing, it arrives as if no limiter were there",
			f: func(s *suite) {
				s.bothWays(func(l *ratelimit.Limiter) { answered(s, l) })
			},
		},
	}
}

// bothWays runs f with a limiter whose policy counts everything and with one
// whose policy counts by outcome.
func (s *suite) bothWays(f func(l *ratelimit.Limiter)) {
	s.Helper()
	for _, counts := range []ratelimit.Outcome{ratelimit.CountEverything, ratelimit.CountFailures} {
		policy := perIP
		policy.Counts = counts
		f(s.limiter(NewScript(answers(perIPAdmits)), policy))
	}
}

func streamed(s *suite, l *ratelimit.Limiter) {
	seen := make(chan struct{})
	handler := func(x Exchange) error {
		x.SetHeader("Content-Type", "text/event-stream")
		return x.Stream(http.StatusOK, func(send func(string) error) error {
			if err := send("data: 1\n\n"); err != nil {
				return err
			}
			<-seen
			return send("data: 2\n\n")
		})
	}
	v := s.serve(onRoutes(l, handler))
	response, end, err := v.open(request{path: "/u/1"})
	if err != nil {
		close(seen)
		s.Fatalf("the first event does not arrive while the handler runs: %v", err)
	}
	defer end()
	body := bufio.NewReader(response.Body)
	first, err := body.ReadString('\n')
	close(seen)
	if err != nil {
		s.Fatalf("the first event does not arrive while the handler runs: %v", err)
	}
	rest, err := io.ReadAll(body)
	if err != nil {
		s.Errorf("reading the second event: %v", err)
	}
	s.golden("stream", answer{status: response.StatusCode, header: response.Header, body: first + string(rest)})
}

func upgraded(s *suite, l *ratelimit.Limiter) {
	handler := func(x Exchange) error {
		x.SetHeader("Connection", "Upgrade")
		x.SetHeader("Upgrade", "echo")
		return x.Upgrade(func(conn net.Conn) {
			line, err := bufio.NewReader(conn).ReadString('\n')
			if err == nil {
				_, _ = io.WriteString(conn, "echo "+line)
			}
		})
	}
	v := s.serve(onRoutes(l, handler))
	response, end, err := v.open(request{path: "/u/1", header: fields("Connection", "Upgrade", "Upgrade", "echo")})
	if err != nil {
		s.Fatalf("upgrading: %v", err)
	}
	defer end()
	a := answer{status: response.StatusCode, header: response.Header}
	a.is(s, "upgrading", http.StatusSwitchingProtocols)
	a.has(s, "X-RateLimit-Remaining", "41")
	a.has(s, "RateLimit", `"per-ip";r=41;t=96`)
	conn, ok := response.Body.(io.ReadWriter)
	if !ok {
		s.Fatalf("the connection was not handed over: the body is %T", response.Body)
	}
	// A request's time limit is over with the 101.
	defer time.AfterFunc(s.patience, func() { _ = response.Body.Close() }).Stop()
	if _, err := io.WriteString(conn, "hello\n"); err != nil {
		s.Fatalf("writing to the connection that was taken over: %v", err)
	}
	got, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || got != "echo hello\n" {
		s.Errorf("reading from the connection that was taken over: %q, %v", got, err)
	}
}

func panicked(s *suite, l *ratelimit.Limiter) {
	cause := errors.New("the handler's panic")
	watch := newWatcher()
	site := Site{Recover: true, Use: []Middleware{watch.middleware()}, Routes: routes(func(Exchange) error {
		panic(cause) //nolint:forbidigo // it is what the case is about
	}, limits(l)...)}
	a := s.likeBare(site, request{path: "/u/1"})
	a.is(s, "a handler that panics", http.StatusInternalServerError)
	for range 2 {
		equal[any](s, "the panic as it leaves", watch.next(s).panicked, cause)
	}
}

func failed(s *suite, l *ratelimit.Limiter) {
	own := errors.New("the handler's own error")
	watch := newWatcher()
	for _, handler := range []Handler{
		func(x Exchange) error { return x.Fail(http.StatusTeapot) },
		func(x Exchange) error { return x.Fail(http.StatusNotFound) },
		func(Exchange) error { return own },
	} {
		site := Site{Use: []Middleware{watch.middleware()}, Routes: routes(handler, limits(l)...)}
		s.likeBare(site, request{path: "/u/1"})
		bare, limited := watch.next(s).err, watch.next(s).err
		switch {
		case bare == nil || limited == nil:
			equal(s, "the error as it leaves", limited, bare)
		case errors.Is(bare, own):
			equal(s, "the error as it leaves is the handler's", errors.Is(limited, own), true)
		default:
			equal(s, "the error as it leaves", limited.Error(), bare.Error())
		}
	}
}

func answered(s *suite, l *ratelimit.Limiter) {
	for _, handler := range []Handler{
		func(Exchange) error { return nil },
		func(x Exchange) error { return x.Respond(http.StatusNoContent, "") },
		func(x Exchange) error { return x.Respond(http.StatusNotModified, "") },
		func(x Exchange) error { return x.Respond(http.StatusCreated, "created\n") },
		func(x Exchange) error { return x.Respond(http.StatusTooManyRequests, "the handler's own\n") },
		func(x Exchange) error {
			x.SetHeader("Location", "/u/2")
			return x.Respond(http.StatusSeeOther, "")
		},
		func(x Exchange) error {
			return x.Respond(http.StatusOK, strings.Repeat("x", 200<<10))
		},
	} {
		site := onRoutes(l, func(x Exchange) error {
			x.SetHeader("Content-Type", "text/plain; charset=utf-8")
			return handler(x)
		})
		site.Use = []Middleware{{Around: func(x Exchange, next func(context.Context) error) error { return next(x.Context()) }}}
		a := s.likeBare(site, request{path: "/u/1"})
		a.has(s, "X-RateLimit-Remaining", "41")
		s.likeBare(site, request{method: http.MethodHead, path: "/u/1"})
	}
}
