package sfv

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestAppendString(t *testing.T) {
	for in, want := range map[string]string{
		"":                     `""`,
		"per-ip":               `"per-ip"`,
		`say "hi" \o/`:         `"say \"hi\" \\o/"`,
		" ~":                   `" ~"`,
		"a, b;q=1":             `"a, b;q=1"`,
		strings.Repeat(`"`, 3): `"\"\"\""`,
	} {
		got, err := AppendString([]byte("x"), in)
		if err != nil || string(got) != "x"+want {
			t.Errorf("AppendString(%q) = %s, %v; want x%s", in, got, err, want)
		}
	}
	for _, in := range []string{"\x00", "a\nb", "a\r\nSet-Cookie: x", "\x1f", "\x7f", "défaut", "\xff", "日本"} {
		if got, err := AppendString([]byte("x"), in); !errors.Is(err, ErrNotPrintable) || string(got) != "x" {
			t.Errorf("AppendString(%q) = %q, %v; want it refused", in, got, err)
		}
	}
}

func TestAppendInteger(t *testing.T) {
	for in, want := range map[int64]string{0: "0", 7: "7", -42: "-42", MaxInteger: "999999999999999", -MaxInteger: "-999999999999999"} {
		if got, err := AppendInteger([]byte("x"), in); err != nil || string(got) != "x"+want {
			t.Errorf("AppendInteger(%d) = %s, %v", in, got, err)
		}
	}
	for _, in := range []int64{MaxInteger + 1, -MaxInteger - 1, 1<<63 - 1, -1 << 63} {
		if got, err := AppendInteger([]byte("x"), in); err == nil || string(got) != "x" {
			t.Errorf("AppendInteger(%d) = %s, want it refused", in, got)
		}
	}
	for in, want := range map[int64]int64{-1: 0, -1 << 63: 0, 5: 5, MaxInteger + 1: MaxInteger, 1<<63 - 1: MaxInteger} {
		if got := ClampInteger(in); got != want {
			t.Errorf("ClampInteger(%d) = %d, want %d", in, got, want)
		}
	}
}

// The fields that a reader has to take, and their canonical form.
var valid = map[string]string{
	``:                                ``,
	`"default";q=100;w=10`:            ``,
	`"burst";q=100;w=60, "daily";q=1`: ``,
	`"burst";q=100;w=60,"daily";q=1`:  `"burst";q=100;w=60, "daily";q=1`,
	"\"a\";q=1 \t,\t \"b\";q=2":       `"a";q=1, "b";q=2`,
	`  "a";q=1  `:                     `"a";q=1`,
	`"default"; q=100; w=60`:          `"default";q=100;w=60`,
	`"peruser";q=65535;qu="content-bytes";w=10;pk=:QXBwLTk5OQ==:`: ``,
	`"zero";q=0;w=60`:                          ``,
	`"max";q=999999999999999;w=1`:              ``,
	`"say \"hi\" \\o/";q=1;w=1`:                ``,
	`"x";w=60;q=100`:                           ``,
	`"x";q=5;q=100`:                            `"x";q=100`,
	`"x";q=005`:                                `"x";q=5`,
	`"s";q=100;w=60;acme-burst=1000;acme-flag`: ``,
	`"s";a=?1;b=?0`:                            `"s";a;b=?0`,
	`"p";pk=:cHsdsRa894==:`:                    `"p";pk=:cHsdsRa89w==:`,
	`default;q=1.50`:                           `default;q=1.5`,
	`100;w=60`:                                 ``,
	`-1.0, tok/en:*`:                           ``,
	`"x";*k=1;a_-.*=2`:                         ``,
}

func TestParseList(t *testing.T) {
	for in, want := range valid {
		if want == "" {
			want = in
		}
		list, err := ParseList(in)
		if err != nil {
			t.Errorf("ParseList(%q): %v", in, err)
			continue
		}
		if got := FormatList(list); got != want {
			t.Errorf("ParseList(%q) is written %q, want %q", in, got, want)
		}
	}
	for _, in := range []string{
		`"default";q=1000000000000000`,
		`"default";q=`, `"default";q=-`, `"default";q=1.`, `"default";q=1.0000`, `"default";q=1234567890123.0`,
		`"default";w=1m`, `"default";pk=:YWJ-_w==:`, `"default";pk=:YWJj`, `"default";Q=100`, `"default";q =100`,
		`"default" ;q=100`, `"default";q= 100`, `'default';q=100`, "\"d\nef\";q=1", `"défaut";q=1`, `"default";q=100,`,
		`"default";q=100, `, `("a" "b");q=1`, `"a" "b"`, `"a"; `, `"a";;q=1`, `"a`, `"a\n"`, `"a\`, `,`, `"a",,"b"`,
		`"a";q=?2`, `"a";q=@1`, "\t\"a\"", `limit=100, remaining=50`,
	} {
		if list, err := ParseList(in); err == nil {
			t.Errorf("ParseList(%q) = %v, want an error", in, list)
		}
	}
}

func TestParseDictionary(t *testing.T) {
	got, err := ParseDictionary(`limit=100, remaining=50;x=1,reset=30, flag, limit=7`)
	want := []Param{
		{"limit", Bare{Kind: Integer, Int: 7}},
		{"remaining", Bare{Kind: Integer, Int: 50}},
		{"reset", Bare{Kind: Integer, Int: 30}},
		{"flag", Bare{Kind: Boolean, Int: 1}},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("read %v, %v; want %v", got, err, want)
	}
	for _, in := range []string{`limit=100,`, `limit=100 remaining=50`, `"limit"=1`, `Limit=1`, `limit=`, `limit=1;`, `limit = 1`, `"a";r=5`, "a=1\n"} {
		if got, err := ParseDictionary(in); err == nil {
			t.Errorf("ParseDictionary(%q) = %v, want an error", in, got)
		}
	}
}

func TestParam(t *testing.T) {
	list, err := ParseList(`"default";r=50;t=30`)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := list[0].Param("t"); !ok || got != (Bare{Kind: Integer, Int: 30}) {
		t.Errorf("t is %v, %v", got, ok)
	}
	if _, ok := list[0].Param("w"); ok {
		t.Error("w is there")
	}
	if list[0].Value != (Bare{Kind: String, Text: "default"}) {
		t.Errorf("value is %v", list[0].Value)
	}
}

// What has been read is written in a form that reads as the same, and that
// form doesn't change any more.
func FuzzParseList(f *testing.F) {
	for in := range valid {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		list, err := ParseList(in)
		if err != nil {
			return
		}
		canonical := FormatList(list)
		again, err := ParseList(canonical)
		if err != nil {
			t.Fatalf("%q was read, its canonical form %q was not: %v", in, canonical, err)
		}
		if got := FormatList(again); got != canonical {
			t.Fatalf("%q became %q and then %q", in, canonical, got)
		}
	})
}

// The writer and the reader agree on every String.
func FuzzAppendString(f *testing.F) {
	f.Add("per-ip")
	f.Add(`"\`)
	f.Add("a\r\nb")
	f.Fuzz(func(t *testing.T, in string) {
		out, err := AppendString(nil, in)
		if err != nil {
			if list, err := ParseList(`"` + in + `"`); err == nil {
				t.Fatalf("%q can be read as %v but was not written", in, list)
			}
			return
		}
		list, err := ParseList(string(out))
		if err != nil || len(list) != 1 || list[0].Value.Text != in {
			t.Fatalf("%q was written %s and read %v, %v", in, out, list, err)
		}
	})
}
