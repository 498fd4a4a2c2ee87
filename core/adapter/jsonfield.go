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
// the body is larger, no JSON object, has no such member, or may be taken for
// something else than JSON: an application may read another name in it.
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
		return FieldOfRequest(func(field string) []string { return r.Header[field] }, r.URL.RawQuery, read, name)
	}
}

// FieldOfRequest is what [JSONField] finds in a body that was read, for
// frameworks without an [http.Request]. header returns the lines of the request
// field with a canonical name; the body is as it was sent.
func FieldOfRequest(header func(field string) []string, query string, body []byte, name string) string {
	// An application may decode what is encoded; whoever doesn't sees no JSON.
	if len(header("Content-Encoding")) > 0 || !onlyJSON(header("Content-Type"), query, body) {
		return ""
	}
	return fieldOf(body, name)
}

// onlyJSON reports whether a body that is JSON can't be something else to the
// application as well. Many bind a request by its Content-Type, of which these
// are the lines: a body may hold one name as JSON and another as a form, XML
// or YAML, and the query still another if the type tells of no body. Of type
// application/json a body is JSON. Without a type, as plain text, or as the
// form that curl -d calls everything, it is if the request has no query, and
// the form no field.
func onlyJSON(contentType []string, query string, body []byte) bool {
	if len(contentType) == 0 {
		return query == ""
	}
	if len(contentType) > 1 {
		return false
	}
	media, _, _ := strings.Cut(contentType[0], ";")
	media = strings.TrimSpace(media)
	if media == "application/json" {
		return true
	}
	// Some compare types in lower case only: to them this is another type.
	media = strings.ToLower(media)
	switch {
	case query != "":
		return false
	case media == "application/x-www-form-urlencoded":
		return !bytes.ContainsAny(body, "&=")
	}
	return media == "" || media == "application/json" || media == "text/plain" || strings.HasSuffix(media, "+json")
}

// replayed is a body of which some was read ahead.
type replayed struct {
	io.Reader
	io.Closer
}

// fieldOf finds the named top-level member of a JSON object: a string, or a
// whole number. It looks into no body of more than [MaxBody] bytes. Names are
// compared as encoding/json does, without regard to letter case. If several
// members have the name it returns "": which of them the application goes by
// can't be known, and a client must not be able to show the limiter one name
// and the application another.
func fieldOf(body []byte, name string) string {
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
