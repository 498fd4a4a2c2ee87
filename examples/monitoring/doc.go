// Package monitoring has the test that a real Prometheus scrapes an example
// server, loads the alert rules of prommetrics, and has data for every query of
// its Grafana dashboard.
package monitoring
