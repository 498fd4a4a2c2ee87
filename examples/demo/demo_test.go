package main

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-floodgate/floodgate/examples/apptest"
)

// buildAsTested lets the demonstration build the server out of packages that
// are compiled already.
func buildAsTested(t *testing.T) {
	t.Helper()
	t.Setenv("GOFLAGS", strings.Join(append([]string{os.Getenv("GOFLAGS")}, apptest.BuildFlags()...), " "))
}

// The whole demonstration, with one second for the algorithms instead of six.
func TestShow(t *testing.T) {
	buildAsTested(t)
	var out bytes.Buffer
	if err := show(context.Background(), &out, 1); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	text := out.String()
	for _, want := range []struct {
		pattern string
		times   int
	}{
		{`(?m)^listening on http://127\.0\.0\.1:\d+$`, 1},
		{`(?m)^ +\d+   200 OK +\d+$`, 10},
		{`(?m)^ +\d+   429 Too Many Requests +0 +\d+ s$`, burstSize - 10},
		{`(?m)^    Retry-After: \d+$`, 1},
		{`"error":"rate_limit_exceeded"`, 1},
		{`(?m)^ +second fixed_window`, 1},
		{`(?m)^      1 [#.]`, 1},
		{`(?m)^    200( +\d+){5}$`, 1},
		{`(?m)^    cd examples && go run \./nethttp$`, 1},
		{`(?m)^    curl -i http://127\.0\.0\.1:8080/`, 1},
	} {
		if n := len(regexp.MustCompile(want.pattern).FindAllString(text, -1)); n != want.times {
			t.Errorf("%d times %s, want %d", n, want.pattern, want.times)
		}
	}
	bars := regexp.MustCompile(`(?m)^      [12] [#. ]+$`).FindAllString(text, -1)
	if n := strings.Count(strings.Join(bars, ""), "#") + strings.Count(strings.Join(bars, ""), "."); n != perSecond*len(algorithms) {
		t.Errorf("the bars show %d answers, want %d", n, perSecond*len(algorithms))
	}
	if t.Failed() {
		t.Log(text)
	}
}

func TestBars(t *testing.T) {
	bars := &tally{answered: make([][len(algorithms)]counts, 3)}
	bars.add(0, http.StatusOK, 0, time.Millisecond)
	bars.add(0, http.StatusTooManyRequests, 999*time.Millisecond, time.Millisecond)
	bars.add(0, http.StatusOK, time.Second-1, 7*time.Millisecond)
	bars.add(2, http.StatusTooManyRequests, time.Second, 2*time.Millisecond)
	bars.add(4, http.StatusOK, 1900*time.Millisecond, 0)
	bars.add(4, http.StatusOK, 5*time.Second, 800*time.Millisecond)
	var out bytes.Buffer
	bars.printRow(&out, 0)
	bars.printRow(&out, 1)
	bars.printRest(&out, 2)
	want := `
      1 ##.
      2                               .                             #
      3                                                             #
    200 2              0              0              0              2
    429 1              0              1              0              0
slowest 0.01 s         0.00 s         0.00 s         0.00 s         0.80 s
`
	if got, _, _ := strings.Cut("\n"+out.String(), "\nThe slowest"); got != want {
		t.Errorf("got%s\nwant%s", got, want)
	}
}

// Another status than 200 and 429 ends the demonstration: its numbers would
// not be honest.
func TestAskRefusesOtherAnswers(t *testing.T) {
	buildAsTested(t)
	s, err := start(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ask(context.Background(), http.DefaultClient, s.url+"/none"); err == nil {
		t.Error("an answer 404 is no error")
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
}
