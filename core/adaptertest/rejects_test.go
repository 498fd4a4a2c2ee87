package adaptertest

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// broken are the faults that adapters may have, and the cases that must see
// each.
var broken = []struct {
	name   string
	faults faults
	cases  string
}{
	{"runs the handler on a denial", runsOnDenial, "refusals/denied refusals/canceled refusals/hung-up lists/denied"},
	{"runs the handler before the decision", decidesAfter, "refusals/denied counting/held-back"},
	{"decides twice", beginsTwice, "counting/parallel counting/ten-times"},
	{"answers a denial with 403", wrongStatus, "refusals/denied mounting/only-there"},
	{"answers a failed store with 429", openStatus, "refusals/unavailable"},
	{"answers with a body of its own", changesBody, "refusals/denied refusals/blocked refusals/hidden mounting/everywhere lists/denied"},
	{"sends no Content-Length", noLength, "refusals/denied"},
	{"answers HEAD with a body", headHasBody, "refusals/head"},
	{"rounds Retry-After down", shortensWait, "refusals/rounded-up"},
	{"tells the client its key", tellsKey, "refusals/several-policies"},
	{"sets the fields after the handler", fieldsAfter, "answers/allowed answers/several-policies answers/failed-open answers/handler-fields handlers/stream"},
	{"adds lines instead of joining them", doublesFields, "answers/earlier-fields answers/header-forms mounting/stacked mounting/stacked-denied"},
	{"removes no fields", keepsFields, "refusals/never refusals/earlier-fields"},
	{"wraps every ResponseWriter", wrapsAlways, "writers/handed-on writers/interfaces handlers/stream handlers/upgrade"},
	{"hides what the ResponseWriter can", hidesFlusher, "writers/interfaces handlers/stream handlers/upgrade"},
	{"copies only the beginning", copiesBriefly, "writers/copied-to"},
	{"holds the body back", holdsBody, "handlers/stream"},
	{"believes X-Forwarded-For", believesHeader, "peers/forged lists/client"},
	{"cuts addresses at the first colon", cutsAddress, "peers/address"},
	{"takes a port for a client", portIsClient, "peers/connections peers/address lists/allowed"},
	{"invents an address", invents, "peers/no-address"},
	{"shows the first line of a field", firstLine, "peers/forwarded refusals/denied"},
	{"looks fields up in lower case", lowerCase, "keys/header"},
	{"mixes forwarding fields", mixesFields, "peers/other-sources"},
	{"keys over reused buffers", keepsBuffers, "keys/outlive-the-request"},
	{"shows HEAD as a method of its own", headCounts, "keys/cookie-and-method routes/match endpoints/costs"},
	{"takes the path for the route", rawPath, "routes/pattern routes/unmatched routes/spellings routes/rest endpoints/most-specific endpoints/own-quota endpoints/costs endpoints/unknown"},
	{"charges preflights", hidesPreflight, "answers/preflight lists/preflight"},
	{"decides under a context that doesn't end", ownContext, "refusals/canceled refusals/hung-up outcomes/client-gone"},
	{"counts twice when mounted twice", hidesCall, "mounting/twice settling/inside settling/afterwards settling/debt"},
	{"uses what a request needs for the next one", reusesPassage, "settling/afterwards"},
	{"cuts the handler off from its context", losesContext, "mounting/context"},
	{"swallows panics", swallowsPanics, "handlers/panic"},
	{"takes a panic for a success", panicIsSuccess, "outcomes/panic"},
	{"keeps the handler's error to itself", dropsError, "handlers/errors"},
	{"rewrites failures", rewritesFailures, "handlers/answers"},
	{"settles before the handler", finishesFirst, "outcomes/at-once outcomes/given-back settling/outcome"},
	{"does not settle", neverFinishes, "outcomes/successes-free outcomes/given-back settling/outcome"},
	{"takes every answer for 200", statusIsOK, "outcomes/status outcomes/switched outcomes/given-back"},
	{"loses the status of an error", errorIsOK, "outcomes/status"},
	{"guesses the status of an error", guessesStatus, "outcomes/error-handler"},
	{"loses the body", losesBody, "accounts/json-field"},
	{"takes the last member of a name", lastMember, "accounts/unreadable"},
	{"reads a body of any type as JSON", anyType, "accounts/polyglot"},
	{"drops Config.User", dropsUser, "keys/user lists/keys rollout/sticky"},
	{"drops Config.Account", dropsAccount, "accounts/config"},
	{"drops Config.Skip", dropsSkip, "answers/left-alone"},
	{"drops Config.Route", dropsRoute, "routes/unknown"},
	{"drops Config.OnDeny", dropsOnDeny, "refusals/on-deny lists/on-deny"},
	{"says that the account is set", setsAccount, "accounts/unset"},
	{"frees what matches no route", freesUnmatched, "routes/framework-answers"},
	{"mounts a group's limiter too widely", mountsWide, "mounting/only-there"},
	{"checks no routes", checksNothing, "endpoints/checked"},
	{"does not look at the routes", neverLooks, "endpoints/checked-in-use"},
	{"lists routes without methods", listsPaths, "endpoints/checked endpoints/checked-in-use"},
	{"lists no routes of groups", listsSome, "endpoints/checked endpoints/checked-in-use"},
	{"leaves a goroutine behind", leavesGoroutine, "answers/allowed"},
	{"does not say that a handler has returned", neverLeaves, "answers/allowed handlers/panic"},
}

// hangs are the faults that a case waits for in vain.
const hangs = runsOnDenial | holdsBody | hidesFlusher | wrapsAlways | ownContext | leavesGoroutine

// TestRejects proves the suite: it must see each fault, by the case that is
// there for it, and every case must be able to fail.
func TestRejects(t *testing.T) {
	all := allCases()
	seen := make(map[string]bool)
	for _, b := range broken {
		t.Run(strings.ReplaceAll(b.name, " ", "_"), func(t *testing.T) {
			for name := range strings.FieldsSeq(b.cases) {
				seen[name] = true
				mustFail(t, b.faults, all, name)
			}
		})
	}
	for _, c := range all {
		if !seen[c.name] {
			t.Errorf("case %s: no broken adapter shows that it can fail", c.name)
		}
	}
}

func mustFail(t *testing.T, f faults, all []testCase, name string) {
	t.Helper()
	at := slices.IndexFunc(all, func(c testCase) bool { return c.name == name })
	if at < 0 {
		t.Fatalf("there is no case %q", name)
	}
	set := &settings{golden: kept{}, patience: 10 * time.Second}
	if f.has(hangs) {
		set.patience = 300 * time.Millisecond
	}
	r := record(t, func(t tester) { runCases(t, harness(f), all[at:at+1], set) })
	switch {
	case !r.failed:
		t.Errorf("case %s passes", name)
	case strings.Contains(r.output(), "the suite itself panicked"):
		t.Errorf("case %s does not fail but panics: %s", name, r.output())
	case !strings.Contains(r.output(), "why: "+all[at].why):
		t.Errorf("case %s does not say why it is there: %s", name, r.output())
	}
	t.Logf("%s: %s", name, r.output())
}
