package memstore

import (
	"testing"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// TestBalance keeps a store at its cap with keys that come and, half of them,
// are reset at once, so that places wander from segment to segment. None may
// end up with so few keys that somebody has to be forgotten who has used more
// than the others.
func TestBalance(t *testing.T) {
	const maxKeys, quiet = 2000, 100
	for _, a := range algorithms {
		s, _ := open(maxKeys)
		l := limitOf(a, 5, time.Hour)
		for i := range quiet {
			admit(t, s, on(name(i), l, 2))
		}
		for i := range 60_000 {
			c := on(name(quiet+i), l, 1)
			admit(t, s, c)
			if i%2 == 0 && i > 2*maxKeys {
				if err := s.Reset(t.Context(), []ratelimit.Key{c.Key()}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if held, _ := heldKeys(t, s); held > maxKeys || held < maxKeys-1 {
			t.Errorf("%v: %d keys held, want %d", a, held, maxKeys)
		}
		for i := range s.table.Load().shards {
			for g := range s.table.Load().shards[i].all() {
				if g.count() < sparse/2 {
					t.Errorf("%v: a segment has %d keys left", a, g.count())
				}
			}
		}
		for i := range quiet {
			if got := peekLeft(t, s, on(name(i), l, 0)); got != 3 {
				t.Errorf("%v: client %d has %d left, want 3", a, i, got)
			}
		}
	}
}
