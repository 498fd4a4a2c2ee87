package memstore

import (
	"fmt"
	"testing"
	"time"
)

// TestPlaceOfAnother has a newcomer take the place of a key that the same Take
// charges after him: that key is then a newcomer too, and must neither take
// the place of a blocked client nor go uncounted.
func TestPlaceOfAnother(t *testing.T) {
	for _, a := range algorithms {
		for _, maxKeys := range []int{1, 2, 20, 49, 200} {
			t.Run(fmt.Sprint(a, "/", maxKeys), func(t *testing.T) {
				for range 10 {
					s, _ := open(maxKeys)
					blocked := limitOf(a, 2, time.Hour)
					for i := range maxKeys - 1 {
						admit(t, s, on(name(i), blocked, 2))
					}
					known, newcomer := on("known", limitOf(a, 100, time.Hour), 1), on("newcomer", limitOf(a, 10, time.Minute), 1)
					admit(t, s, known)
					for i, r := range take(t, s, newcomer, known) {
						if !r.Allowed {
							t.Fatalf("charge %d: %+v, want it admitted", i, r)
						}
					}
					if got := left(t, s, known); got > 99 {
						t.Fatalf("%d of 100 left after a charge of 1", got)
					}
					for i := range maxKeys - 1 {
						deny(t, s, on(name(i), blocked, 1))
					}
					heldKeys(t, s)
				}
			})
		}
	}
}
