package memstore

import (
	"fmt"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// A flood fills the store with keys that are at their limits. Newcomers are
// then limited together, and none of them is blocked for what the others do.
func TestNewcomersAreNotBlocked(t *testing.T) {
	const most = 5000
	now := time.UnixMicro(1_800_000_000_000_000)
	s := New(WithMaxKeys(most), WithClock(func() time.Time { return now }))
	for i := range most {
		limit := ratelimit.PerHour(1)
		if i%50 == 0 {
			limit = ratelimit.PerHour(10) // a few who could make way
		}
		take(t, s, ratelimit.Charge{Policy: "flooded", Partition: ratelimit.Partition(fmt.Sprint("flood", i)), Limit: limit, Cost: 1})
	}
	block, err := ratelimit.Penalty{Base: time.Hour}.Limit()
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for i := range 3000 {
		c := ratelimit.Charge{Policy: "login", Partition: ratelimit.Partition(fmt.Sprint("client", i)), Limit: ratelimit.PerHour(5), Cost: 1}
		guard := c
		guard.Limit, guard.Mode = block, ratelimit.ModePenalty
		r := take(t, s, c, guard)
		if !r[1].Allowed {
			t.Fatalf("newcomer %d is blocked with his first request: %+v", i, r)
		}
		if !r[0].Allowed {
			refused++
		}
	}
	if refused == 0 {
		t.Error("no newcomer was refused: the store was not full")
	}
}

// At the cap a key that blocks is kept, whatever comes.
func TestFloodFreesNobodyWhoIsBlocked(t *testing.T) {
	now := time.UnixMicro(1_800_000_000_000_000)
	s := New(WithMaxKeys(1000), WithClock(func() time.Time { return now }))
	block, err := ratelimit.Penalty{Base: time.Hour}.Limit()
	if err != nil {
		t.Fatal(err)
	}
	guarded := func(i int, cost int64) []ratelimit.Charge {
		c := ratelimit.Charge{Policy: "login", Partition: ratelimit.Partition(fmt.Sprint("client", i)), Limit: ratelimit.PerHour(5), Cost: cost}
		guard := c
		guard.Limit, guard.Cost, guard.Mode = block, 1, ratelimit.ModePenalty
		return []ratelimit.Charge{c, guard}
	}
	for i := range 100 {
		if r := take(t, s, guarded(i, 6)...); r[1].Allowed {
			t.Fatalf("client %d is not blocked: %+v", i, r)
		}
	}
	for i := range 50_000 {
		take(t, s, ratelimit.Charge{Policy: "flooded", Partition: ratelimit.Partition(fmt.Sprint("flood", i)), Limit: ratelimit.PerHour(10), Cost: 1})
	}
	for i := range 100 {
		if r := take(t, s, guarded(i, 1)...); r[1].Allowed {
			t.Errorf("a flood has freed client %d", i)
		}
	}
}
