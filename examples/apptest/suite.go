package apptest

import (
	"testing"

	"github.com/go-floodgate/floodgate/examples/app"
)

// cases are run on every store, those with timed set only on one whose clock
// stands still.
var cases = []struct {
	name  string
	timed bool
	run   func(*testing.T, *bench)
}{
	{"script", true, runScript},
	{"ten times the limit at once", false, tenTimes(edgeless)},
	{"ten times the limit at one instant", true, tenTimes(edged)},
	{"log-ins under way count", false, loginsUnderWay},
	{"a flood of wrong passwords", false, wrongPasswords},
	{"events are flushed one by one", false, eventsOneByOne},
	{"the fallback decides while the store fails", false, fallbackDecides},
	{"metrics tell what was decided", false, metricsTell},
	{"other paths are the framework's", false, otherPaths},
	{"the framework's own answers", true, frameworkStatuses},
}

// bench is where a case makes its sites.
type bench struct {
	server func(*app.Limiters) app.Server
	store  Store
}

// Run runs every case against an example server: in this process on every
// store, and once as the program that a user starts. It is called in the
// server's own package, which it builds.
func Run(t *testing.T, server func(*app.Limiters) app.Server) {
	t.Helper()
	for _, store := range Stores {
		t.Run(store.Name, func(t *testing.T) {
			b := &bench{server: server, store: store}
			for _, c := range cases {
				if store.Clocked || !c.timed {
					t.Run(c.name, func(t *testing.T) { c.run(t, b) })
				}
			}
		})
	}
	t.Run("program", runProgram)
}
