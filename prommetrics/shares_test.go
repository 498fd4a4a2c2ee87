package prommetrics

import (
	"math"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// TestShares compares the histogram with Prometheus' own.
func TestShares(t *testing.T) {
	own, same := new(shares), prometheus.NewHistogram(prometheus.HistogramOpts{Name: "same", Buckets: shareBounds[:]})
	for n := range 2001 {
		share := float64(n) / 2000
		own.observe(share)
		same.Observe(share)
	}
	for _, beyond := range []float64{-3, 7, math.Inf(1)} {
		own.observe(beyond)
		same.Observe(min(max(beyond, 0), 1))
	}
	var got, want dto.Metric
	if err := own.metric(prometheus.NewDesc("own", "", nil, nil)).Write(&got); err != nil {
		t.Fatal(err)
	}
	if err := same.Write(&want); err != nil {
		t.Fatal(err)
	}
	if g, w := got.GetHistogram(), want.GetHistogram(); g.GetSampleCount() != w.GetSampleCount() || math.Abs(g.GetSampleSum()-w.GetSampleSum()) > 0.01 {
		t.Errorf("%d shares of %v, want %d of %v", g.GetSampleCount(), g.GetSampleSum(), w.GetSampleCount(), w.GetSampleSum())
	}
	for i, bucket := range want.GetHistogram().GetBucket() {
		if g := got.GetHistogram().GetBucket()[i]; g.GetUpperBound() != bucket.GetUpperBound() || g.GetCumulativeCount() != bucket.GetCumulativeCount() {
			t.Errorf("bucket %v has %d, want bucket %v with %d", g.GetUpperBound(), g.GetCumulativeCount(), bucket.GetUpperBound(), bucket.GetCumulativeCount())
		}
	}
}
