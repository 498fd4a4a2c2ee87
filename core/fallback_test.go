package ratelimit

import (
	"math"
	"testing"
	"time"
)

func TestDividedBy(t *testing.T) {
	const year = 366 * 24 * time.Hour
	for _, c := range []struct {
		whole    Limit
		replicas int64
		want     Limit
	}{
		{PerMinute(100), 1, PerMinute(100)},
		{PerMinute(100), 3, PerMinute(33)},
		{PerMinute(2), 3, PerMinute(1)},
		{PerMinute(0), 3, PerMinute(0)},
		{TokenBucket(100, time.Hour, 50), 3, TokenBucket(33, time.Hour, 16)},
		{TokenBucket(100, time.Hour, 2), 3, TokenBucket(33, time.Hour, 1)},
		{TokenBucket(0, time.Hour, 9), 3, TokenBucket(0, time.Hour, 3)},
		{LeakyBucket(10, time.Second, 4), 3, LeakyBucket(3, time.Second, 1)},
		{LeakyBucket(10, time.Second, 0), 3, LeakyBucket(3, time.Second, 0)},
		// The share of the burst alone would take 50 s, ages and 199 years.
		{LeakyBucket(5, 10*time.Second, 15), 3, LeakyBucket(1, 10*time.Second, 3)},
		{LeakyBucket(MaxQuota-1, time.Minute, MaxQuota/2-1), math.MaxInt64, LeakyBucket(1, time.Minute, 0)},
		{TokenBucket(199, year, 19900), 100, TokenBucket(1, year, 100)},
	} {
		got := c.whole.dividedBy(c.replicas)
		if got != c.want {
			t.Errorf("%v by %d = %v, want %v", c.whole, c.replicas, got, c.want)
		}
		if err := got.Validate(); err != nil || got.LongestWait() > maxWait {
			t.Errorf("%v by %d = %v: %v, longest wait %v", c.whole, c.replicas, got, err, got.LongestWait())
		}
	}
}
