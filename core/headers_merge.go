package ratelimit

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// lines reads an http.Header as [ResponseHeader] says: all lines of a field.
type lines http.Header

// Get returns the non-empty lines joined by ", ".
func (l lines) Get(name string) string {
	values := l[name]
	if len(values) == 1 {
		return values[0]
	}
	var all string
	for _, value := range values {
		all = joined(all, value)
	}
	return all
}

// joined is two parts of a List as one.
func joined(first, second string) string {
	switch {
	case first == "":
		return second
	case second == "":
		return first
	}
	return first + ", " + second
}

// present is what merge needs to know of the response.
type present interface{ Get(name string) string }

// merge brings f together with the fields that are there already, of limiters
// further out or of other middleware:
//
//   - RateLimit-Policy, and RateLimit of an allowed request, are joined to the
//     members that are there, as one line;
//   - fields that tell of one policy only tell of the one with the smallest
//     share left, the outer one if equal; on a denial of the one that denied;
//   - Retry-After is never lowered;
//   - Access-Control-Expose-Headers keeps its names.
func (h *HeaderConfig) merge(f *fields, header present) {
	f.mergeThree(header, fieldLimit, fieldRemaining, fieldReset)
	f.mergeThree(header, fieldDraftLimit, fieldDraftRemaining, fieldDraftReset)
	if !f.refused && f.sent.has(fieldRateLimit) {
		if h.Draft != Draft07 {
			f.join(header, fieldRateLimit, joined)
		} else if limit, remaining, ok := parseDraft07(header.Get(fieldNames[fieldRateLimit])); ok && !f.tighter(limit, remaining) {
			f.unset(fieldRateLimit)
		}
	}
	f.join(header, fieldPolicy, joined)
	if f.sent.has(fieldRetryAfter) {
		f.mergeRetryAfter(header.Get(fieldNames[fieldRetryAfter]))
	}
	f.join(header, fieldExpose, withNames)
}

// join brings a field together with what is there of it, if there is anything.
func (f *fields) join(header present, i field, both func(there, own string) string) {
	if !f.sent.has(i) {
		return
	}
	if there := header.Get(fieldNames[i]); there != "" {
		f.set(i, both(there, f.values[i]))
	}
}

// tighter reports whether f's binding policy has a smaller share left than
// this.
func (f *fields) tighter(limit, remaining int64) bool {
	return smallerShare(f.remaining, f.limit, remaining, limit)
}

// mergeThree keeps the three fields that are there if they tell of less.
// Fields that can't be read are replaced.
func (f *fields) mergeThree(header present, limit, remaining, reset field) {
	if !f.sent.has(limit) {
		return
	}
	if !f.refused {
		thereLimit, ok := parseDigits(header.Get(fieldNames[limit]))
		if ok {
			thereRemaining, ok := parseDigits(header.Get(fieldNames[remaining]))
			if ok && !f.tighter(thereLimit, thereRemaining) {
				f.unset(limit)
				f.unset(remaining)
				f.unset(reset)
				return
			}
		}
	}
	f.remove(reset) // if it isn't known, what is there belongs to the other two
}

// mergeRetryAfter keeps a longer wait that is there.
func (f *fields) mergeRetryAfter(there string) {
	if there == "" {
		return
	}
	if date, err := http.ParseTime(there); err == nil {
		now := f.at
		if now <= 0 {
			now = time.Now().UnixMicro()
		}
		if date.Unix() > (now-1)/1e6+1+f.retryAfter {
			f.unset(fieldRetryAfter)
		}
		return
	}
	longest := int64(-1)
	for part := range strings.SplitSeq(there, ",") {
		if seconds, ok := parseDigits(strings.Trim(part, " \t")); ok {
			longest = max(longest, seconds)
		}
	}
	if longest > f.retryAfter {
		f.set(fieldRetryAfter, strconv.FormatInt(longest, 10))
	}
}

// parseDigits reads a number of at most 15 digits, and nothing else.
func parseDigits(s string) (n int64, ok bool) {
	if s == "" || len(s) > 15 {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int64(s[i]-'0')
	}
	return n, true
}

// parseDraft07 reads limit and remaining as [appendDraft07] writes them.
func parseDraft07(line string) (limit, remaining int64, ok bool) {
	rest, ok := strings.CutPrefix(line, draft07Limit)
	if !ok {
		return 0, 0, false
	}
	limitText, rest, _ := strings.Cut(rest, draft07Remaining)
	remainingText, _, _ := strings.Cut(rest, ",")
	if limit, ok = parseDigits(limitText); !ok {
		return 0, 0, false
	}
	remaining, ok = parseDigits(remainingText)
	return limit, remaining, ok
}

// withNames appends those of names to a list that it lacks. A "*" in the list
// does not stand for them: it is a plain name to requests with credentials.
func withNames(list, names string) string {
	if list == "" {
		return names
	}
	for name := range strings.SplitSeq(names, ", ") {
		if !hasName(list, name) {
			list = joined(list, name)
		}
	}
	return list
}

func hasName(list, name string) bool {
	for there := range strings.SplitSeq(list, ",") {
		if strings.EqualFold(strings.Trim(there, " \t"), name) {
			return true
		}
	}
	return false
}
