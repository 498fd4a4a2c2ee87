package adapter_test

import (
	"errors"
	"io"
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
		if got := adapter.FieldOf([]byte(body), "username"); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
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
		r := httptest.NewRequest("POST", "/", iotest.HalfReader(strings.NewReader(test.body)))
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
	r := httptest.NewRequest("POST", "/", io.MultiReader(strings.NewReader(small), iotest.ErrReader(broken)))
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
