package measure

import (
	"errors"
	"math"
	"os"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if Serve(Kind{Name: "echo", New: newEcho}) {
		return
	}
	os.Exit(m.Run())
}

// echo answers with what it is told.
type echo struct{ contender string }

func newEcho(contender string) (Session, error) { return &echo{contender: contender}, nil }

func (e *echo) Do(o Order) (map[string]float64, error) {
	if o.Scenario == "fail" {
		return nil, errors.New(e.contender + " fails")
	}
	return map[string]float64{"keys": float64(o.Keys)}, nil
}

func (*echo) Close() error { return nil }

func TestProcess(t *testing.T) {
	t.Parallel()
	s, err := Start("echo", "someone/else")
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := s.Do(Order{Keys: 7})
	if err != nil || metrics["keys"] != 7 {
		t.Errorf("a process answers %v, %v, want 7 keys", metrics, err)
	}
	if _, err := s.Do(Order{Scenario: "fail"}); err == nil || err.Error() != "someone/else fails" {
		t.Errorf("a failure arrives as %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
}

func TestSeries(t *testing.T) {
	t.Parallel()
	s := Series{4, 1, 3, 2, 5}
	if low, high := s.Quartiles(); s.Median() != 3 || low != 2 || high != 4 {
		t.Errorf("median %v, quartiles %v and %v, want 3, 2 and 4", s.Median(), low, high)
	}
	if got := (Series{1, 2}).Median(); got != 1.5 {
		t.Errorf("the median of an even number is %v, want 1.5", got)
	}
	if got := s.Per(Series{2, 2, 2, 2, 2}); got.Median() != 1.5 {
		t.Errorf("half of it is %v", got)
	}
	if got := s.Spread(); math.Abs(got-2./3) > 1e-9 {
		t.Errorf("spread %v, want 2/3", got)
	}
	if got := s.Per(nil); got != nil {
		t.Errorf("what was not measured is %v", got)
	}
}

// TestSpeed has its own answers judged, and measures what it is told to.
func TestSpeed(t *testing.T) {
	calls := 0
	metrics, wrong := Speed(1, time.Millisecond, []Pass{func(n int) int {
		calls += n
		return n
	}})
	if calls == 0 || wrong == 0 || metrics[Nanoseconds] <= 0 {
		t.Errorf("%d calls, %d wrong, %v", calls, wrong, metrics)
	}
	counts := [2]int{}
	if _, wrong := Once(2, 1000, []Pass{count(&counts[0]), count(&counts[1])}); counts != [2]int{1000, 1000} || wrong != 0 {
		t.Errorf("calls %v, want 1000 each; %d wrong", counts, wrong)
	}
}

func count(calls *int) Pass {
	return func(n int) int {
		*calls += n
		return 0
	}
}

// TestPlan shows that contenders take turns in an order that changes, and that
// numbers stand at the right ones.
func TestPlan(t *testing.T) {
	t.Parallel()
	var turns []string
	plan := Plan{
		Rounds: 2, Contenders: []string{"a", "b"}, Progress: func(string) {},
		Steps: []Step{
			{As: "all", Order: Order{Keys: 1}},
			{As: "some", Order: Order{Keys: 2}, Skips: func(name string) bool { return name == "a" }},
			{Order: Order{Keys: 3}},
		},
		Start: func(name string) (Session, error) { return &noting{name: name, to: &turns}, nil },
	}
	var r Results
	if err := plan.Run(&r); err != nil {
		t.Fatal(err)
	}
	want := []string{"a1", "b1", "b2", "a3", "b3", "b1", "a1", "b2", "b3", "a3"}
	if len(turns) != len(want) {
		t.Fatalf("turns %v, want %v", turns, want)
	}
	for i := range want {
		if turns[i] != want[i] {
			t.Fatalf("turns %v, want %v", turns, want)
		}
	}
	if got := r.Contenders("all"); len(got) != 2 || got[0] != "a" {
		t.Errorf("contenders %v, want a and b", got)
	}
	if got := r.Of("some", "b", "keys"); len(got) != 2 || got.Median() != 2 {
		t.Errorf("b's keys: %v", got)
	}
	if got := r.Of("some", "a", "keys"); got != nil {
		t.Errorf("a was left out and has %v", got)
	}
}

// noting is a session that notes when it was told what.
type noting struct {
	name string
	to   *[]string
}

func (n *noting) Do(o Order) (map[string]float64, error) {
	*n.to = append(*n.to, n.name+string(rune('0'+o.Keys)))
	return map[string]float64{"keys": float64(o.Keys)}, nil
}

func (*noting) Close() error { return nil }
