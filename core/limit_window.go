package ratelimit

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// windowUnits are the units of a window, the largest first. The first name of
// each is the one that is printed.
var windowUnits = [...]struct {
	span  time.Duration
	names []string
}{
	{24 * time.Hour, []string{"d", "day", "days"}},
	{time.Hour, []string{"h", "hr", "hour", "hours"}},
	{time.Minute, []string{"min", "m", "minute", "minutes"}},
	{time.Second, []string{"s", "sec", "second", "seconds"}},
	{time.Millisecond, []string{"ms"}},
	{time.Microsecond, []string{"us", "µs", "μs"}},
}

// parseWindow reads one or several counts with their units, each unit smaller
// than the one before. Only a single unit may go without a count.
func parseWindow(text string) (time.Duration, error) {
	switch {
	case text == "":
		return 0, errors.New(`window is missing after "/"`)
	case text[0] == '-':
		return 0, fmt.Errorf("window %.30q is negative", text)
	case strings.Contains(text, "/"):
		return 0, fmt.Errorf(`window %.30q has a second "/"`, text)
	case strings.ContainsAny(text, ".,"):
		return 0, fmt.Errorf("window %.30q has a fraction: use a smaller unit, such as 90min for 1.5h", text)
	}
	var total time.Duration
	smallest := time.Duration(math.MaxInt64)
	for rest := text; rest != ""; {
		digits := leadingDigits(rest)
		end := digits
		for end < len(rest) && !isDigit(rest[end]) {
			end++
		}
		count, unit := rest[:digits], rest[digits:end]
		span, known := unitSpan(unit)
		switch {
		case unit == "":
			return 0, fmt.Errorf("window %.30q has no unit after %.20s: use us, ms, s, min, h or d", text, count)
		case !known:
			return 0, fmt.Errorf("window %.30q has the unknown unit %.20q: use us, ms, s, min, h or d", text, unit)
		case count == "" && end < len(rest):
			return 0, fmt.Errorf("window %.30q has no number before %s", text, unit)
		case span >= smallest:
			return 0, fmt.Errorf("window %.30q has its units out of order: put each once, the largest first", text)
		}
		n := int64(1)
		if count != "" {
			var err error
			if n, err = strconv.ParseInt(count, 10, 64); err != nil {
				n = math.MaxInt64
			}
		}
		if n > int64((MaxWindow-total)/span) {
			return 0, fmt.Errorf("window %.30q is too long: use at most %s", text, appendWindow(nil, MaxWindow))
		}
		total += time.Duration(n) * span
		smallest, rest = span, rest[end:]
	}
	return total, nil
}

func unitSpan(unit string) (time.Duration, bool) {
	for _, u := range windowUnits {
		if slices.Contains(u.names, unit) {
			return u.span, true
		}
	}
	return 0, false
}

func leadingDigits(text string) int {
	n := 0
	for n < len(text) && isDigit(text[n]) {
		n++
	}
	return n
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// appendWindow appends a whole number of microseconds.
func appendWindow(text []byte, window time.Duration) []byte {
	for _, unit := range windowUnits {
		if window%unit.span != 0 {
			continue
		}
		if n := int64(window / unit.span); n != 1 {
			text = strconv.AppendInt(text, n, 10)
		}
		return append(text, unit.names[0]...)
	}
	return append(text, window.String()...)
}
