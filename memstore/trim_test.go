package memstore

import (
	"testing"
	"testing/synctest"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// TestLooksDropWhatHasLeft sees that entries which have left a log are passed
// over once, by a look or a denial, and not by every one until the next
// request is admitted.
func TestLooksDropWhatHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New()
		limit := ratelimit.SlidingLog(1000, time.Minute)
		take := func(cost int64, mode ratelimit.Mode) ratelimit.Result {
			t.Helper()
			results := make([]ratelimit.Result, 1)
			charges := []ratelimit.Charge{{Policy: "p", Partition: "k", Limit: limit, Cost: cost, Mode: mode}}
			if err := s.Take(t.Context(), charges, results); err != nil {
				t.Fatal(err)
			}
			return results[0]
		}
		held := func() int64 {
			table := s.table.Load()
			c := ratelimit.Charge{Policy: "p", Partition: "k", Limit: limit}
			sh, fraction := table.place(table.tag(&c))
			e := sh.find(table.tag(&c), fraction)
			state := sh.state(e, 0)
			return state.Level
		}
		for range 1000 {
			take(1, ratelimit.ModeEnforce)
			time.Sleep(10 * time.Millisecond) // the last at 9.99 s
		}
		time.Sleep(55 * time.Second) // 65 s: 500 have left
		if r := take(1000, ratelimit.ModeEnforce); r.Allowed || r.Remaining != 501 {
			t.Errorf("a cost of all: %+v", r)
		}
		if got := held(); got != 499 {
			t.Errorf("after a denial the log holds %d units, want the 499 in view", got)
		}
		time.Sleep(time.Second)
		if r := take(0, ratelimit.ModePeek); r.Remaining != 601 {
			t.Errorf("a look: %+v", r)
		}
		if got := held(); got != 399 {
			t.Errorf("after a look the log holds %d units, want the 399 in view", got)
		}
	})
}
