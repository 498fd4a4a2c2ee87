package redisstore

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/redisstore/redistest"
)

func TestOpen(t *testing.T) {
	for address, want := range map[string]string{
		"redis://localhost:6379/3":                        "single",
		"localhost:6379":                                  "single",
		"rediss://user:pass@localhost:6379":               "single",
		"unix:///var/run/redis.sock?db=1":                 "single",
		"redis://:pass@a:1,b:2,c:3":                       "cluster",
		"a:1,b:2":                                         "cluster",
		"redis://a:1,b:2?master_name=primary&pool_size=3": "single",
		"redis://a:1?master_name=primary":                 "single",
		"":                                                "address is empty",
		"http://localhost":                                "invalid URL scheme: http: use a URL such as redis://",
		"nonsense":                                        "neither a URL nor host:port: use a URL such as",
		"redis://:very-secret@local host:1":               "invalid character",
		"redis://:very-secret@localhost:port":             "invalid port",
		"redis://localhost:6379/0?no_such_setting=1":      "no_such_setting",
		"redis://:very-secret@a:1,b:2/?no_such_setting=1": "no_such_setting",
	} {
		s, err := Open(address)
		if err != nil {
			if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "very-secret") {
				t.Errorf("Open(%q): %v, want %s", address, err, want)
			}
			continue
		}
		got := "single"
		if s.router.cluster != nil {
			got = "cluster"
		}
		if got != want {
			t.Errorf("Open(%q): %s, want %s", address, got, want)
		}
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
}

func TestOptions(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "localhost:1"})
	defer client.Close()
	for name, c := range map[string]struct {
		client redis.UniversalClient
		option Option
	}{
		"nil client":      {nil, WithPrefix("x")},
		"typed nil":       {(*redis.Client)(nil), WithPrefix("x")},
		"nil option":      {client, nil},
		"brace":           {client, WithPrefix("a{b")},
		"short secret":    {client, WithHashedKeys([]byte("short"))},
		"no budget":       {client, WithBudget(0)},
		"negative age":    {client, WithDenialCache(-1, 1)},
		"lease of nobody": {client, WithLease("", 1)},
		"lease of none":   {client, WithLease("policy", 0)},
	} {
		_, err := newStore(c.client, []Option{c.option})
		if err == nil || !strings.HasPrefix(err.Error(), "redisstore: ") {
			t.Errorf("%s: error %v", name, err)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: New did not panic", name)
				}
			}()
			New(c.client, c.option)
		}()
	}
}

// TestKeys fixes what keys look like: they outlive versions.
func TestKeys(t *testing.T) {
	plain := keyCoder{prefix: DefaultPrefix}
	secret := keyCoder{prefix: "x:", secret: []byte("sixteen bytes or more")}
	for _, c := range []struct {
		coder             keyCoder
		policy, partition string
		limit             ratelimit.Limit
		want              string
	}{
		{plain, "per-ip", "ip:192.0.2.1", ratelimit.PerMinute(5), "fg:{ip:192.0.2.1}sw60s:per-ip"},
		{plain, "a {b}:c", "user:x", ratelimit.FixedWindow(5, 1500*time.Millisecond), "fg:{user:x}fw1500000us:#"},
		{plain, "p", "", ratelimit.SlidingLog(5, time.Second), "fg:{#47DEQpj8HBSa-_TImW-5JA}sl1s:p"},
		{plain, "p", "x}y", ratelimit.TokenBucket(5, time.Second, 1), "fg:{#"},
		{plain, "p", "#47DEQpj8HBSa-_TImW-5JA", ratelimit.LeakyBucket(5, time.Second, 1), "fg:{#"},
		{plain, strings.Repeat("p", 65), strings.Repeat("x", 161), ratelimit.PerSecond(1), "fg:{#"},
		{secret, "p", "ip:192.0.2.1", ratelimit.PerSecond(1), "x:{#"},
	} {
		key := string(c.coder.append(nil, c.policy, ratelimit.Partition(c.partition), c.limit.Algorithm, c.limit.Window))
		if !strings.HasPrefix(key, c.want) || len(key) > 120 {
			t.Errorf("policy %q, partition %q: key %q, want %q", c.policy, c.partition, key, c.want)
		}
		if strings.Count(key, "{") != 1 || strings.Count(key, "}") != 1 {
			t.Errorf("policy %q, partition %q: key %q has more than one tag", c.policy, c.partition, key)
		}
	}
	if one, two := plain.append(nil, "p", "", 1, 1), plain.append(nil, "p", "#47DEQpj8HBSa-_TImW-5JA", 1, 1); bytes.Equal(one, two) {
		t.Errorf("a partition that looks like a hash has another's key %q", one)
	}
}

// TestHashedKeys finds nothing of a client in Redis.
func TestHashedKeys(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, server.Client(), WithHashedKeys([]byte("0123456789abcdef")))
	for _, l := range five(10, time.Hour) {
		c := charge("ip:192.0.2.1", l, 4)
		take(t, s, c)
		if n := left(t, s, "ip:192.0.2.1", l); n != 6 {
			t.Errorf("%v: %d left, want 6", l.Algorithm, n)
		}
		if err := s.Reset(context.Background(), []ratelimit.Key{c.Key()}); err != nil {
			t.Fatal(err)
		}
		take(t, s, c)
	}
	for _, key := range server.Do("KEYS", "*").([]any) {
		if strings.Contains(key.(string), "192.0.2.1") {
			t.Errorf("an address in clear: %q", key)
		}
	}
}

func TestErrorKind(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{ErrTimeout, "timeout"},
		{ErrBreakerOpen, "breaker"},
		{ErrClosed, "closed"},
		{ErrOverloaded, "overloaded"},
		{redis.ErrClosed, "other"},
		{errors.New("x"), "other"},
	} {
		if got := ErrorKind(c.err); got != c.want {
			t.Errorf("ErrorKind(%v) = %q, want %q", c.err, got, c.want)
		}
	}
}
