package middleware

import (
	"fmt"

	"github.com/go-floodgate/floodgate/bench/measure"
	"github.com/go-floodgate/floodgate/bench/report"
)

const about = `A handler is called directly, with a response that is thrown away; one processor, one client. "added" is what a limiter adds to the
same framework without one, when it lets the request through and when it refuses it. Floodgate sends X-RateLimit-Limit, -Remaining and -Reset,
RateLimit and RateLimit-Policy, and with a refusal Retry-After, Cache-Control and a JSON body. Of the others Echo's sends none, tollbooth six, and the rest three.
"the fields alone" decides nothing: it is what remains of Floodgate's answer if all else takes no time, even making the fields' texts.`

// Section is what the results say of middleware.
func Section(r *measure.Results) report.Section {
	s := report.Section{Title: "Middleware", Text: about, Bars: bars(r)}
	for _, framework := range Frameworks {
		for _, what := range []string{allowed, denied} {
			scenario := Scenario(framework, what)
			s.Comparisons = append(s.Comparisons, report.Comparison{
				Title: framework + ", " + what, Scenario: scenario, Ours: Ours, Metric: Added,
				Columns: []report.Column{
					{Head: "ns", Metric: measure.Nanoseconds},
					{Head: "p50 ns", Metric: measure.P50},
					{Head: "p99 ns", Metric: measure.P99},
					{Head: "added ns", Metric: Added},
					{Head: "added allocations", Metric: AddedAllocs, Format: func(n float64) string { return fmt.Sprintf("%.1f", n) }},
				},
				Floor: Clock, Expected: expected[scenario], Ratio: "adds, times Floodgate's", Self: own, Notes: notes[framework],
			})
		}
	}
	return s
}

// bars are what is promised of middleware.
func bars(r *measure.Results) []report.Bar {
	var all []report.Bar
	adds := func(framework, what, name, peer string, most float64) {
		scenario := Scenario(framework, what)
		value := r.Of(scenario, name, Added).Per(r.Of(scenario, peer, Added))
		says := "what " + peer + " adds"
		if name != Ours {
			says += ": " + name
		}
		all = append(all, report.AtMost(most, " times", says, value).At(scenario, peer))
	}
	adds("net/http", allowed, Ours, Sethvargo, 0.5)
	adds("net/http", denied, Ours, Sethvargo, 0.33)
	adds("Gin", allowed, Ours, Ulule, 0.4)
	adds("Fiber v2", allowed, Ours, Own, 0.85)
	adds("Echo v4", allowed, Ours, Own, 1.5)
	adds("Echo v4", allowed, NoFields, Own, 1)
	for _, what := range []string{allowed, denied} {
		scenario := Scenario("net/http", what)
		all = append(all, report.AtMost(4, " allocations added", "", r.Of(scenario, Ours, AddedAllocs)).At(scenario, Ours))
	}
	return all
}

// expected is what peers are known to add, in readings of the clock (24 ns) of the
// machine where the promises were made.
var expected = map[string]map[string]float64{
	Scenario("net/http", allowed): {Httprate: 629. / 24, Ulule: 702. / 24, Sethvargo: 577. / 24, Throttled: 660. / 24, Tollbooth: 1854. / 24},
	Scenario("net/http", denied):  {Httprate: 864. / 24, Ulule: 901. / 24, Sethvargo: 824. / 24},
	Scenario("chi", allowed):      {Httprate: 753. / 24},
	Scenario("Gin", allowed):      {Ulule: 781. / 24},
	Scenario("Echo v4", allowed):  {Own: 166. / 24},
	Scenario("Fiber v2", allowed): {Own: 261. / 24, OwnSliding: 263. / 24},
}

// notes say, where a peer is ahead, why, and what it gives up.
var notes = map[string]map[string]string{
	"net/http": {Sethvargo: less, Ulule: less, Httprate: less, Throttled: less},
	"chi":      {Httprate: less},
	"Gin":      {Ulule: less},
	"Echo v4":  {Own: "sends no field at all, not even Retry-After: clients cannot tell what they have left or when to come back"},
	"Fiber v2": {
		Own:        "sends 3 fields, and with a refusal Retry-After alone without a body; its clock is a second coarse",
		OwnSliding: "sends 3 fields, and with a refusal Retry-After alone without a body; its clock is a second coarse",
	},
}

// less is what those do that send the three X-RateLimit fields.
const less = "sends 3 of the 5 fields, refuses with a line of text, and has no cap on keys"

// Modules are the paths of the peers' and frameworks' modules.
func Modules() []string {
	var all []string
	for _, c := range All() {
		if c.Module != "" {
			all = append(all, c.Module)
		}
	}
	return all
}
