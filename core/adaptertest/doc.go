// Package adaptertest is the contract of framework adapters as a test suite.
// Any adapter, in this project or outside it, proves itself with one test that
// says how its framework serves a [Site]:
//
//	func TestConformance(t *testing.T) {
//		adaptertest.Run(t, adaptertest.Harness{Serve: serve})
//	}
//
// [Run] is the only entry point, so that a case added here reaches every
// adapter without a change there. Each case prints why the rule exists when it
// fails. Run one alone with -run 'TestConformance/mounting/twice'.
//
// # A harness
//
// Serve builds the site and serves it on a real loopback listener: the suite's
// clients are real ones, and what they read is what a client reads. A Site has
// no types of a framework. For each of its parts the harness says how the
// framework spells it:
//
//   - the framework's own recovery, if Site.Recover is set;
//   - what answers the errors of handlers, if Site.OnError is set;
//   - the adapter's CheckRoutes, which Site.Built is handed;
//   - middleware for the application, for groups and for routes: the adapter's
//     if Middleware.Limiter is set, made with its Config ([ConfigOf]), else one
//     that calls Middleware.Around;
//   - routes with their methods and patterns ([Spell]);
//   - handlers and callbacks over an [Exchange], which is made of the
//     framework's context. Where that has an http.ResponseWriter and an
//     http.Request, [HTTP] is it; then [ServeHTTP] serves the whole, and
//     Handler and Middleware are ready for net/http.
//
// What a framework can't do it says in [Harness.Lacks]; what was left out is
// counted in the log.
//
// # Golden answers
//
// Answers are compared with one golden set (testdata/golden), the same for all
// adapters: status, body, and the sorted lines of the limiter's fields,
// Content-Type, Content-Length and Cache-Control. Where an answer is the
// framework's own (404, 405, redirects, errors, panics), it is compared with
// what the framework answers without a limiter.
//
// # Addresses and time
//
// The listener shows the server the peer address that a case wants, IPv6 or
// none at all, whatever the machine has. The clock of the suite's stores stands
// still, so that counts are exact and no case waits for anything to pass.
package adaptertest
