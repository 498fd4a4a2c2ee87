package app

import (
	"flag"
	"fmt"
	"strings"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// Flags are the command line of an example server.
type Flags struct {
	// Addr is where to listen; port 0 takes a free one.
	Addr string
	// TrustedProxies are the networks whose X-Forwarded-For is believed.
	TrustedProxies []string
	// OnStoreFailure is what a store failure means.
	OnStoreFailure ratelimit.FailurePolicy
}

// ParseFlags reads the arguments of a server with this name.
func ParseFlags(name string, arguments []string) (Flags, error) {
	var f Flags
	set := flag.NewFlagSet(name, flag.ContinueOnError)
	set.StringVar(&f.Addr, "addr", "127.0.0.1:8080", "`address` to listen on; port 0 takes a free one")
	set.Func("trusted-proxies", "`networks` of trusted proxies, comma separated (default none)", func(text string) error {
		for network := range strings.SplitSeq(text, ",") {
			if network = strings.TrimSpace(network); network != "" {
				f.TrustedProxies = append(f.TrustedProxies, network)
			}
		}
		return nil
	})
	set.Func("on-store-failure", "what a store failure means: `open, closed or local` (default open)", func(text string) error {
		for _, policy := range []ratelimit.FailurePolicy{ratelimit.FailOpen, ratelimit.FailClosed, ratelimit.FailLocal} {
			if text == policy.String() {
				f.OnStoreFailure = policy
				return nil
			}
		}
		return fmt.Errorf("%q is none of open, closed, local", text)
	})
	if err := set.Parse(arguments); err != nil {
		return f, err
	}
	if set.NArg() > 0 {
		return f, fmt.Errorf("unexpected argument %q", set.Arg(0))
	}
	return f, nil
}
