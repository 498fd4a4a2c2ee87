package adapter_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/go-floodgate/floodgate/core/adapter"
)

func TestFieldOf(t *testing.T) {
	for body, want := range map[string]string{
		`{"username":"ann"}`:                          "ann",
		` { "a":[1,{"username":"x"}],"username":"y"}`: "y",
		`{"UserName":"ann"}`:                          "ann",
		`{"username":"a","Username":"b"}`:             "",
		`{"username":"a","username":"a"}`:             "",
		`{"username":42}`:                             "42",
		`{"username":1e2}`:                            "",
		`{"username":4.0}`:                            "",
		`{"username":null}`:                           "",
		`{"username":true}`:                           "",
		`{"username":{"a":1}}`:                        "",
		`{"username":"\u0061nn"}`:                     "ann",
		`{"user\u006eame":"ann"}`:                     "ann",
		`{"username":"ann"`:                           "",
		`["username","ann"]`:                          "",
		`"username"`:                                  "",
		``:                                            "",
		`{}`:                                          "",
		`username=ann`:                                "",
		"\ufeff" + `{"username":"ann"}`:               "",
	} {
		if got := adapter.FieldOfRequest(http.Header{"Content-Type": {"application/json"}}.Values, "", []byte(body), "username"); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

// An application that binds by media type must not be shown another account
// than the limiter is.
func TestJSONFieldOfAnotherType(t *testing.T) {
	const object = `{"username":"ann"}`
	for _, c := range []struct {
		contentType []string
		query, body string
		want        string
	}{
		{nil, "", object, "ann"},
		{[]string{"application/json"}, "", object, "ann"},
		{[]string{"application/json; charset=utf-8"}, "next=/", object, "ann"},
		{[]string{"Application/JSON"}, "", object, "ann"},
		{[]string{"application/vnd.example+json"}, "", object, "ann"},
		{[]string{"text/plain;charset=UTF-8"}, "", object, "ann"},
		{[]string{"application/x-www-form-urlencoded"}, "", object, "ann"},
		{[]string{"application/x-www-form-urlencoded"}, "", `{"username":"ann","x":"&username=bob&"}`, ""},
		{[]string{"application/x-www-form-urlencoded"}, "", object + "&username=bob", ""},
		{[]string{"application/x-www-form-urlencoded"}, "username=bob", object, ""},
		{[]string{"multipart/form-data; boundary=b"}, "", object + "\r\n--b\r\nContent-Disposition: form-data; name=\"username\"\r\n\r\nbob\r\n--b--\r\n", ""},
		{[]string{"application/xml"}, "", object + "<f><username>bob</username></f>", ""},
		{[]string{"text/xml"}, "", object + "<f><username>bob</username></f>", ""},
		{[]string{"application/x-yaml"}, "", object, ""},
		{[]string{"application/json", "application/xml"}, "", object, ""},
		{nil, "username=bob", object, ""},
		{[]string{""}, "username=bob", object, ""},
		{[]string{"text/plain"}, "username=bob", object, ""},
		{[]string{"Application/JSON"}, "username=bob", object, ""},
	} {
		r := httptest.NewRequest(http.MethodPost, "/?"+c.query, strings.NewReader(c.body))
		if c.contentType != nil {
			r.Header["Content-Type"] = c.contentType
		}
		if got := adapter.JSONField("username")(r); got != c.want {
			t.Errorf("%q?%s %s: %q, want %q", c.contentType, c.query, c.body, got, c.want)
		}
	}
}

func TestJSONFieldGivesTheBodyBack(t *testing.T) {
	field := adapter.JSONField("username")
	small := `{"username":"ann"}`
	exact := small + strings.Repeat(" ", adapter.MaxBody-len(small))
	for name, test := range map[string]struct{ body, want string }{
		"small":          {small, "ann"},
		"empty":          {"", ""},
		"just fits":      {exact, "ann"},
		"a byte too far": {exact + " ", ""},
		"huge":           {small + strings.Repeat("x", 10*adapter.MaxBody), ""},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", iotest.HalfReader(strings.NewReader(test.body)))
		if got := field(r); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		again, err := io.ReadAll(r.Body)
		if err != nil || string(again) != test.body {
			t.Errorf("%s: the handler read %d bytes of %d, error %v", name, len(again), len(test.body), err)
		}
		if err := r.Body.Close(); err != nil {
			t.Errorf("%s: Close: %v", name, err)
		}
	}
	broken := errors.New("connection reset")
	r := httptest.NewRequest(http.MethodPost, "/", io.MultiReader(strings.NewReader(small), iotest.ErrReader(broken)))
	if got := field(r); got != "" {
		t.Errorf("a body that broke off: %q", got)
	}
	if again, err := io.ReadAll(r.Body); string(again) != small || !errors.Is(err, broken) {
		t.Errorf("the handler read %q, error %v", again, err)
	}
	r.Body = nil
	if got := field(r); got != "" {
		t.Errorf("no body: %q", got)
	}
}

func TestFieldOfRequest(t *testing.T) {
	const body = `{"username":"ann"}`
	for _, test := range []struct {
		name   string
		header http.Header
		query  string
		want   string
	}{
		{"JSON", http.Header{"Content-Type": {"application/json"}}, "a=b", "ann"},
		{"compressed, it says", http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}, "", ""},
		{"XML, it says", http.Header{"Content-Type": {"text/xml"}}, "", ""},
		{"no type, but a query", http.Header{}, "username=bob", ""},
	} {
		header := func(name string) []string { return test.header[name] }
		if got := adapter.FieldOfRequest(header, test.query, []byte(body), "username"); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
