package adaptertest

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/adapter"
)

// faults is what is wrong with an adapter: a few of these, joined by |.
type faults uint64

const (
	runsOnDenial     faults = 1 << iota // runs the handler whatever the decision
	decidesAfter                        // runs the handler before the decision as well
	beginsTwice                         // decides twice
	wrongStatus                         // answers 403 instead of 429
	openStatus                          // answers 429 instead of 503
	changesBody                         // answers with a body of its own
	noLength                            // sends no Content-Length
	headHasBody                         // answers HEAD with a body
	shortensWait                        // rounds Retry-After down
	tellsKey                            // tells the client its key
	fieldsAfter                         // sets the fields when the handler has returned
	doublesFields                       // adds lines instead of joining them
	keepsFields                         // removes no fields
	wrapsAlways                         // hides Flusher and its like from every handler
	hidesFlusher                        // hides them where a policy counts by outcome
	copiesBriefly                       // copies only the beginning of what is copied to the writer
	holdsBody                           // holds a body back until the handler has returned
	believesHeader                      // takes the client from X-Forwarded-For
	cutsAddress                         // cuts the peer's address at the first colon
	portIsClient                        // takes another port for another client
	invents                             // invents an address for a peer without one
	firstLine                           // shows the first line of a field only
	lowerCase                           // looks fields up in lower case
	mixesFields                         // shows X-Forwarded-For for Forwarded
	keepsBuffers                        // shows a field of an earlier request on the connection
	headCounts                          // shows HEAD as a method of its own
	rawPath                             // takes the path for the route
	hidesPreflight                      // doesn't show what makes a preflight one
	ownContext                          // decides under a context that doesn't end
	hidesCall                           // doesn't run the handler under the Call
	losesContext                        // cuts the handler off from its context's end
	swallowsPanics                      // recovers and answers 500 itself
	panicIsSuccess                      // takes a panic for the status before it
	dropsError                          // keeps the handler's error to itself
	rewritesFailures                    // answers 500 for every failure
	finishesFirst                       // settles before the handler runs
	neverFinishes                       // doesn't settle
	statusIsOK                          // takes every answer for 200
	errorIsOK                           // doesn't look at the handler's error
	guessesStatus                       // guesses the status of an error's answer
	losesBody                           // reads the body and doesn't give it back
	lastMember                          // takes the last of several members of one name
	anyType                             // reads a body of any type as JSON
	dropsUser                           // doesn't pass Config.User on
	dropsAccount                        // doesn't pass Config.Account on
	dropsSkip                           // doesn't pass Config.Skip on
	dropsRoute                          // doesn't pass Config.Route on
	dropsOnDeny                         // doesn't pass Config.OnDeny on
	setsAccount                         // passes a Config.Account on that nobody set
	freesUnmatched                      // skips requests that match no route
	mountsWide                          // mounts a group's limiter for the whole application
	routesLate                          // no fault: knows the route only within it
	reusesPassage                       // uses one Passage for all requests
	checksNothing                       // has a CheckRoutes that finds nothing
	neverLooks                          // doesn't look at the routes itself
	listsPaths                          // lists routes without their methods
	listsSome                           // doesn't list the routes of groups
	leavesGoroutine                     // leaves a goroutine behind
	neverLeaves                         // doesn't say that a handler has returned
)

func (f faults) has(one faults) bool { return f&one != 0 }

func (f faults) site(site Site) Site {
	if f.has(mountsWide) {
		for _, group := range site.Groups {
			site.Use = append(site.Use, group.Use...)
		}
	}
	return site
}

func (f faults) checkRoutes(l *ratelimit.Limiter, routes []string) error {
	if f.has(checksNothing) {
		return nil
	}
	return l.CheckRoutes(routes...)
}

func (f faults) lists(routes []string) (listed []string) {
	for _, route := range routes {
		_, path, _ := strings.Cut(route, " ")
		switch {
		case f.has(listsPaths):
			route = path
		case f.has(listsSome) && strings.HasPrefix(path, "/g/"):
			continue
		}
		listed = append(listed, route)
	}
	return listed
}

func (f faults) config(cfg adapter.Config[visit]) adapter.Config[visit] {
	switch {
	case f.has(dropsUser):
		cfg.User = nil
	case f.has(dropsAccount):
		cfg.Account = nil
	case f.has(dropsSkip):
		cfg.Skip = nil
	case f.has(dropsRoute):
		cfg.Route = nil
	case f.has(dropsOnDeny):
		cfg.OnDeny = nil
	case f.has(setsAccount):
		cfg.Account = func(visit) string { return "" }
	case f.has(freesUnmatched):
		cfg.Skip = func(v visit) bool { return v.r.Pattern == "" }
	}
	return cfg
}

func (f faults) jsonField(name string) func(visit) string {
	field := adapter.JSONField(name)
	return func(v visit) string {
		switch {
		case f.has(losesBody):
			defer func() { v.r.Body = http.NoBody }()
		case f.has(lastMember):
			// encoding/json goes by the last one.
			body, _ := io.ReadAll(v.r.Body)
			var members map[string]any
			_ = json.Unmarshal(body, &members)
			text, _ := members[name].(string)
			return text
		case f.has(anyType):
			v.r.Header.Set("Content-Type", "application/json")
		}
		return field(v.r)
	}
}

func (f faults) before(engine *adapter.Engine[visit], v visit, next action) {
	switch {
	case f.has(decidesAfter):
		_ = next(visit{discarding{make(http.Header)}, v.r, v.answered})
	case f.has(beginsTwice):
		engine.Begin(new(adapter.Passage[visit]), v, view{v.r}, make(http.Header))
	}
}

// passage is what a request goes through on its way.
func (f faults) passage(kept *adapter.Passage[visit]) *adapter.Passage[visit] {
	if !f.has(reusesPassage) {
		return new(adapter.Passage[visit])
	}
	*kept = adapter.Passage[visit]{}
	return kept
}

type discarding struct{ header http.Header }

func (d discarding) Header() http.Header         { return d.header }
func (d discarding) WriteHeader(int)             {}
func (d discarding) Write(p []byte) (int, error) { return len(p), nil }

// header breaks how the response's fields are set.
func (f faults) header(w http.ResponseWriter) (header ratelimit.ResponseHeader, late func()) {
	switch {
	case f.has(fieldsAfter):
		held := make(http.Header)
		return held, func() {
			maps.Copy(w.Header(), held)
		}
	case f.has(doublesFields):
		return addingHeader{w.Header()}, func() {}
	case f.has(keepsFields):
		return keepingHeader{w.Header()}, func() {}
	}
	return w.Header(), func() {}
}

type addingHeader struct{ http.Header }

func (h addingHeader) Get(string) string      { return "" }
func (h addingHeader) Set(name, value string) { h.Add(name, value) }

type keepingHeader struct{ http.Header }

func (keepingHeader) Del(string) {}

// refuse answers in place of adapter.WriteAnswer, if it returns true.
func (f faults) refuse(v visit, answer ratelimit.Answer) bool {
	header := v.w.Header()
	switch {
	case f.has(wrongStatus) && answer.Status == http.StatusTooManyRequests:
		answer.Status = http.StatusForbidden
	case f.has(openStatus):
		answer.Status = http.StatusTooManyRequests
	case f.has(changesBody):
		answer.Body = []byte("Too Many Requests\n")
	case f.has(tellsKey):
		header.Set("X-Client", v.r.Header.Get("X-API-Key"))
	case f.has(shortensWait):
		if wait, err := strconv.Atoi(header.Get("Retry-After")); err == nil {
			header.Set("Retry-After", strconv.Itoa(wait-1))
		}
	case f.has(headHasBody) && v.r.Method == http.MethodHead:
		writeRaw(v.w, answer)
		return true
	case f.has(noLength):
		header.Set("Content-Type", answer.ContentType)
		v.w.WriteHeader(answer.Status)
		_ = http.NewResponseController(v.w).Flush()
		_, _ = v.w.Write(answer.Body)
		return true
	default:
		return false
	}
	_ = adapter.WriteAnswer(v.w, v.r.Method, answer)
	return true
}

// writeRaw writes an answer with its body to the connection itself, past the
// server, which would know better.
func writeRaw(w http.ResponseWriter, answer ratelimit.Answer) {
	w.Header().Set("Content-Type", answer.ContentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(answer.Body)))
	w.WriteHeader(answer.Status)
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	_, _ = conn.Write(answer.Body)
	_ = conn.Close()
}

// context breaks what the handler runs under.
func (f faults) context(own context.Context, call *ratelimit.Call) context.Context {
	switch {
	case f.has(hidesCall):
		return own
	case f.has(losesContext):
		return context.WithoutCancel(call)
	}
	return call
}

// run breaks how the handler is run.
func (f faults) run(next action, v visit) (err error) {
	switch {
	case f.has(swallowsPanics):
		defer func() {
			if recover() != nil {
				err = httpError(http.StatusInternalServerError)
			}
		}()
	case f.has(leavesGoroutine):
		go func() { <-context.Background().Done() }()
	case f.has(wrapsAlways):
		v.w = struct{ http.ResponseWriter }{v.w}
	case f.has(holdsBody):
		held := &holding{ResponseWriter: v.w}
		defer held.release()
		v.w = held
	case f.has(rewritesFailures):
		v.w = rewriting{v.w}
	}
	err = next(v)
	if err != nil && f.has(dropsError) {
		v.w.WriteHeader(statusOf(err))
		return nil
	}
	return err
}

// holding holds a body back.
type holding struct {
	http.ResponseWriter
	status int
	body   []byte
}

func (h *holding) WriteHeader(status int)      { h.status = status }
func (h *holding) Write(p []byte) (int, error) { h.body = append(h.body, p...); return len(p), nil }
func (h *holding) FlushError() error           { return nil }

func (h *holding) release() {
	if h.status != 0 {
		h.ResponseWriter.WriteHeader(h.status)
	}
	_, _ = h.ResponseWriter.Write(h.body)
}

type rewriting struct{ http.ResponseWriter }

func (w rewriting) WriteHeader(status int) {
	if status >= http.StatusBadRequest {
		status = http.StatusInternalServerError
	}
	w.ResponseWriter.WriteHeader(status)
}

// wrap breaks the wrapped ResponseWriter.
func (f faults) wrap(n *noting) http.ResponseWriter {
	switch {
	case f.has(hidesFlusher):
		return struct{ http.ResponseWriter }{n}
	case f.has(copiesBriefly):
		return brief{n}
	}
	return n
}

type brief struct{ *noting }

func (b brief) ReadFrom(r io.Reader) (int64, error) {
	return b.noting.ReadFrom(io.LimitReader(r, 32<<10))
}

// statusOf breaks what is told of the handler's error.
func (f faults) statusOf(err error) int {
	if f.has(errorIsOK) {
		return http.StatusOK
	}
	return statusOf(err)
}

func (f faults) finish(p *adapter.Passage[visit], status int, panicked bool) {
	switch {
	case f.has(neverFinishes):
		return
	case f.has(statusIsOK):
		status = http.StatusOK
	case f.has(panicIsSuccess):
		panicked = false
	}
	p.Finish(status, panicked)
}

// earlier is what a connection showed before, as if it lay in a buffer.
var earlier sync.Map
