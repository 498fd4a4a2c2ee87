package adaptertest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// writerCases are about the http.ResponseWriter that handlers are given.
func writerCases() []testCase {
	return []testCase{
		{
			name:  "writers/handed-on",
			needs: Writer,
			why:   "nothing wraps the ResponseWriter unless a policy counts by outcome",
			f: func(s *suite) {
				l := s.limiter(NewScript(answers(perIPAdmits)), perIP)
				equal(s, "the ResponseWriter's type", s.writerOf(onRoutes(l, typeOfWriter)), s.writerOf(onRoutes(l, typeOfWriter).bare()))
			},
		},
		{
			name:  "writers/interfaces",
			needs: Writer,
			why:   "a wrapper that hides Flusher, Hijacker or ReaderFrom, or claims what the server can't, breaks streams, websockets and sendfile",
			f: func(s *suite) {
				s.bothWays(func(l *ratelimit.Limiter) {
					site := onRoutes(l, interfacesOfWriter)
					equal(s, "what the ResponseWriter can do", s.writerOf(site), s.writerOf(site.bare()))
				})
			},
		},
		{
			name:  "writers/copied-to",
			needs: Writer,
			why:   "io.Copy writes through ReaderFrom where the server has it: the answer and its status are the same",
			f: func(s *suite) {
				s.bothWays(func(l *ratelimit.Limiter) {
					site := onRoutes(l, func(x Exchange) error {
						x.SetHeader("Content-Type", "text/plain; charset=utf-8")
						_, err := io.Copy(x.Writer(), io.LimitReader(strings.NewReader(strings.Repeat("x", 100<<10)), 70<<10))
						return err
					})
					equal(s, "length of the body", len(s.likeBare(site, request{path: "/u/1"}).body), 70<<10)
				})
			},
		},
	}
}

func (s *suite) writerOf(site Site) string {
	s.Helper()
	return s.serve(site).get("/u/1").body
}

func typeOfWriter(x Exchange) error {
	return x.Respond(http.StatusOK, fmt.Sprintf("%T", x.Writer()))
}

// interfacesOfWriter answers with what the writer claims and what an
// http.ResponseController gets out of it.
func interfacesOfWriter(x Exchange) error {
	w := x.Writer()
	var b strings.Builder
	_, can := w.(http.Flusher)
	fmt.Fprintln(&b, "Flusher", can)
	_, can = w.(interface{ FlushError() error })
	fmt.Fprintln(&b, "FlushError", can)
	_, can = w.(http.Hijacker)
	fmt.Fprintln(&b, "Hijacker", can)
	_, can = w.(io.ReaderFrom)
	fmt.Fprintln(&b, "ReaderFrom", can)
	_, can = w.(io.StringWriter)
	fmt.Fprintln(&b, "StringWriter", can)
	_, can = w.(http.Pusher)
	fmt.Fprintln(&b, "Pusher", can)
	controller := http.NewResponseController(w)
	for _, c := range []struct {
		name string
		do   func() error
	}{
		{"SetReadDeadline", func() error { return controller.SetReadDeadline(time.Time{}) }},
		{"SetWriteDeadline", func() error { return controller.SetWriteDeadline(time.Time{}) }},
		{"EnableFullDuplex", controller.EnableFullDuplex},
	} {
		fmt.Fprintln(&b, c.name, supported(c.do()))
	}
	body := bufio.NewWriter(w)
	_, _ = body.WriteString(b.String())
	_ = body.Flush()
	_, err := fmt.Fprintln(w, "Flush", supported(controller.Flush()))
	return err
}

func supported(err error) string {
	switch {
	case err == nil:
		return "works"
	case errors.Is(err, http.ErrNotSupported):
		return "is not supported"
	default:
		return "fails"
	}
}
