package storetest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// columns are the parts of a result that a comparison looks at.
type columns uint8

const (
	colAllowed columns = 1 << iota
	colLimit
	colRemaining
	colRetryAfter
	colResetAfter
	colDelay
	colAt

	// decisionColumns are those of the vectors, allColumns also the clock.
	decisionColumns = colAllowed | colLimit | colRemaining | colRetryAfter | colResetAfter | colDelay
	allColumns      = decisionColumns | colAt
	// timeless columns are the same whenever a request is made, as long as
	// nothing has come back.
	timeless = colAllowed | colLimit | colRemaining
)

// differ names the columns in which got is not want, each with both values;
// it is empty if there are none.
func differ(want, got ratelimit.Result, in columns) string {
	var diffs []string
	note := func(c columns, name string, want, got any) {
		if in&c != 0 && want != got {
			diffs = append(diffs, fmt.Sprintf("%s: want %v, got %v", name, want, got))
		}
	}
	note(colAllowed, "allowed", want.Allowed, got.Allowed)
	note(colLimit, "limit", want.Limit, got.Limit)
	note(colRemaining, "remaining", want.Remaining, got.Remaining)
	note(colRetryAfter, "retry_after_us", inMicros(want.RetryAfter), inMicros(got.RetryAfter))
	note(colResetAfter, "reset_after_us", inMicros(want.ResetAfter), inMicros(got.ResetAfter))
	note(colDelay, "delay_us", inMicros(want.Delay), inMicros(got.Delay))
	note(colAt, "at", want.At, got.At)
	return strings.Join(diffs, "; ")
}

// inMicros shows a wait as the vectors do; -1 is never. Part of a microsecond
// is shown, since no answer may have one.
func inMicros(d time.Duration) string {
	switch {
	case d == ratelimit.Never:
		return "-1 (never)"
	case d%time.Microsecond != 0:
		return fmt.Sprintf("%d.%03d", d/time.Microsecond, d%time.Microsecond)
	default:
		return strconv.FormatInt(d.Microseconds(), 10)
	}
}
