package apptest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every example server is a program that runs through the suite.
func TestEveryServerIsTested(t *testing.T) {
	mains, err := filepath.Glob("../*/main.go")
	if err != nil {
		t.Fatal(err)
	}
	servers := 0
	for _, main := range mains {
		program, err := os.ReadFile(main)
		if err != nil {
			t.Fatal(err)
		}
		folder := filepath.Dir(main)
		if !strings.Contains(string(program), `app.Main("`+filepath.Base(folder)+`", server)`) {
			if name := filepath.Base(folder); name != "demo" && name != "quickstart" {
				t.Errorf("%s is no example server: let its main be app.Main(%q, server)", main, name)
			}
			continue
		}
		servers++
		test, err := os.ReadFile(filepath.Join(folder, "main_test.go"))
		if err != nil || !strings.Contains(string(test), "apptest.Run(t, server)") {
			t.Errorf("%s/main_test.go does not run the suite (%v): let its TestServer be apptest.Run(t, server)", folder, err)
		}
	}
	if servers < 2 {
		t.Errorf("found %d example servers", servers)
	}
}
