package apptest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-floodgate/floodgate/examples/app"
)

// metricsTell compares what /metrics says with what clients were answered. It
// is not limited, and says nothing of who they are.
func metricsTell(t *testing.T, b *bench) {
	s := b.open(t, app.Flags{TrustedProxies: "127.0.0.1/32"}, nil)
	const client, key = "198.51.100.77", "basic-key"
	answered := make(map[int]int)
	for range 12 {
		answered[s.must(t, get("/api/users/7", "X-Forwarded-For: "+client)).status]++
	}
	for range 3 {
		s.must(t, get("/api/search", "X-Forwarded-For: "+client, "X-API-Key: "+key))
	}
	got := s.must(t, get("/metrics", "X-Forwarded-For: "+client))
	if i := slices.IndexFunc(got.fields, isRateLimitField); i >= 0 || got.status != http.StatusOK {
		t.Errorf("GET /metrics: status %d, fields %q; want 200 without rate-limit fields", got.status, got.fields)
	}
	const requests = `rate_limit_requests_total{method="GET",outcome=%q,policy=%q,reason=%q,route=%q,tier=%q} %d`
	for _, line := range []string{
		fmt.Sprintf(requests, "allowed", "plan", "within_limits", "/api/users/{id}", "free", answered[http.StatusOK]),
		fmt.Sprintf(requests, "refused", "plan", "rate_limited", "/api/users/{id}", "free", answered[http.StatusTooManyRequests]),
		fmt.Sprintf(`rate_limit_exceeded_total{policy="plan",tier="free"} %d`, answered[http.StatusTooManyRequests]),
		`rate_limit_remaining_ratio_count{policy="points",tier=""} 3`,
		`rate_limit_remaining_ratio_count{policy="ip",tier=""} 15`,
		`rate_limit_store_max_keys{store="fallback"} 1.048576e+06`,
	} {
		if !strings.Contains(got.body, "\n"+line+"\n") {
			t.Errorf("GET /metrics lacks the line\n%s", line)
		}
	}
	for _, secret := range []string{client, key, "127.0.0.1", "/api/users/7"} {
		if strings.Contains(got.body, secret) {
			t.Errorf("GET /metrics says %q", secret)
		}
	}
	if answered[http.StatusTooManyRequests] == 0 || t.Failed() {
		t.Logf("the requests were answered %v; GET /metrics:\n%s", answered, got.body)
	}
	if answered[http.StatusTooManyRequests] == 0 {
		t.Error("no request was refused")
	}
}
