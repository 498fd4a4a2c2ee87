package ratelimit

import (
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/go-floodgate/floodgate/core/internal/sfv"
)

// Advertised is what a response says of one of the server's policies. It is
// for clients; see [ReadAdvertised].
type Advertised struct {
	// Policy is the policy's name, empty in the forms that have none.
	Policy string
	// Unit is what the quota is counted in, empty for requests.
	Unit string
	// Limit is the most that can be left (the burst of a Floodgate bucket, else
	// the quota), 0 if it isn't told.
	Limit int64
	// Quota is how many units there are per Window, which is 0 if they aren't
	// told.
	Quota  int64
	Window time.Duration
	// Remaining is how many units are left, never below 0.
	Remaining int64
	// EffectiveWindow is how long the client can count on Remaining and on no
	// more, from the server's decision on; [Never] if it isn't told.
	EffectiveWindow time.Duration
	// Cost is what the request was charged, 0 if it isn't told.
	Cost int64
}

// maxReadField bounds what is read of one field: a server may send megabytes.
const maxReadField = 16 << 10

// ReadAdvertised reads what a response says of the server's quotas, in the
// first of these forms that is there and well-formed: RateLimit with
// RateLimit-Policy as drafts 08 to 11 have them and as [Draft12Preview] does,
// RateLimit of draft-07, RateLimit-Limit, -Remaining and -Reset of the drafts
// before, and the same three with X- in front, whose Reset is taken for a Unix
// time (in seconds or milliseconds) from 1,000,000,000 on and for seconds from
// now below. A field that is malformed or over 16 KiB is ignored as a whole.
//
// received is the client's clock at the response; times of the server's are
// held against its own clock (Date) if it tells it. The answer is nil if the
// response says nothing, or comes out of a cache (it has an Age above 0) and so
// tells of another request.
func ReadAdvertised(header http.Header, received time.Time) []Advertised {
	if age, ok := parseDigits(readField(header, "Age")); ok && age > 0 {
		return nil
	}
	if all := readMembers(header); all != nil {
		return all
	}
	if one, ok := readDraft07(header); ok {
		return []Advertised{one}
	}
	if one, ok := readThree(header, fieldDraftLimit, fieldDraftRemaining, fieldDraftReset, received); ok {
		return []Advertised{one}
	}
	if one, ok := readThree(header, fieldLimit, fieldRemaining, fieldReset, received); ok {
		return []Advertised{one}
	}
	return nil
}

// ReadRetryAfter reads how long a response asks to wait: Retry-After in seconds
// or as a date (RFC 9110, section 10.2.3), the longest if there are several. A
// date is held against the response's own Date if it has one, else against
// received, the client's clock at the response. ok is false if the response
// doesn't say, or not in a form that can be read. The wait is never negative.
func ReadRetryAfter(header http.Header, received time.Time) (wait time.Duration, ok bool) {
	for _, line := range header[fieldNames[fieldRetryAfter]] {
		line = strings.Trim(line, " \t")
		one, known := time.Duration(0), false
		if seconds, digits := parseDigits(line); digits {
			one, known = inSeconds(seconds), true
		} else if date, err := http.ParseTime(line); err == nil {
			one, known = date.Sub(serverClock(header, received)), true
		}
		if known {
			wait, ok = max(wait, one), true
		}
	}
	return wait, ok
}

// readField is all lines of a field, empty if they are too much.
func readField(header http.Header, name string) string {
	size := 0
	for _, line := range header[name] {
		size += len(line)
	}
	if size > maxReadField {
		return ""
	}
	return lines(header).Get(name)
}

// readMembers reads RateLimit as a List. Parameters that are there must be of
// their type; r, or a in its place, must be there.
func readMembers(header http.Header) []Advertised {
	list, err := sfv.ParseList(readField(header, fieldNames[fieldRateLimit]))
	if err != nil || len(list) == 0 {
		return nil
	}
	all := make([]Advertised, len(list))
	for i, item := range list {
		one, remaining, window := &all[i], "r", "t"
		_, there := item.Param(remaining)
		if !there {
			remaining, window = "a", "w"
			_, there = item.Param(remaining)
		}
		seconds := int64(-1)
		if !there || item.Value.Kind != sfv.String || !readInteger(item, remaining, &one.Remaining) ||
			!readInteger(item, window, &seconds) || !readInteger(item, "c", &one.Cost) {
			return nil
		}
		one.Policy, one.EffectiveWindow = item.Value.Text, Never
		if seconds >= 0 {
			one.EffectiveWindow = inSeconds(seconds)
		}
	}
	readPolicies(header, all)
	return all
}

// readPolicies adds what RateLimit-Policy says of the policies in all. The
// field is optional, and ignored if a member isn't as it should be.
func readPolicies(header http.Header, all []Advertised) {
	list, err := sfv.ParseList(readField(header, fieldNames[fieldPolicy]))
	if err != nil {
		return
	}
	policies := make([]Advertised, len(list))
	for i, item := range list {
		one := &policies[i]
		var seconds, burst int64
		unit, _ := item.Param("qu")
		_, there := item.Param("q")
		if !there || item.Value.Kind != sfv.String || !readInteger(item, "q", &one.Quota) ||
			!readInteger(item, "w", &seconds) || !readInteger(item, "floodgate-burst", &burst) {
			return
		}
		one.Policy, one.Limit, one.Window = item.Value.Text, one.Quota, inSeconds(seconds)
		if burst > 0 {
			one.Limit = burst
		}
		if one.Unit = unit.Text; one.Unit == "requests" {
			one.Unit = ""
		}
	}
	for i := range all {
		for _, p := range policies {
			if p.Policy == all[i].Policy {
				all[i].Unit, all[i].Limit, all[i].Quota, all[i].Window = p.Unit, p.Limit, p.Quota, p.Window
				break
			}
		}
	}
}

// readInteger reads a parameter if it is there. It returns false for one that
// is not a non-negative Integer.
func readInteger(item sfv.Item, key string, into *int64) bool {
	value, there := item.Param(key)
	if !there {
		return true
	}
	*into = value.Int
	return value.Kind == sfv.Integer && value.Int >= 0
}

// readDraft07 reads RateLimit as draft-07 has it: limit=100, remaining=50, reset=30.
func readDraft07(header http.Header) (Advertised, bool) {
	members, err := sfv.ParseDictionary(readField(header, fieldNames[fieldRateLimit]))
	if err != nil {
		return Advertised{}, false
	}
	one, there := Advertised{EffectiveWindow: Never}, false
	for _, member := range members {
		if member.Value.Kind != sfv.Integer || member.Value.Int < 0 {
			continue
		}
		switch member.Key {
		case "limit":
			one.Limit = member.Value.Int
		case "remaining":
			one.Remaining, there = member.Value.Int, true
		case "reset":
			one.EffectiveWindow = inSeconds(member.Value.Int)
		}
	}
	return one, there
}

// readThree reads the three fields that tell of one policy. A limit may be
// followed by policies ("10, 10;w=1"), which say nothing more.
func readThree(header http.Header, limit, remaining, reset field, received time.Time) (Advertised, bool) {
	n, ok := parseDigits(readField(header, fieldNames[remaining]))
	if !ok {
		return Advertised{}, false
	}
	one := Advertised{Remaining: n, EffectiveWindow: Never}
	first, _, _ := strings.Cut(readField(header, fieldNames[limit]), ",")
	one.Limit, _ = parseDigits(first)
	const (
		unixSeconds = 1_000_000_000
		unixMillis  = 1000 * unixSeconds
	)
	switch n, ok := parseDigits(readField(header, fieldNames[reset])); {
	case !ok:
	case n >= unixMillis:
		one.EffectiveWindow = max(0, time.UnixMilli(n).Sub(serverClock(header, received)))
	case n >= unixSeconds:
		one.EffectiveWindow = max(0, time.Unix(n, 0).Sub(serverClock(header, received)))
	default:
		one.EffectiveWindow = inSeconds(n)
	}
	return one, true
}

// serverClock is the server's clock at the response if it tells it. It is in
// whole seconds, rounded down, so that a wait until then is never too short.
func serverClock(header http.Header, received time.Time) time.Time {
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		return date
	}
	return received
}

// inSeconds is a number of seconds as a Duration, short of [Never].
func inSeconds(n int64) time.Duration {
	return time.Duration(min(n, math.MaxInt64/int64(time.Second)) * int64(time.Second))
}
