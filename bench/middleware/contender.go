package middleware

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/memstore"
)

// Site is a server's handler, in one of the two forms there are.
type Site struct {
	Handler http.Handler
	App     *fiber.App
	// clock is a row that serves nothing.
	clock serve
}

// serve serves one request and returns the status of its answer.
type serve func() (status int)

// Contender is a row of a framework's tables.
type Contender struct {
	Framework, Name string
	// Module is the path of the peer's module, empty for our own.
	Module string
	// New makes a handler with a limiter of the given quota per hour.
	New func(quota int64) (Site, error)
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

// Plenty is a quota that is not used up, few one that is at once.
const (
	Plenty = 1_000_000_000
	few    = 1
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

// ID names a contender among those of all frameworks.
func (c *Contender) ID() string { return c.Framework + ": " + c.Name }

// Named finds a contender by its ID.
func Named(id string) (Contender, error) {
	for _, c := range All() {
		if c.ID() == id {
			return c, nil
		}
	}
	return Contender{}, fmt.Errorf("middleware: no contender is called %q", id)
}

// clock reads the time once.
func clock(int64) (Site, error) {
	base := time.Now()
	return Site{clock: func() int {
		if time.Since(base) < 0 {
			return 0
		}
		return http.StatusOK
	}}, nil
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
func pair(framework string, site func(*ratelimit.Limiter) Site) []Contender {
	with := func(fields bool) func(int64) (Site, error) {
		return func(quota int64) (Site, error) {
			l, err := limiter(quota, fields)
			if err != nil {
				return Site{}, err
			}
			return site(l), nil
		}
	}
	return []Contender{
		{Framework: framework, Name: Ours, New: with(true)},
		{Framework: framework, Name: NoFields, New: with(false)},
	}
}

// own reports whether a row is one of ours or measures no limiter.
func own(name string) bool {
	return name == Clock || name == Bare || name == FieldsAlone || strings.HasPrefix(name, "Floodgate")
}
