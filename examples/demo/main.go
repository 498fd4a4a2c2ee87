// Command demo builds and starts the net/http example server, sends it real
// requests, and prints what came back:
//
//	cd examples && go run ./demo
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := show(ctx, os.Stdout, 6)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// show gives the whole demonstration; the algorithms get requests for so many
// seconds.
func show(ctx context.Context, out io.Writer, seconds int) (err error) {
	fmt.Fprintf(out, "Building examples/%s and starting it with -addr 127.0.0.1:0\n", serverName)
	server, err := start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	fmt.Fprintln(out, server.line)

	if err := showBurst(ctx, out, server.url); err != nil {
		return err
	}
	if err := showAlgorithms(ctx, out, server.url, seconds); err != nil {
		return err
	}
	fmt.Fprintf(out, `
Run it yourself, and look at the header fields:

    cd examples && go run ./%s
    curl -i http://127.0.0.1:8080/algorithms/token_bucket
`, serverName)
	return nil
}
