package apptest

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// request is what a client sends.
type request struct {
	method, path string
	// fields are header fields, "Name: value".
	fields []string
	body   string
}

// response is what came back, as far as it is the same for all servers.
type response struct {
	status int
	// fields are lines "name: value", in lower case and sorted.
	fields []string
	body   string
}

// send sends one request and reads the whole answer.
func (s *site) send(r request) (response, error) {
	req, err := http.NewRequestWithContext(context.Background(), r.method, "http://"+s.addr+r.path, strings.NewReader(r.body))
	if err != nil {
		return response{}, err
	}
	for _, field := range r.fields {
		name, value, _ := strings.Cut(field, ":")
		req.Header.Add(name, strings.TrimSpace(value))
	}
	res, err := s.client.Do(req)
	if err != nil {
		return response{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return response{status: res.StatusCode, fields: ours(res.Header), body: string(body)}, err
}

// must is send for a test that can't go on without.
func (s *site) must(t *testing.T, r request) response {
	t.Helper()
	got, err := s.send(r)
	if err != nil {
		t.Fatalf("%s %s: %v", r.method, r.path, err)
	}
	return got
}

// connections is how many requests are under way at the same time.
const connections = 50

// atOnce sends n requests over many connections and counts the statuses.
func (s *site) atOnce(t *testing.T, n int, r request) map[int]int {
	t.Helper()
	statuses := make(map[int]int)
	var mu sync.Mutex
	var all sync.WaitGroup
	turns := make(chan struct{}, n)
	for range n {
		turns <- struct{}{}
	}
	close(turns)
	for range min(n, connections) {
		all.Go(func() {
			for range turns {
				got, err := s.send(r)
				mu.Lock()
				if err != nil {
					t.Errorf("%s %s: %v", r.method, r.path, err)
				}
				statuses[got.status]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return statuses
}

// ours are the fields that a limiter sets, and those that describe the body.
func ours(header http.Header) []string {
	var fields []string
	for name, values := range header {
		name = strings.ToLower(name)
		switch name {
		case "content-type", "content-length", "cache-control", "retry-after":
		default:
			if !isRateLimitField(name) {
				continue
			}
		}
		for _, value := range values {
			fields = append(fields, name+": "+value)
		}
	}
	slices.Sort(fields)
	return fields
}

func isRateLimitField(name string) bool {
	return strings.HasPrefix(strings.TrimPrefix(strings.ToLower(name), "x-"), "ratelimit")
}

// String is the response as the script has it.
func (r response) String() string {
	lines := append([]string{strconv.Itoa(r.status)}, r.fields...)
	for line := range strings.Lines(r.body) {
		lines = append(lines, strings.TrimRight("| "+line, " \n"))
	}
	return strings.Join(lines, "\n") + "\n"
}
