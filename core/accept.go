package ratelimit

import "strings"

// maxAccept bounds what is read of the Accept lines of one request; of a
// longer one nothing is.
const maxAccept = 4 << 10

// The content types of the two forms of a body.
const (
	typeJSON    = "application/json"
	typeProblem = "application/problem+json"
)

// prefersProblem reports whether the Accept lines (RFC 9110, section 12.5.1)
// name application/problem+json, with a weight above 0 and no less than that
// of application/json. A wildcard names nothing, so that a client that takes
// anything gets plain JSON. Elements that can't be read count for nothing.
func prefersProblem(accept []string) bool {
	size := 0
	for _, line := range accept {
		size += len(line)
	}
	if size > maxAccept {
		return false
	}
	problem, json := -1, weight{}
	for _, line := range accept {
		for line != "" {
			var element string
			element, line = cutElement(line)
			name, q, ok := parseAccepted(element)
			if !ok {
				continue
			}
			switch {
			case strings.EqualFold(name, typeProblem):
				problem = max(problem, q)
			case strings.EqualFold(name, typeJSON):
				json.set(3, q)
			case strings.EqualFold(name, "application/*"):
				json.set(2, q)
			case name == "*/*":
				json.set(1, q)
			}
		}
	}
	return problem > 0 && problem >= json.q
}

// weight is a media type's weight by the most specific range that covers it.
type weight struct{ precision, q int }

func (w *weight) set(precision, q int) {
	if precision > w.precision || precision == w.precision && q > w.q {
		*w = weight{precision, q}
	}
}

// cutElement cuts a list at the first comma outside quotes.
func cutElement(list string) (element, rest string) {
	quoted := false
	for i := 0; i < len(list); i++ {
		switch c := list[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			i++
		case c == ',' && !quoted:
			return list[:i], list[i+1:]
		}
	}
	return list, ""
}

// parseAccepted reads a media range and its weight in thousandths.
func parseAccepted(element string) (name string, q int, ok bool) {
	name, params, more := strings.Cut(element, ";")
	name = trimSpace(name)
	main, sub, found := strings.Cut(name, "/")
	if !found || !isToken(main) || !isToken(sub) {
		return "", 0, false
	}
	q = 1000
	for more {
		var param string
		param, params, more = cutParam(params)
		if param == "" {
			continue
		}
		key, value, found := strings.Cut(param, "=")
		if !found || !isToken(key) || !isToken(value) && !isQuoted(value) {
			return "", 0, false
		}
		if strings.EqualFold(key, "q") {
			if q, ok = parseWeight(value); !ok {
				return "", 0, false
			}
		}
	}
	return name, q, true
}

// cutParam cuts a parameter off at the first semicolon outside quotes.
func cutParam(params string) (param, rest string, more bool) {
	quoted := false
	for i := 0; i < len(params); i++ {
		switch c := params[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			i++
		case c == ';' && !quoted:
			return trimSpace(params[:i]), params[i+1:], true
		}
	}
	return trimSpace(params), "", false
}

// parseWeight reads a qvalue, 0 to 1 with at most three decimals, in
// thousandths.
func parseWeight(s string) (thousandths int, ok bool) {
	whole, decimals, _ := strings.Cut(s, ".")
	if len(decimals) > 3 {
		return 0, false
	}
	for _, place := range [...]int{100, 10, 1} {
		if decimals == "" {
			break
		}
		if decimals[0] < '0' || decimals[0] > '9' {
			return 0, false
		}
		thousandths += int(decimals[0]-'0') * place
		decimals = decimals[1:]
	}
	switch {
	case whole == "0":
		return thousandths, true
	case whole == "1" && thousandths == 0:
		return 1000, true
	}
	return 0, false
}

// trimSpace cuts off the white space of field values.
func trimSpace(s string) string { return strings.Trim(s, " \t") }

// isToken reports whether s is a token of RFC 9110, section 5.6.2.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

// isQuoted reports whether s is between quotes. What is within is of no
// interest here.
func isQuoted(s string) bool {
	return len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"'
}
