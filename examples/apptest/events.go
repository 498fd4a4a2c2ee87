package apptest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-floodgate/floodgate/examples/app"
)

// eventsOneByOne reads GET /events off the wire: each event is a chunk of its
// own, since it was flushed before the next one was written.
func eventsOneByOne(t *testing.T, b *bench) {
	s := b.open(t, app.Flags{}, nil)
	conn, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "GET /events HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", s.addr); err != nil {
		t.Fatal(err)
	}
	chunks, err := readChunks(bufio.NewReader(conn))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for event := range app.Events() {
		want = append(want, event)
	}
	if !slices.Equal(chunks, want) {
		t.Errorf("the chunks are %q, want %q", chunks, want)
	}
}

// readChunks reads a chunked response that ends the connection (RFC 9112,
// section 7.1) and returns the chunks.
func readChunks(r *bufio.Reader) (chunks []string, err error) {
	for line := ""; line != "\r\n"; {
		if line, err = r.ReadString('\n'); err != nil {
			return nil, fmt.Errorf("reading the header: %w", err)
		}
		if status, is := strings.CutPrefix(line, "HTTP/1.1 "); is && !strings.HasPrefix(status, strconv.Itoa(http.StatusOK)) {
			return nil, fmt.Errorf("status %s", status)
		}
	}
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("reading the size of a chunk: %w", err)
		}
		size, err := strconv.ParseUint(strings.TrimSpace(line), 16, 16)
		if err != nil || size == 0 {
			return chunks, err
		}
		chunk := make([]byte, size+2)
		if _, err := io.ReadFull(r, chunk); err != nil {
			return nil, fmt.Errorf("reading a chunk: %w", err)
		}
		chunks = append(chunks, string(chunk[:size]))
	}
}
