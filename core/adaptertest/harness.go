package adaptertest

import (
	"net"
	"strings"
	"testing"
	"time"
)

// Harness tells [Run] how a framework serves. Only Serve is required.
type Harness struct {
	// Serve builds site in the framework, with the adapter under test, and
	// serves it on l, a loopback listener, until t's cleanup, which waits for
	// the server to end. For what is an http.Handler [ServeHTTP] does that. It
	// is called several times in each case.
	Serve func(t testing.TB, l net.Listener, site Site)

	// HTTP2 makes the clients speak HTTP/2, in clear and without asking first.
	HTTP2 bool

	// Lacks is what the framework can't do, its flags joined by |. A case that
	// needs one of them is left out, and the log says so.
	Lacks Ability
}

// Ability is something that not every framework can do.
type Ability uint8

const (
	// RouteInUse: middleware of the whole application or of a group can tell
	// which route will handle the request. Without it such requests are
	// expected to be under one route, "unmatched", with a diagnostic: never to
	// be free.
	RouteInUse Ability = 1 << iota
	// ClientGone: the request's context ends when the client hangs up.
	ClientGone
	// Switching: a handler can answer 101 and take the connection over.
	Switching
	// Writer: handlers write to an http.ResponseWriter.
	Writer
	// RouteList: the adapter has a CheckRoutes, which the harness hands to
	// [Site].Built.
	RouteList
	// RouteListInUse: the adapter looks for itself which routes there are, at
	// the first request.
	RouteListInUse
	// ErrorHandler: what answers the errors that handlers return is the
	// application's to say ([Site].OnError).
	ErrorHandler
)

var abilities = [...]struct {
	flag Ability
	name string
}{
	{RouteInUse, "a route that is known to middleware of the application or a group"},
	{ClientGone, "a context that ends when the client hangs up"},
	{Switching, "connections that a handler can take over"},
	{Writer, "an http.ResponseWriter"},
	{RouteList, "a function that checks routes"},
	{RouteListInUse, "a list of the routes within a request"},
	{ErrorHandler, "an error handler of the application's own"},
}

// lacking names what h lacks of all that a case needs.
func (a Ability) lacking(h Harness) []string {
	lacks := h.Lacks
	if h.HTTP2 {
		lacks |= Switching
	}
	var names []string
	for _, ability := range abilities {
		if a&lacks&ability.flag != 0 {
			names = append(names, ability.name)
		}
	}
	return names
}

// Run tests an adapter against the whole contract, each case as a subtest with
// servers of its own. Cases don't run in parallel.
func Run(t *testing.T, h Harness) {
	t.Helper()
	if h.Serve == nil {
		t.Fatal("adaptertest: Harness.Serve is nil: give it a function that serves a Site")
	}
	runCases(realTest{t}, h, allCases(), &settings{golden: kept{}, patience: 30 * time.Second})
}

// settings are what this package's own tests run the suite with otherwise.
type settings struct {
	golden goldens
	// patience is how long something may take that should happen at once. It
	// only bounds how long a failing case hangs.
	patience time.Duration
}

// tester is what a case needs of a test. [realTest] gives it; so does the
// recorder with which this package's own tests watch the suite fail.
type tester interface {
	testing.TB
	run(name string, f func(tester)) bool
}

type realTest struct{ *testing.T }

func (t realTest) run(name string, f func(tester)) bool {
	t.Helper()
	return t.Run(name, func(t *testing.T) { f(realTest{t}) })
}

// testCase is one rule of the contract. Its name is what follows Run's own in
// -run; why is printed when it fails.
type testCase struct {
	name  string
	needs Ability
	why   string
	f     func(s *suite)
}

func allCases() []testCase {
	var all []testCase
	for _, group := range [][]testCase{
		answerCases(), refusalCases(), mountingCases(), peerCases(), keyCases(), accountCases(),
		routeCases(), handlerCases(), writerCases(), endpointCases(), outcomeCases(), settlingCases(), listCases(), rolloutCases(),
		countingCases(),
	} {
		all = append(all, group...)
	}
	return all
}

func runCases(t tester, h Harness, cases []testCase, set *settings) {
	t.Helper()
	leftOut := make(map[string][]string)
	for _, c := range cases {
		if lacks := c.needs.lacking(h); len(lacks) > 0 {
			lack := strings.Join(lacks, " and ")
			leftOut[lack] = append(leftOut[lack], c.name)
			continue
		}
		t.run(c.name, func(t tester) {
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("why: %s", c.why)
				}
			})
			c.f(newSuite(t, h, set))
		})
	}
	for lack, names := range leftOut {
		t.Logf("adaptertest: %d of %d cases left out for want of %s: %s", len(names), len(cases), lack, strings.Join(names, ", "))
	}
}
