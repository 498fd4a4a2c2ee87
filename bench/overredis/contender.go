package overredis

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/redisstore"
)

// Load is which keys are asked for, under which limit.
type Load struct {
	Name  string
	Keys  int
	Quota int64 // and as many at once
	Per   time.Duration
}

// The loads: one that denies nothing on many keys and on few, and one that denies
// everything but the first request.
var (
	manyKeys  = Load{Name: "many", Keys: 100_000, Quota: 1_000_000, Per: time.Second}
	hotKeys   = Load{Name: "hot", Keys: 100, Quota: 1_000_000, Per: time.Second}
	deniedKey = Load{Name: "denied", Keys: 1, Quota: 1, Per: time.Hour}
)

// partitions are the keys, as short as an address.
func (l Load) partitions() []string {
	keys := make([]string, l.Keys)
	for i := range keys {
		keys[i] = fmt.Sprintf("ip:10.%d.%d.%d", i>>16, i>>8&255, i&255)
	}
	return keys
}

// at spreads requests over the keys.
func (l Load) at(i int) int { return i * 7919 % l.Keys }

// Limiter makes decision i of a load. It is asked from many goroutines.
type Limiter struct {
	Ask   func(ctx context.Context, i int) (allowed bool, err error)
	Close func()
}

// Contender is a row of the tables.
type Contender struct {
	Name string
	// Module is the path of the peer's module, empty for our own.
	Module string
	// New makes a limiter that uses the Redis at an address.
	New func(address string, l Load) (Limiter, error)
	// Floor says that it limits nothing.
	Floor bool
}

// Names of rows.
const (
	Ping      = "PING"
	Ours      = "Floodgate"
	Lease10   = "Floodgate, leases of 10"
	Lease100  = "Floodgate, leases of 100"
	RedisRate = "redis_rate"
	Rueidis   = "rueidis with a GCRA script"
)

// All are all contenders with one policy, and Three those with three.
func All() []Contender {
	return append([]Contender{
		{Name: Ping, Floor: true, New: ping},
		{Name: Ours, New: floodgate(1, 0)},
		{Name: Lease10, New: floodgate(1, 10)},
		{Name: Lease100, New: floodgate(1, 100)},
		{Name: RedisRate, Module: "github.com/go-redis/redis_rate/v10", New: redisRate(1)},
		{Name: Rueidis, Module: "github.com/redis/rueidis", New: rueidisGCRA},
	}, peers()...)
}

// Three are contenders that decide three policies for a request.
func Three() []Contender {
	return []Contender{
		{Name: Ping, Floor: true, New: ping},
		{Name: Ours, New: floodgate(3, 0)},
		{Name: RedisRate, Module: "github.com/go-redis/redis_rate/v10", New: redisRate(3)},
	}
}

// goRedis is the client that all but rueidis have, with as many connections as
// are of use here.
func goRedis(address string) *redis.Client { return redis.NewClient(settings(address)) }

func settings(address string) *redis.Options { return &redis.Options{Addr: address, PoolSize: 64} }

func ping(address string, _ Load) (Limiter, error) {
	client := goRedis(address)
	return Limiter{
		Ask:   func(ctx context.Context, _ int) (bool, error) { return true, client.Ping(ctx).Err() },
		Close: func() { _ = client.Close() },
	}, nil
}

// budget is so long that a busy machine is no failure.
const budget = time.Second

func floodgate(policies int, lease int64) func(string, Load) (Limiter, error) {
	return func(address string, l Load) (Limiter, error) {
		client := redis.NewClient(redisstore.Interruptible(settings(address)))
		names := []string{"first", "second", "third"}[:policies]
		options := []redisstore.Option{redisstore.WithPrefix("bench:"), redisstore.WithBudget(budget)}
		if lease > 0 {
			options = append(options, redisstore.WithLease(names[0], lease))
		}
		store := redisstore.New(client, options...)
		partitions, limit := l.partitions(), ratelimit.TokenBucket(l.Quota, l.Per, l.Quota)
		return Limiter{
			Ask: func(ctx context.Context, i int) (bool, error) {
				var charges [3]ratelimit.Charge
				var results [3]ratelimit.Result
				who := ratelimit.Partition(partitions[l.at(i)])
				for p, policy := range names {
					charges[p] = ratelimit.Charge{Policy: policy, Partition: who, Limit: limit, Cost: 1}
				}
				if err := store.Take(ctx, charges[:policies], results[:policies]); err != nil {
					return false, err
				}
				allowed := true
				for p := range policies {
					allowed = allowed && results[p].Allowed
				}
				return allowed, nil
			},
			Close: func() {
				_ = store.Close()
				_ = client.Close()
			},
		}, nil
	}
}

func redisRate(policies int) func(string, Load) (Limiter, error) {
	return func(address string, l Load) (Limiter, error) {
		client := goRedis(address)
		limiter := redis_rate.NewLimiter(client)
		limit := redis_rate.Limit{Rate: int(l.Quota), Burst: int(l.Quota), Period: l.Per}
		keys := make([][]string, policies)
		for p := range keys {
			for _, who := range l.partitions() {
				keys[p] = append(keys[p], fmt.Sprintf("%s:%d", who, p))
			}
		}
		return Limiter{
			Ask: func(ctx context.Context, i int) (bool, error) {
				allowed := true
				for p := range keys {
					answer, err := limiter.Allow(ctx, keys[p][l.at(i)], limit)
					if err != nil {
						return false, err
					}
					allowed = allowed && answer.Allowed > 0
				}
				return allowed, nil
			},
			Close: func() { _ = client.Close() },
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
func rueidisGCRA(address string, l Load) (Limiter, error) {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{address}, DisableCache: true})
	if err != nil {
		return Limiter{}, err
	}
	script := rueidis.NewLuaScript(gcra)
	var keys []string
	for _, who := range l.partitions() {
		keys = append(keys, "gcra:"+who)
	}
	unit := l.Per.Microseconds() / l.Quota
	arguments := []string{strconv.FormatInt(unit, 10), strconv.FormatInt(unit*l.Quota, 10)}
	return Limiter{
		Ask: func(ctx context.Context, i int) (bool, error) {
			wait, err := script.Exec(ctx, client, []string{keys[l.at(i)]}, arguments).AsInt64()
			return wait == 0, err
		},
		Close: client.Close,
	}, nil
}
