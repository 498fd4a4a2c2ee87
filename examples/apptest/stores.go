package apptest

import (
	"sync/atomic"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/memstore"
	"github.com/go-floodgate/floodgate/redisstore"
	"github.com/go-floodgate/floodgate/redisstore/redistest"
)

// Store is a store that every server is run on.
type Store struct {
	Name string
	// New returns an empty store that is closed by t's cleanup.
	New func(t testing.TB, clock *Clock) ratelimit.Store
	// Clocked is whether the store reads the clock it is given, so that its
	// answers can be told to the microsecond. What is run on a store with a
	// clock of its own depends on no window's edge.
	Clocked bool
}

// Stores are all of them.
var Stores = []Store{
	{Name: "memstore", Clocked: true, New: func(_ testing.TB, clock *Clock) ratelimit.Store {
		return memstore.New(memstore.WithClock(clock.Now))
	}},
	{Name: "redisstore", New: func(t testing.TB, _ *Clock) ratelimit.Store {
		// What is tested is no race against the clock of a busy machine.
		store, err := redisstore.Open("redis://"+redistest.Start(t).Addr, redisstore.WithBudget(10*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := store.Close(); err != nil {
				t.Errorf("closing the store: %v", err)
			}
		})
		return store
	}},
}

// Clock stands still until it is moved. It is safe for concurrent use.
type Clock struct{ micros atomic.Int64 }

// noon is where every clock starts: ten seconds past noon, ten seconds into a
// minute, an hour and the second half of a day.
var noon = time.Date(2027, time.January, 15, 12, 0, 10, 0, time.UTC)

func newClock() *Clock {
	c := new(Clock)
	c.micros.Store(noon.UnixMicro())
	return c
}

// Now is the clock's time.
func (c *Clock) Now() time.Time { return time.UnixMicro(c.micros.Load()) }

func (c *Clock) advance(d time.Duration) { c.micros.Add(d.Microseconds()) }
