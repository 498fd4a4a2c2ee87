package ratelimit_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// Who is refused again and again is put on a deny list for an hour. A program
// would leave Multiple at 100.
func ExampleOffenders() {
	blocked := new(ratelimit.AccessList)
	offenders := &ratelimit.Offenders{
		Multiple:  2,
		ClearText: true,
		Notify: func(_ context.Context, o ratelimit.Offender) {
			fmt.Println("refused", o.Refusals, "times by", o.Policy)
			// Only of keys that nobody else can be counted by.
			if err := blocked.Add(ratelimit.AccessEntry{Key: o.Partition, Until: time.Now().Add(time.Hour)}); err != nil {
				fmt.Println(err)
			}
		},
	}
	api, err := ratelimit.New(newModelStore(), offenders, ratelimit.DenyList(blocked),
		ratelimit.Policy{Name: "per-ip", Key: ratelimit.ByIP(), Limit: ratelimit.SlidingLog(3, time.Hour)})
	if err != nil {
		fmt.Println(err)
		return
	}

	client := ratelimit.IPKey(netip.MustParseAddr("192.0.2.7"))
	for range 11 {
		fmt.Println(api.Allow(context.Background(), client).Reason)
	}
	// Output:
	// within_limits
	// within_limits
	// within_limits
	// rate_limited
	// rate_limited
	// rate_limited
	// rate_limited
	// rate_limited
	// refused 6 times by per-ip
	// rate_limited
	// deny_listed
	// deny_listed
}

// Without clear text the keys are shown as pseudonyms.
func ExampleOffenders_Top() {
	offenders := &ratelimit.Offenders{Pseudonyms: &ratelimit.Pseudonyms{Secret: []byte("use a random one")}}
	api, err := ratelimit.New(newModelStore(), offenders,
		ratelimit.Policy{Name: "per-ip", Limit: ratelimit.SlidingLog(1, time.Hour)})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 5 {
		api.Allow(context.Background(), ratelimit.IPKey(netip.MustParseAddr("192.0.2.7")))
	}
	for _, o := range offenders.Top("per-ip", 10) {
		fmt.Println(o.Policy, o.Key, o.Refusals)
	}
	// Output: per-ip ip:192.0.2.0/24~OL2cHWVofbru 4
}

// Refusals are logged, at most one line in ten seconds for each policy and
// reason.
func ExampleRefusalLog() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
	log := &ratelimit.RefusalLog{Logger: logger}
	defer log.Flush() // when the program ends
	api, err := ratelimit.New(newModelStore(), log,
		ratelimit.Policy{Name: "per-ip", Limit: ratelimit.SlidingLog(1, time.Hour)})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 5 {
		api.Allow(context.Background(), ratelimit.IPKey(netip.MustParseAddr("192.0.2.7")))
	}
	// Output:
	// level=INFO msg="ratelimit: request refused" policy=per-ip reason=rate_limited retry_after=3600 suppressed=0
	// level=INFO msg="ratelimit: suppressed lines" policy=per-ip reason=rate_limited suppressed=3
}
