package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// shutdownTime is how long requests under way may take when the server stops.
// net/http gives up on a connection that never sent a request after 5 seconds.
const shutdownTime = 10 * time.Second

// Server is a framework's server.
type Server interface {
	Serve(net.Listener) error
	Shutdown(context.Context) error
}

// Main runs an example server: it reads the flags, makes the limiters, and
// serves what server makes of them until SIGTERM or an interrupt. It ends the
// process.
func Main(name string, server func(*Limiters) Server) {
	if err := run(name, os.Args[1:], server); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

func run(name string, arguments []string, server func(*Limiters) Server) (err error) {
	flags, err := ParseFlags(name, arguments, os.Stdout)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	store, closeStore, err := OpenStore(flags)
	if err != nil {
		return fmt.Errorf("-redis: %w", err)
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	limiters, err := NewLimiters(flags, store)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", flags.Addr)
	if err != nil {
		return fmt.Errorf("-addr: %w", err)
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	return Serve(ctx, listener, server(limiters))
}

// Serve serves until ctx ends, and then lets requests under way finish.
func Serve(ctx context.Context, listener net.Listener, server Server) error {
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	err := server.Shutdown(ctx)
	if served := <-failed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
