package apptest

import (
	_ "embed"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/examples/app"
)

//go:embed testdata/script.txt
var script string

// updateVariable names the environment variable that makes a run write what
// was answered into the script, to be read before it is committed.
const updateVariable = "UPDATE_SCRIPT"

// runScript plays the script and compares every answer with what it says.
func runScript(t *testing.T, b *bench) {
	p := &player{T: t, bench: b}
	lines := strings.Split(strings.TrimSuffix(script, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		p.played = append(p.played, line)
		switch mark, text, _ := strings.Cut(line, " "); mark {
		case "==":
			p.open(text)
		case "++":
			p.advance(text)
		case ">>":
			first := i + 1
			for i+1 < len(lines) && lines[i+1] != "" {
				i++
			}
			p.exchange(text, strings.Join(lines[first:i+1], "\n")+"\n")
		case "", "#":
		default:
			t.Fatalf("script.txt: line %d is none of what can begin a line there: %s", i+1, line)
		}
	}
	if os.Getenv(updateVariable) != "" {
		if err := os.WriteFile("../apptest/testdata/script.txt", []byte(strings.Join(p.played, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// player is a run of the script.
type player struct {
	*testing.T
	bench  *bench
	site   *site
	played []string
}

// open starts a new server: "title", "title | flags" or "title | DOWN flags".
func (p *player) open(text string) {
	p.Helper()
	_, words, _ := strings.Cut(text, " | ")
	arguments := strings.Fields(words)
	var change func(ratelimit.Store) ratelimit.Store
	if len(arguments) > 0 && arguments[0] == "DOWN" {
		arguments, change = arguments[1:], down
	}
	flags, err := app.ParseFlags("script", arguments, os.Stdout)
	if err != nil {
		p.Fatal(err)
	}
	p.site = p.bench.open(p.T, flags, change)
}

func (p *player) advance(text string) {
	p.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		p.Fatal(err)
	}
	p.site.clock.advance(d)
}

// exchange sends what the text says, all but the last time expecting only the
// status, and compares the last answer.
func (p *player) exchange(text, want string) {
	p.Helper()
	times, r := parseRequest(text)
	status, _, _ := strings.Cut(want, "\n")
	for range times - 1 {
		if got := p.site.must(p.T, r); strconv.Itoa(got.status) != status && os.Getenv(updateVariable) == "" {
			p.Fatalf(">> %s\nbefore the last one:\n%swant status %s", text, got, status)
		}
	}
	got := p.site.must(p.T, r).String()
	p.played = append(p.played, strings.Split(strings.TrimSuffix(got, "\n"), "\n")...)
	if got != want && os.Getenv(updateVariable) == "" {
		p.Errorf(">> %s\n got %swant %s", text, got, want)
	}
}

// parseRequest reads "GET /path", "9 x GET /path", and behind " | " header
// fields and, if it begins with a brace or a quote, a body.
func parseRequest(text string) (times int, r request) {
	parts := strings.Split(text, " | ")
	line := parts[0]
	times = 1
	if number, rest, found := strings.Cut(line, " x "); found {
		if n, err := strconv.Atoi(number); err == nil {
			times, line = n, rest
		}
	}
	r.method, r.path, _ = strings.Cut(line, " ")
	for _, part := range parts[1:] {
		if strings.HasPrefix(part, "{") || strings.HasPrefix(part, `"`) {
			r.body = part
		} else {
			r.fields = append(r.fields, part)
		}
	}
	return times, r
}

func get(path string, fields ...string) request {
	return request{method: http.MethodGet, path: path, fields: fields}
}

// login is an attempt to log in.
func login(username, password string) request {
	return request{method: http.MethodPost, path: "/login", body: fmt.Sprintf(`{"username":%q,"password":%q}`, username, password)}
}
