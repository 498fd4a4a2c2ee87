package apptest

import (
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/go-floodgate/floodgate/examples/app"
)

// offer is a request, and how many of it are admitted at once.
type offer struct {
	request  request
	admitted int
	// status is that of the admitted ones.
	status int
}

// edgeless are offers whose limits give nothing back within seconds, whenever
// those may be.
var edgeless = []offer{
	{get("/api/users"), 10, http.StatusOK},
	{get("/api/search"), 10, http.StatusOK},
	{login("eve", "guess"), 5, http.StatusUnauthorized},
}

// edged are offers whose limits do, so that the clock has to stand still.
var edged = []offer{
	{get("/algorithms/fixed_window"), 10, http.StatusOK},
	{get("/algorithms/sliding_window"), 10, http.StatusOK},
	{get("/algorithms/sliding_log"), 10, http.StatusOK},
	{get("/algorithms/token_bucket"), 10, http.StatusOK},
	{get("/algorithms/leaky_bucket"), 5, http.StatusOK},
	{get("/api/users/7", "X-API-Key: basic-key"), 50, http.StatusOK},
	{request{method: http.MethodPost, path: "/api/reports", fields: []string{"X-API-Key: premium-key"}}, 10, http.StatusOK},
	{request{method: http.MethodPost, path: "/upload"}, 20, http.StatusOK},
	{get("/events"), 30, http.StatusOK},
}

// tenTimes sends ten times what a limit admits, all at once: exactly what it
// admits passes, by every algorithm and by several policies together.
func tenTimes(offers []offer) func(*testing.T, *bench) {
	return func(t *testing.T, b *bench) {
		for _, o := range offers {
			o.check(t, b.open(t, app.Flags{}, nil))
		}
	}
}

func (o offer) check(t *testing.T, s *site) {
	t.Helper()
	n := 10 * o.admitted
	got := s.atOnce(t, n, o.request)
	want := map[int]int{o.status: o.admitted, http.StatusTooManyRequests: n - o.admitted}
	if !maps.Equal(got, want) {
		t.Errorf("%s %s: %d requests at once were answered %v, want %v", o.request.method, o.request.path, n, got, want)
	}
}

// otherPaths are answered by the framework, and nothing is said of limits.
func otherPaths(t *testing.T, b *bench) {
	s := b.open(t, app.Flags{}, nil)
	for _, path := range []string{"/", "/api", "/api/userss", "/algorithms/none", "/algorithms", "/healthz/deep"} {
		got := s.must(t, get(path))
		if got.status != http.StatusNotFound {
			t.Errorf("GET %s: status %d, want 404", path, got.status)
		}
		if i := slices.IndexFunc(got.fields, isRateLimitField); i >= 0 {
			t.Errorf("GET %s has a rate-limit field: %s", path, got.fields[i])
		}
	}
}

// fallbackDecides has a store that is down and -on-store-failure local.
func fallbackDecides(t *testing.T, b *bench) {
	flags, err := app.ParseFlags("", []string{"-on-store-failure", "local"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := b.open(t, flags, down)
	for _, o := range edgeless {
		if o.request.path != "/api/search" { // which shares its plan with /api/users
			o.check(t, s)
		}
	}
	if got := s.must(t, get("/healthz")); got.status != http.StatusOK {
		t.Errorf("/healthz is answered %d while the store is down", got.status)
	}
}
