package adapter

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// MaxBody is how much of a request's body is read to find an account.
const MaxBody = 64 << 10

// JSONField returns a function that finds the named top-level member of a
// request's JSON body, for an adapter's Account. At most [MaxBody] bytes are
// read, and the handler gets the body as if nothing had been. It returns "" if
// the body is larger, no JSON object, or has no such member.
func JSONField(name string) func(*http.Request) string {
	return func(r *http.Request) string {
		if r.Body == nil || r.Body == http.NoBody {
			return ""
		}
		read, err := io.ReadAll(io.LimitReader(r.Body, MaxBody+1))
		r.Body = replayed{io.MultiReader(bytes.NewReader(read), r.Body), r.Body}
		if err != nil {
			return ""
		}
		return FieldOf(read, name)
	}
}

// replayed is a body of which some was read ahead.
type replayed struct {
	io.Reader
	io.Closer
}

// FieldOf finds the named top-level member of a JSON object: a string, or a
// whole number. It looks into no body of more than [MaxBody] bytes. Names are
// compared as encoding/json does, without regard to letter case. If several
// members have the name it returns "": which of them the application goes by
// can't be known, and a client must not be able to show the limiter one name
// and the application another.
func FieldOf(body []byte, name string) string {
	if len(body) > MaxBody {
		return ""
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return ""
	}
	var found string
	var seen bool
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return ""
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return ""
		}
		if text, _ := key.(string); !strings.EqualFold(text, name) {
			continue
		}
		if seen {
			return ""
		}
		seen = true
		found = scalar(value)
	}
	if _, err := decoder.Token(); err != nil {
		return ""
	}
	return found
}

func scalar(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	// 100, 1e2 and 100.0 may be one account: only the first spelling is read.
	if number := string(value); strings.Trim(number, "0123456789") == "" {
		return number
	}
	return ""
}
