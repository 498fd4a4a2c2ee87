package prommetrics

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// TestSeriesOfManyLimits has more limits than there are places for those that
// came first: each is still told under its own policy.
func TestSeriesOfManyLimits(t *testing.T) {
	const many = 200
	m, err := New(prometheus.NewRegistry(), WithBounds(Bounds{Policies: many}))
	if err != nil {
		t.Fatal(err)
	}
	limits := make([]ratelimit.PolicyLimit, many)
	for range 2 {
		for n := range limits {
			limits[n].Policy = fmt.Sprint("policy ", n)
			if got := m.seriesOf(&limits[n]).policy; got != limits[n].Policy {
				t.Errorf("%s is told under %s", limits[n].Policy, got)
			}
		}
	}
}
