package memstore

import (
	"testing"
	"testing/synctest"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// TestOwnClock: the clock is the wall's at New and goes on by itself.
func TestOwnClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(1234567 * time.Microsecond)
		s := New()
		c := on("client", limitOf(ratelimit.AlgorithmTokenBucket, 1, time.Second), 1)
		if r := admit(t, s, c); r.At != time.Now().UnixMicro() {
			t.Errorf("at %d, want %d", r.At, time.Now().UnixMicro())
		}
		time.Sleep(time.Second - time.Microsecond)
		if r := deny(t, s, c); r.RetryAfter != time.Microsecond {
			t.Errorf("%+v a microsecond early", r)
		}
		time.Sleep(time.Microsecond)
		if r := admit(t, s, c); r.At != time.Now().UnixMicro() {
			t.Errorf("at %d, want %d", r.At, time.Now().UnixMicro())
		}
	})
}

// TestClockOutOfRange has a clock no state can hold; it must not be mistaken
// for anything else.
func TestClockOutOfRange(t *testing.T) {
	for _, at := range []time.Time{time.UnixMicro(-1 << 62), {}, time.UnixMicro(-1), time.UnixMicro(0), time.UnixMicro(1 << 62), time.UnixMicro(1<<63 - 1)} {
		s := New(WithClock(func() time.Time { return at }))
		for _, a := range algorithms {
			c := on("client", limitOf(a, 2, ratelimit.MaxWindow), 1)
			admit(t, s, c)
			admit(t, s, c)
			if r := deny(t, s, c); r.Remaining != 0 || r.RetryAfter <= 0 {
				t.Errorf("%v at %v: %+v", a, at, r)
			}
		}
	}
}

func TestNilClockIsOwn(t *testing.T) {
	s := New(WithClock(nil))
	before := time.Now().UnixMicro()
	if r := admit(t, s, on("client", ratelimit.PerMinute(1), 1)); r.At < before-1 || !s.clock.steady {
		t.Errorf("at %d, want the time, %d", r.At, before)
	}
}
