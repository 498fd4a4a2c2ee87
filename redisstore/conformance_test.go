package redisstore

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/storetest"
	"github.com/go-floodgate/floodgate/redisstore/redistest"
)

var prefixes atomic.Int64

// freshPrefix is a prefix that no other store of this process has.
func freshPrefix() string { return fmt.Sprintf("t%d:", prefixes.Add(1)) }

func TestConformance(t *testing.T) {
	server := redistest.Start(t)
	standalone := dialer(server)
	t.Run("standalone", func(t *testing.T) { conform(t, standalone, true, WithDenialCache(0, 0)) })
	// What another instance resets is seen with a delay, by a clock that does
	// not stand still: see TestDenialCacheForgets.
	t.Run("denial cache", func(t *testing.T) { conform(t, standalone, false) })
	t.Run("interruptible", func(t *testing.T) {
		conform(t, func(testing.TB) redis.UniversalClient {
			return redis.NewClient(Interruptible(&redis.Options{Addr: server.Addr, ReadTimeout: time.Hour, WriteTimeout: time.Hour}))
		}, true, WithDenialCache(0, 0))
	})
	t.Run("cluster", func(t *testing.T) {
		cluster := redistest.StartCluster(t, 0)
		conform(t, func(testing.TB) redis.UniversalClient {
			return redis.NewClusterClient(&redis.ClusterOptions{Addrs: cluster.Addrs(), ReadTimeout: time.Minute})
		}, true, WithDenialCache(0, 0))
	})
	t.Run("sentinel", func(t *testing.T) {
		sentinel := redistest.StartSentinel(t)
		conform(t, func(testing.TB) redis.UniversalClient {
			return redis.NewFailoverClient(&redis.FailoverOptions{MasterName: redistest.MasterName, SentinelAddrs: []string{sentinel.Addr}, ReadTimeout: time.Minute})
		}, true, WithDenialCache(0, 0))
	})
}

func dialer(server *redistest.Server) func(testing.TB) redis.UniversalClient {
	return func(testing.TB) redis.UniversalClient {
		return redis.NewClient(&redis.Options{Addr: server.Addr, ReadTimeout: time.Minute})
	}
}

// conform runs the suite on stores that connect by dial, each with keys of its
// own.
func conform(t *testing.T, dial func(testing.TB) redis.UniversalClient, share bool, options ...Option) {
	t.Helper()
	open := func(t testing.TB, prefix string, clock *storetest.Clock) ratelimit.Store {
		t.Helper()
		client := dial(t)
		store := New(client, append([]Option{WithPrefix(prefix), WithBudget(time.Minute), withClock(clock.Now)}, options...)...)
		t.Cleanup(func() {
			_ = store.Close()
			_ = client.Close()
		})
		return store
	}
	h := storetest.Harness{
		New: func(t testing.TB, clock *storetest.Clock) ratelimit.Store {
			return open(t, freshPrefix(), clock)
		},
	}
	if share {
		h.Share = func(t testing.TB, store ratelimit.Store, clock *storetest.Clock) ratelimit.Store {
			return open(t, store.(*Store).keys.prefix, clock)
		}
	}
	storetest.Run(t, h)
}
