package middleware

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/memstore"
)

// Serve serves one request and returns the status of its answer.
type Serve func() (status int)

// Contender is a row of a framework's tables.
type Contender struct {
	Framework, Name string
	// Module is the path of the peer's module, empty for our own.
	Module string
	// New makes a handler with a limiter of the given quota per hour.
	New func(quota int64) (Serve, error)
	// Free says that it limits nothing.
	Free bool
}

// Names of rows.
const (
	Clock    = "time.Since"
	Bare     = "no limiter"
	Ours     = "Floodgate, five fields"
	NoFields = "Floodgate, no fields"
)

// quota is the one that is not used up, few the one that is at once.
const (
	quota = 1_000_000_000
	few   = 1
)

// Frameworks are those that are measured, All their contenders.
var Frameworks = []string{"net/http", "chi", "Gin", "Echo v4", "Fiber v2"}

// All are the contenders of all frameworks.
func All() []Contender {
	var all []Contender
	for _, of := range [][]Contender{ofHTTP(), ofChi(), ofGin(), ofEcho(), ofFiber()} {
		framework := of[0].Framework
		all = append(all, Contender{Framework: framework, Name: Clock, New: clock, Free: true})
		all = append(all, of...)
	}
	return all
}

// id names a contender among those of all frameworks.
func (c *Contender) id() string { return c.Framework + ": " + c.Name }

func named(id string) (Contender, error) {
	for _, c := range All() {
		if c.id() == id {
			return c, nil
		}
	}
	return Contender{}, fmt.Errorf("middleware: no contender is called %q", id)
}

// clock reads the time once.
func clock(int64) (Serve, error) {
	base := time.Now()
	return func() int {
		if time.Since(base) < 0 {
			return 0
		}
		return http.StatusOK
	}, nil
}

// limiter is Floodgate's, by address, as it is without any settings, or without
// its response fields.
func limiter(quota int64, fields bool) (*ratelimit.Limiter, error) {
	options := []ratelimit.Option{
		ratelimit.Policy{Name: "per-ip", Limit: ratelimit.TokenBucket(quota, time.Hour, quota)}, ratelimit.Logger(nil),
	}
	if !fields {
		options = append(options, ratelimit.Headers(ratelimit.HeaderConfig{Draft: ratelimit.NoDraft, XRateLimit: ratelimit.NoXRateLimit}))
	}
	return ratelimit.New(memstore.New(), options...)
}

// pair makes the two rows of Floodgate.
func pair(framework string, serve func(*ratelimit.Limiter) (Serve, error)) []Contender {
	with := func(fields bool) func(int64) (Serve, error) {
		return func(quota int64) (Serve, error) {
			l, err := limiter(quota, fields)
			if err != nil {
				return nil, err
			}
			return serve(l)
		}
	}
	return []Contender{
		{Framework: framework, Name: Ours, New: with(true)},
		{Framework: framework, Name: NoFields, New: with(false)},
	}
}

// own reports whether a row is one of ours or measures no limiter.
func own(name string) bool {
	return name == Clock || name == Bare || strings.HasPrefix(name, "Floodgate")
}
