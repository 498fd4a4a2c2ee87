package redisstore

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/storetest"
	"github.com/go-floodgate/floodgate/redisstore/internal/redistest"
)

var prefixes atomic.Int64

// freshPrefix is a prefix that no other store of this process has.
func freshPrefix() string { return fmt.Sprintf("t%d:", prefixes.Add(1)) }

func TestConformance(t *testing.T) {
	server := redistest.Start(t)
	t.Run("standalone", func(t *testing.T) {
		conform(t, func(testing.TB) redis.UniversalClient {
			return redis.NewClient(&redis.Options{Addr: server.Addr})
		})
	})
	t.Run("cluster", func(t *testing.T) {
		cluster := redistest.StartCluster(t, 0)
		conform(t, func(testing.TB) redis.UniversalClient { return clusterClient(cluster) })
	})
	t.Run("sentinel", func(t *testing.T) {
		sentinel := redistest.StartSentinel(t)
		conform(t, func(testing.TB) redis.UniversalClient {
			return redis.NewFailoverClient(&redis.FailoverOptions{MasterName: redistest.MasterName, SentinelAddrs: []string{sentinel.Addr}})
		})
	})
}

// conform runs the suite on stores that connect by dial, each with keys of its
// own.
func conform(t *testing.T, dial func(testing.TB) redis.UniversalClient, options ...Option) {
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
	storetest.Run(t, storetest.Harness{
		New: func(t testing.TB, clock *storetest.Clock) ratelimit.Store {
			return open(t, freshPrefix(), clock)
		},
		Share: func(t testing.TB, store ratelimit.Store, clock *storetest.Clock) ratelimit.Store {
			return open(t, store.(*Store).keys.prefix, clock)
		},
	})
}
