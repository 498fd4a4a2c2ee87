package app

import (
	"errors"
	"flag"
	"fmt"
	"io"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// Flags are the command line of an example server.
type Flags struct {
	// Addr is where to listen; port 0 takes a free one.
	Addr string
	// TrustedProxies are the networks whose X-Forwarded-For is believed, comma
	// separated.
	TrustedProxies string
	// OnStoreFailure is what a store failure means.
	OnStoreFailure ratelimit.FailurePolicy
	// Redis is where the counts are kept, as redisstore.Open takes it; empty
	// is the process's own memory.
	Redis string
}

// ParseFlags reads the arguments of a server with this name. If they ask for
// help, it is written to help and the error is [flag.ErrHelp].
func ParseFlags(name string, arguments []string, help io.Writer) (Flags, error) {
	var f Flags
	set := flag.NewFlagSet(name, flag.ContinueOnError)
	set.SetOutput(io.Discard) // errors are for the caller to show
	set.StringVar(&f.Addr, "addr", "127.0.0.1:8080", "`address` to listen on; port 0 takes a free one")
	set.StringVar(&f.TrustedProxies, "trusted-proxies", "", "`networks` of trusted proxies, comma separated (default none)")
	set.StringVar(&f.Redis, "redis", "", "`URL` of the Redis that keeps the counts, several hosts, comma separated, for a Cluster (default: in memory)")
	set.Func("on-store-failure", "what a store failure means: `open, closed or local` (default open)", func(text string) error {
		for _, policy := range []ratelimit.FailurePolicy{ratelimit.FailOpen, ratelimit.FailClosed, ratelimit.FailLocal} {
			if text == policy.String() {
				f.OnStoreFailure = policy
				return nil
			}
		}
		return errors.New("use open, closed or local")
	})
	switch err := set.Parse(arguments); {
	case errors.Is(err, flag.ErrHelp):
		set.SetOutput(help)
		set.Usage()
		return f, err
	case err != nil:
		return f, fmt.Errorf("%w (-h lists the flags)", err)
	case set.NArg() > 0:
		return f, fmt.Errorf("unexpected argument %q: give flags only (-h lists them)", set.Arg(0))
	}
	return f, nil
}
