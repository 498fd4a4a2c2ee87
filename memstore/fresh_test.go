package memstore

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

// TestFresh charges new keys, whose limit others have, in all ways, and
// compares with the state machine what is answered and what is left behind. A
// limit goes with the last key that has it.
func TestFresh(t *testing.T) {
	random := rand.New(rand.NewPCG(10, 11))
	for _, a := range algorithms {
		l := limitOf(a, 20, 10*time.Second)
		for _, mode := range []ratelimit.Mode{ratelimit.ModeEnforce, ratelimit.ModeShadow, ratelimit.ModePeek, ratelimit.ModeForce} {
			s, clock := openSteady(1000)
			var keys []ratelimit.Key
			for i := range 500 {
				clock.advance(time.Duration(random.IntN(20)) * time.Millisecond)
				c, now := as(mode, on(name(i), l, random.Int64N(25))), clock.us.Load()
				var state algorithm.State
				var want ratelimit.Result
				algorithm.Apply(actions[mode], &state, now, &l, c.Cost, &want)
				if got := take(t, s, c)[0]; !reflect.DeepEqual(got, want) {
					t.Fatalf("%v, %v, cost %d: %+v, want %+v", a, mode, c.Cost, got, want)
				}
				want = algorithm.Look(state, now, l, 0)
				if got := left(t, s, c); got != want.Remaining {
					t.Fatalf("%v, %v, cost %d: %d left, want %d", a, mode, c.Cost, got, want.Remaining)
				}
				keys = append(keys, c.Key())
			}
			held, _ := heldKeys(t, s)
			if mode == ratelimit.ModePeek != (held == 0) {
				t.Errorf("%v, %v: %d keys held", a, mode, held)
			}
			if err := s.Reset(t.Context(), keys); err != nil {
				t.Fatal(err)
			}
			if n := len(s.table.Load().shards[0].limits.number); n != 0 {
				t.Errorf("%v, %v: %d limits are held for no key", a, mode, n)
			}
		}
	}
}
