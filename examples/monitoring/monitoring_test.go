package monitoring

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-floodgate/floodgate/redisstore/redistest"
)

const (
	dashboardFile = "../../prommetrics/grafana/floodgate.json"
	rulesFile     = "../../prommetrics/rules/floodgate.rules.yml"
)

// TestMonitoring has an example server on Redis answer clients, one of whom
// guesses passwords, takes Redis away, and asks a Prometheus that scrapes the server all that Grafana would.
func TestMonitoring(t *testing.T) {
	queries := dashboard(t)
	for i, query := range queries {
		// What stands for no data is none.
		queries[i] = strings.TrimSuffix(query, " or on() vector(0)")
	}
	redis := redistest.Start(t)
	server := startServer(t, redis.Addr)
	prometheus := startPrometheus(t, server.addr, rulesFile)
	// So few that there is no offender however long Prometheus takes to look.
	for range 10 {
		server.send(t.Context(), "POST", "/login", "")
	}
	server.load(t)
	const offenders = `sum(rate_limit_offenders_total{policy=~"login.*"})`
	await(t, "there is no offender yet", func() bool { return prometheus.has(t, offenders+" == 0") })
	server.guesses.Store(50)
	await(t, "there is one", func() bool { return prometheus.has(t, offenders+" > 0") })
	server.guesses.Store(1)

	await(t, "Redis has been asked", func() bool { return prometheus.has(t, "rate_limit_store_batch_requests_count > 0") })
	redis.Kill()

	for _, query := range queries {
		await(t, "data for "+query, func() bool { return prometheus.has(t, query) })
	}
	names := server.metricNames(t)
	for _, query := range queries {
		for _, name := range metricNames(query) {
			if !slices.Contains(names, name) {
				t.Errorf("the dashboard asks for %s, which the server doesn't have:\n%s", name, query)
			}
		}
	}
	rules, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range metricNames(string(rules)) {
		if !slices.Contains(names, name) {
			t.Errorf("the rules ask for %s, which the server doesn't have", name)
		}
	}
	for alert, state := range map[string]string{
		"FloodgateRefusesMuch": "pending", "FloodgateStoreErrors": "pending", "FloodgateDegraded": "pending", "FloodgateBreakerOpen": "pending",
		"FloodgateOffender": "firing", "FloodgateStoreNearlyFull": "inactive",
	} {
		await(t, alert+" is "+state, func() bool { return prometheus.rules(t)[alert] == state })
	}
	if rules := prometheus.rules(t); len(rules) != 6 {
		t.Errorf("Prometheus has the rules %v, want 6 that are all named above", rules)
	}
}

// dashboard returns the queries of the dashboard as Grafana sends them.
func dashboard(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Title  string
		Panels []struct {
			ID                       int
			Type, Title, Description string
			Targets                  []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatalf("%s: %v", dashboardFile, err)
	}
	var queries []string
	ids := make(map[int]bool)
	for _, panel := range all.Panels {
		if ids[panel.ID] {
			t.Errorf("two panels have the id %d", panel.ID)
		}
		ids[panel.ID] = true
		if panel.Type != "row" && (panel.Title == "" || panel.Description == "" || len(panel.Targets) == 0) {
			t.Errorf("the panel %q has no title, no description or no query", panel.Title)
		}
		for _, target := range panel.Targets {
			query := strings.NewReplacer("$__rate_interval", "1m", "$job", ".*").Replace(target.Expr)
			if strings.Contains(query, "$") {
				t.Errorf("the panel %q uses a variable that is not set here: %s", panel.Title, query)
			}
			queries = append(queries, query)
		}
	}
	if len(queries) < 20 {
		t.Errorf("the dashboard has %d queries only", len(queries))
	}
	return queries
}

var metricName = regexp.MustCompile(`\brate_limit_[a-z_]+\b`)

// metricNames are the metrics that a query asks for, histograms by their own
// name.
func metricNames(query string) []string {
	names := metricName.FindAllString(query, -1)
	for i, name := range names {
		for _, suffix := range []string{"_bucket", "_count", "_sum"} {
			name = strings.TrimSuffix(name, suffix)
		}
		names[i] = name
	}
	return names
}
