package memstore

import (
	"context"
	"maps"
	"strconv"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// What is read of a store for metrics is what it counts.
func TestFigures(t *testing.T) {
	s := New(WithMaxKeys(100))
	before := figures(t, s)
	if want := map[string]float64{"keys": 0, "max_keys": 100, "forgotten_keys": 0, "expired_keys": 0, "spilled_charges": 0}; !maps.Equal(before, want) {
		t.Errorf("a new store has %v, want %v", before, want)
	}
	results := make([]ratelimit.Result, 1)
	for i := range 1000 {
		charge := ratelimit.Charge{
			Policy: "p", Partition: ratelimit.NamedKey(strconv.Itoa(i)),
			Limit: ratelimit.FixedWindow(int64(1+i%2), time.Hour), Cost: 1,
		}
		if err := s.Take(context.Background(), []ratelimit.Charge{charge}, results); err != nil {
			t.Fatal(err)
		}
	}
	stats, after := s.Stats(), figures(t, s)
	want := map[string]float64{
		"keys": float64(stats.Keys), "max_keys": 100, "forgotten_keys": float64(stats.Forgotten),
		"expired_keys": float64(stats.Expired), "spilled_charges": float64(stats.Spilled),
	}
	if !maps.Equal(after, want) || stats.Keys == 0 || stats.Forgotten == 0 || stats.Spilled == 0 {
		t.Errorf("after a flood the figures are %v, want %v, with keys held, forgotten and spilled", after, want)
	}
}

func figures(t *testing.T, s ratelimit.MeasuredStore) map[string]float64 {
	t.Helper()
	all := make(map[string]float64)
	for _, f := range s.Figures() {
		if _, twice := all[f.Name]; twice || f.Help == "" {
			t.Errorf("the figure %q comes twice or says nothing", f.Name)
		}
		all[f.Name] = f.Value
	}
	return all
}
