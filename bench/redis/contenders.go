package main

import (
	"context"
	"fmt"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/redisstore"
)

// load is which keys are asked for, under which limit.
type load struct {
	keys  int
	rate  int64 // per second
	burst int64
	lease int64
}

var (
	roomy  = load{keys: 100_000, rate: 1_000_000, burst: 1_000_000}
	hot    = load{keys: 100, rate: 1_000_000, burst: 1_000_000}
	denied = load{keys: 1, rate: 0, burst: 1}
)

func (l load) leases(units int64) load {
	l.lease = units
	return l
}

// limit is what Floodgate is given; a denied load has one unit an hour.
func (l load) limit() ratelimit.Limit {
	if l.rate == 0 {
		return ratelimit.TokenBucket(1, time.Hour, l.burst)
	}
	return ratelimit.TokenBucket(l.rate, time.Second, l.burst)
}

func (l load) partitions() []string {
	keys := make([]string, l.keys)
	for i := range keys {
		keys[i] = fmt.Sprintf("ip:10.%d.%d.%d", i>>16, i>>8&255, i&255)
	}
	return keys
}

// at spreads decisions over the keys.
func at(i, keys int) int { return i * 7919 % keys }

func settings(address string) *redis.Options {
	return &redis.Options{Addr: address, PoolSize: 64}
}

func floodgate(name string, policies int, l load) func(string) (contender, error) {
	return func(address string) (contender, error) {
		client := redis.NewClient(redisstore.Interruptible(settings(address)))
		options := []redisstore.Option{redisstore.WithPrefix("bench:"), redisstore.WithBudget(time.Second)}
		names := []string{"first", "second", "third"}[:policies]
		if l.lease > 0 {
			options = append(options, redisstore.WithLease("first", l.lease))
		}
		store := redisstore.New(client, options...)
		partitions, limit := l.partitions(), l.limit()
		return contender{
			name: name,
			ask: func(ctx context.Context, i int) error {
				var charges [3]ratelimit.Charge
				var results [3]ratelimit.Result
				who := ratelimit.Partition(partitions[at(i, l.keys)])
				for p, policy := range names {
					charges[p] = ratelimit.Charge{Policy: policy, Partition: who, Limit: limit, Cost: 1}
				}
				return store.Take(ctx, charges[:policies], results[:policies])
			},
			close: func() {
				_ = store.Close()
				_ = client.Close()
			},
		}, nil
	}
}

func redisRate(policies int, l load) func(string) (contender, error) {
	return func(address string) (contender, error) {
		client := redis.NewClient(settings(address))
		limiter := redis_rate.NewLimiter(client)
		limit := redis_rate.Limit{Rate: int(l.rate), Burst: int(l.burst), Period: time.Second}
		if l.rate == 0 {
			limit = redis_rate.PerHour(1)
		}
		keys := make([][]string, policies)
		for p := range keys {
			for _, who := range l.partitions() {
				keys[p] = append(keys[p], fmt.Sprintf("%s:%d", who, p))
			}
		}
		name := "redis_rate"
		if policies > 1 {
			name = fmt.Sprintf("redis_rate x %d", policies)
		}
		return contender{
			name: name,
			ask: func(ctx context.Context, i int) error {
				for p := range keys {
					if _, err := limiter.Allow(ctx, keys[p][at(i, l.keys)], limit); err != nil {
						return err
					}
				}
				return nil
			},
			close: func() { _ = client.Close() },
		}, nil
	}
}

// gcra is the least a token bucket can be in Redis: one integer per key, the
// time at which it is full again, in microseconds, and a verdict.
const gcra = `
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local full = tonumber(redis.call('GET', KEYS[1])) or now
if full < now then full = now end
full = full + ARGV[1]
if full - now > tonumber(ARGV[2]) then return full - now - ARGV[2] end
redis.call('SET', KEYS[1], string.format('%d', full), 'PX', math.ceil((full - now) / 1000))
return 0`

// rueidisGCRA is rueidis, which pipelines by itself, with that script.
func rueidisGCRA(address string) (contender, error) {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{address}, DisableCache: true})
	if err != nil {
		return contender{}, err
	}
	script := rueidis.NewLuaScript(gcra)
	var keys []string
	for _, who := range roomy.partitions() {
		keys = append(keys, "gcra:"+who)
	}
	arguments := []string{"1", "1000000"} // a microsecond each, a million at once
	return contender{
		name: "rueidis",
		ask: func(ctx context.Context, i int) error {
			return script.Exec(ctx, client, []string{keys[at(i, roomy.keys)]}, arguments).Error()
		},
		close: client.Close,
	}, nil
}
