package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

const (
	burstPath = "/api/users"
	// burstSize is a few more than the 10 that the free plan admits at once.
	burstSize = 13
)

// showBurst sends requests as fast as the answers come, and prints a line for
// each and the whole answer to the last.
func showBurst(ctx context.Context, out io.Writer, url string) error {
	fmt.Fprintf(out, `
%d requests in a row to GET %s. Two policies watch it: "ip" admits 100 a
minute from an address, and "plan" gives a client without an API key 100 an
hour, at most 10 of them at once.

    request   status                 remaining   Retry-After
`, burstSize, burstPath)
	var last answer
	for i := 1; i <= burstSize; i++ {
		var err error
		if last, err = ask(ctx, http.DefaultClient, url+burstPath); err != nil {
			return err
		}
		wait := last.header.Get("Retry-After")
		if wait != "" {
			wait += " s"
		}
		line := fmt.Sprintf("    %7d   %-21s  %9s   %11s", i, last.status, last.header.Get("X-RateLimit-Remaining"), wait)
		fmt.Fprintln(out, strings.TrimRight(line, " "))
	}
	fmt.Fprintf(out, "\nAll that the last one was told:\n\n    %s\n", last.status)
	for _, name := range []string{
		"RateLimit-Policy", "RateLimit", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset",
		"Retry-After", "Cache-Control", "Content-Type",
	} {
		if value := last.header.Get(name); value != "" {
			fmt.Fprintf(out, "    %s: %s\n", name, value)
		}
	}
	fmt.Fprintf(out, "\n    %s\n", strings.TrimSpace(last.body))
	return nil
}

// answer is what came back for one request.
type answer struct {
	code   int
	status string
	header http.Header
	body   string
}

// ask sends a GET request and reads the whole answer. Another status than 200
// and 429 is an error.
func ask(ctx context.Context, client *http.Client, url string) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return answer{}, err
	}
	response, err := client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, fmt.Errorf("reading the answer of %s: %w", url, err)
	}
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusTooManyRequests {
		return answer{}, fmt.Errorf("%s answered %s", url, response.Status)
	}
	return answer{code: response.StatusCode, status: response.Status, header: response.Header, body: string(body)}, nil
}
