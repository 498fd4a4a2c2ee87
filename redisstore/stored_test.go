package redisstore

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/redisstore/redistest"
)

// five are one limit of each algorithm.
func five(quota int64, window time.Duration) []ratelimit.Limit {
	return []ratelimit.Limit{
		ratelimit.FixedWindow(quota, window), ratelimit.SlidingWindow(quota, window), ratelimit.SlidingLog(quota, window),
		ratelimit.TokenBucket(quota, window, quota), ratelimit.LeakyBucket(quota, window, quota-1),
	}
}

func (s *Store) keyOf(c ratelimit.Charge) string {
	return string(s.keys.append(nil, c.Policy, c.Partition, c.Limit.Algorithm, c.Limit.Window))
}

// TestEveryKeyExpires checks in real time that no key is kept longer than two
// seconds after it is as good as new, nor less long.
func TestEveryKeyExpires(t *testing.T) {
	server := redistest.Start(t)
	client := server.Client()
	s := open(t, server.Client())
	ctx := context.Background()
	for _, window := range []time.Duration{time.Millisecond, 1500 * time.Millisecond, 10 * time.Second, 24 * time.Hour, ratelimit.MaxWindow} {
		for _, l := range five(50, window) {
			for _, mode := range []ratelimit.Mode{ratelimit.ModeEnforce, ratelimit.ModeForce} {
				c := charge(fmt.Sprint(window, mode), l, 7)
				c.Mode = mode
				r := take(t, s, c)[0]
				expires, err := client.PExpireTime(ctx, s.keyOf(c)).Result()
				if err != nil {
					t.Fatal(err)
				}
				if expires == -2*time.Millisecond || expires == -2 {
					if window > time.Second {
						t.Errorf("%v per %v: the key is gone", l.Algorithm, window)
					}
					continue
				}
				good := r.At + r.ResetAfter.Microseconds()
				if over := expires.Microseconds() - good; over < 0 || over > 2_000_000 {
					t.Errorf("%v per %v, mode %d: the key expires %d µs after it is as good as new", l.Algorithm, window, mode, over)
				}
			}
		}
	}
	redistest.Eventually(t, "keys with short windows are gone", func() bool {
		keys, err := client.Keys(ctx, "*").Result()
		for _, key := range keys {
			if strings.Contains(key, "1000us") || strings.Contains(key, "1500000us") {
				return false
			}
		}
		return err == nil
	})
}

// TestNothingIsLeft checks that what is as good as new again takes no memory.
func TestNothingIsLeft(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, server.Client())
	ctx := context.Background()
	for _, l := range five(10, time.Hour) {
		given := charge("given back", l, 3)
		r := take(t, s, given)[0]
		err := s.Adjust(ctx, []ratelimit.Adjustment{{Policy: given.Policy, Partition: given.Partition, Limit: l, At: r.At, Cost: 3}})
		if err != nil {
			t.Fatal(err)
		}
		gone := charge("reset", l, 3)
		take(t, s, gone)
		if err := s.Reset(ctx, []ratelimit.Key{gone.Key()}); err != nil {
			t.Fatal(err)
		}
		look := charge("looked at", l, 0)
		take(t, s, look)
		look.Cost, look.Mode = 1, ratelimit.ModePeek
		take(t, s, look)
		denied := charge("denied", l, 11)
		take(t, s, denied)
		unknown := ratelimit.Adjustment{Policy: "policy", Partition: "unknown", Limit: l, At: r.At, Cost: 3}
		if err := s.Adjust(ctx, []ratelimit.Adjustment{unknown}); err != nil {
			t.Fatal(err)
		}
	}
	// Buckets drain while they are given back: part of a unit may be left.
	if keys := server.Do("KEYS", "*").([]any); len(keys) > 2 {
		t.Errorf("left: %v", keys)
	}
}

// TestSpoiltValues puts something else in the place of a count: it is read as
// fresh and written anew, with an expiry.
func TestSpoiltValues(t *testing.T) {
	server := redistest.Start(t)
	client := server.Client()
	s := open(t, server.Client())
	ctx := context.Background()
	for _, l := range five(10, time.Hour) {
		for name, spoil := range map[string]func(key string) error{
			"a number":        func(key string) error { return client.Set(ctx, key, 7, 0).Err() },
			"empty":           func(key string) error { return client.Set(ctx, key, "", time.Hour).Err() },
			"text":            func(key string) error { return client.Set(ctx, key, strings.Repeat("text ", 10), 0).Err() },
			"text of 14":      func(key string) error { return client.Set(ctx, key, strings.Repeat("x", 14), 0).Err() },
			"text of 20":      func(key string) error { return client.Set(ctx, key, strings.Repeat("x", 20), 0).Err() },
			"text of 21":      func(key string) error { return client.Set(ctx, key, strings.Repeat("x", 21), 0).Err() },
			"bytes 255 of 14": func(key string) error { return client.Set(ctx, key, strings.Repeat("\xff", 14), 0).Err() },
			"bytes 255 of 20": func(key string) error { return client.Set(ctx, key, strings.Repeat("\xff", 20), 0).Err() },
			"a list":          func(key string) error { return client.RPush(ctx, key, "x").Err() },
			"a hash":          func(key string) error { return client.HSet(ctx, key, "x", "y").Err() },
		} {
			c := charge(name, l, 3)
			if err := spoil(s.keyOf(c)); err != nil {
				t.Fatal(err)
			}
			for want := int64(7); want >= 4; want -= 3 {
				if r := take(t, s, c)[0]; !r.Allowed || r.Remaining != want {
					t.Errorf("%v, %s: allowed %t, %d remaining, want %d", l.Algorithm, name, r.Allowed, r.Remaining, want)
				}
			}
			if ttl := client.PTTL(ctx, s.keyOf(c)).Val(); ttl <= 0 {
				t.Errorf("%v, %s: expiry %v", l.Algorithm, name, ttl)
			}
		}
	}
}

// TestLostExpiry takes a count's expiry away: a request that is admitted
// writes it anew, and one that would be denied, by a count that may be for
// ever, is not.
func TestLostExpiry(t *testing.T) {
	server := redistest.Start(t)
	client := server.Client()
	s := open(t, server.Client())
	ctx := context.Background()
	for _, l := range five(10, time.Hour) {
		c := charge("client", l, 5)
		healed := func(what string) {
			t.Helper()
			if ttl := client.PTTL(ctx, s.keyOf(c)).Val(); ttl <= 0 {
				t.Errorf("%v, %s: expiry %v", l.Algorithm, what, ttl)
			}
		}
		take(t, s, c)
		client.Persist(ctx, s.keyOf(c))
		take(t, s, c)
		healed("admitted")
		client.Persist(ctx, s.keyOf(c))
		if r := take(t, s, c)[0]; !r.Allowed || r.Remaining != 5 {
			t.Errorf("%v: allowed %t, %d remaining by a count without expiry, want it read as fresh", l.Algorithm, r.Allowed, r.Remaining)
		}
		healed("would be denied")
		take(t, s, c)
		client.Persist(ctx, s.keyOf(c))
		if both := take(t, s, charge("beside", l, 1), c); !both[1].Allowed {
			t.Errorf("%v: denied with another by a count without expiry", l.Algorithm)
		}
	}
}

// TestBytesPerKey measures what a count takes in Redis above the same key
// holding the integer 1 with an expiry.
func TestBytesPerKey(t *testing.T) {
	server := redistest.Start(t)
	client := server.Client()
	s := open(t, server.Client())
	ctx := context.Background()
	memory := func(key string) int64 {
		t.Helper()
		n, err := client.MemoryUsage(ctx, key).Result()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	most := map[ratelimit.Algorithm]int64{
		ratelimit.AlgorithmFixedWindow: 32, ratelimit.AlgorithmTokenBucket: 32, ratelimit.AlgorithmLeakyBucket: 32,
		ratelimit.AlgorithmSlidingWindow: 48, ratelimit.AlgorithmSlidingLog: 48,
	}
	for _, l := range five(1_000_000, time.Hour) {
		c := charge("ip:192.0.2.1", l, 1)
		take(t, s, c)
		key := s.keyOf(c)
		used := memory(key)
		client.Set(ctx, key, 1, time.Hour)
		above := used - memory(key)
		t.Logf("%v: %d bytes above an integer", l.Algorithm, above)
		if above > most[l.Algorithm] {
			t.Errorf("%v: %d bytes above an integer, want at most %d", l.Algorithm, above, most[l.Algorithm])
		}
	}
	log := charge("log", ratelimit.SlidingLog(1000, time.Hour), 1)
	for range 1000 {
		take(t, s, log)
	}
	used := memory(s.keyOf(log))
	t.Logf("a log of 1000 entries: %d bytes", used)
	if used > 20<<10 {
		t.Errorf("a log of 1000 entries: %d bytes, want at most 20 KB", used)
	}
}

// TestLeastPrivileges works with a user who may do what the documentation
// lists and nothing else.
func TestLeastPrivileges(t *testing.T) {
	server := redistest.Start(t)
	server.Do("ACL", "SETUSER", "limiter", "reset", "on", ">secret", "~fg:*", "resetchannels",
		"-@all", "+hello", "+evalsha", "+eval", "+time", "+mget", "+set", "+del", "+pttl")
	admin := server.Client()
	// Redis 7.0 does not know it yet, and refuses what the client tries.
	setInfo := admin.Do(context.Background(), "ACL", "SETUSER", "limiter", "+client|setinfo").Err() == nil
	server.Do("ACL", "LOG", "RESET")
	client := redis.NewClient(&redis.Options{Addr: server.Addr, Username: "limiter", Password: "secret"})
	s := open(t, client, WithPrefix(DefaultPrefix))
	ctx := context.Background()
	for _, l := range five(2, time.Hour) {
		c := charge("client", l, 1)
		r := take(t, s, c)[0]
		take(t, s, c, c)
		take(t, s, c)
		if err := s.Adjust(ctx, []ratelimit.Adjustment{{Policy: c.Policy, Partition: c.Partition, Limit: l, At: r.At, Cost: 1}}); err != nil {
			t.Fatal(err)
		}
		if err := s.Reset(ctx, []ratelimit.Key{c.Key()}); err != nil {
			t.Fatal(err)
		}
	}
	for _, entry := range server.Do("ACL", "LOG").([]any) {
		if text := fmt.Sprint(entry); setInfo || !strings.Contains(text, "object:client") && !strings.Contains(text, "object client") {
			t.Errorf("refused: %s", text)
		}
	}
}
