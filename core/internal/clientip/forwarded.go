package clientip

import (
	"net/netip"
	"strings"
)

// maxNode is the longest text of a node that is unescaped: an address of 45
// bytes, a zone and a port, with room to spare.
const maxNode = 128

// lastUnquotedComma returns the index of the last comma outside a quoted
// string, or -1. It reads from the right, since quotes can only be paired by
// what the trusted proxies wrote: read from the left, a client's lone quote
// would swallow their addition.
func lastUnquotedComma(line string) int {
	for i := len(line) - 1; i >= 0; i-- {
		switch line[i] {
		case ',':
			return i
		case '"':
			if i = openingQuote(line[:i]); i < 0 {
				return -1
			}
		}
	}
	return -1
}

// openingQuote returns the index of the last quote that is not escaped, or -1.
func openingQuote(line string) int {
	for i := len(line) - 1; i >= 0; i-- {
		if line[i] != '"' {
			continue
		}
		quote := i
		for i > 0 && line[i-1] == '\\' {
			i--
		}
		if (quote-i)%2 == 0 {
			return quote
		}
	}
	return -1
}

// parseForwarded reads the address of the "for" parameter of one element of
// the Forwarded header (RFC 7239, section 4). There is none if the element is
// malformed, has no "for" or several, or hides the node ("unknown", "_name").
// It is more lenient than the grammar where a value has one meaning only: an
// address with colons may go unquoted, and white space may surround the
// semicolons.
func parseForwarded(element string) (addr netip.Addr, ok bool) {
	found := false
	for rest := trim(element); rest != ""; {
		if rest[0] == ';' {
			rest = trim(rest[1:])
			continue
		}
		name, after, assigned := strings.Cut(rest, "=")
		if !assigned || !isToken(name) {
			return netip.Addr{}, false
		}
		var value string
		if value, rest, ok = cutValue(after); !ok {
			return netip.Addr{}, false
		}
		if rest = trim(rest); rest != "" && rest[0] != ';' {
			return netip.Addr{}, false
		}
		if !strings.EqualFold(name, "for") {
			continue
		}
		if found {
			return netip.Addr{}, false
		}
		found = true
		if addr, ok = parseAddr(value); !ok {
			return netip.Addr{}, false
		}
	}
	return addr, found
}

// cutValue cuts the value that text begins with from what follows it.
func cutValue(text string) (value, rest string, ok bool) {
	if text != "" && text[0] == '"' {
		return cutQuoted(text[1:])
	}
	end := strings.IndexAny(text, "; \t")
	if end < 0 {
		end = len(text)
	}
	value, rest = text[:end], text[end:]
	return value, rest, value != "" && !strings.ContainsAny(value, `",\`)
}

// cutQuoted is cutValue for a quoted string (RFC 9110, section 5.6.4) behind
// its opening quote. A value that is too long for a node comes back empty.
func cutQuoted(text string) (value, rest string, ok bool) {
	escaped := false
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			escaped = true
			i++
		case '"':
			value, rest = text[:i], text[i+1:]
			if escaped {
				value = unescape(value)
			}
			return value, rest, true
		}
	}
	return "", "", false
}

func unescape(value string) string {
	if len(value) > maxNode {
		return ""
	}
	plain := make([]byte, 0, maxNode)
	for i := 0; i < len(value); i++ {
		if value[i] == '\\' {
			i++
		}
		plain = append(plain, value[i])
	}
	return string(plain)
}
