package overredis

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/go-chi/httprate"
	httprateredis "github.com/go-chi/httprate-redis"
	"github.com/throttled/throttled/v2"
	throttledstore "github.com/throttled/throttled/v2/store/goredisstore.v9"
	ulule "github.com/ulule/limiter/v3"
	ululestore "github.com/ulule/limiter/v3/drivers/store/redis"
)

// Peers that are measured with many keys only.
const (
	Ulule     = "ulule/limiter"
	Throttled = "throttled"
	Httprate  = "httprate-redis"
)

func peers() []Contender {
	return []Contender{
		{Name: Ulule, Module: "github.com/ulule/limiter/v3", New: newUlule},
		{Name: Throttled, Module: "github.com/throttled/throttled/v2", New: newThrottled},
		{Name: Httprate, Module: "github.com/go-chi/httprate-redis", New: newHttprate},
	}
}

func newUlule(address string, l Load) (Limiter, error) {
	client := goRedis(address)
	store, err := ululestore.NewStoreWithOptions(client, ulule.StoreOptions{Prefix: "ulule"})
	if err != nil {
		return Limiter{}, err
	}
	limiter := ulule.New(store, ulule.Rate{Limit: l.Quota, Period: l.Per})
	keys := l.partitions()
	return Limiter{
		Ask: func(ctx context.Context, i int) (bool, error) {
			answer, err := limiter.Get(ctx, keys[l.at(i)])
			return !answer.Reached, err
		},
		Close: func() { _ = client.Close() },
	}, nil
}

func newThrottled(address string, l Load) (Limiter, error) {
	client := goRedis(address)
	store, err := throttledstore.NewCtx(client, "throttled:")
	if err != nil {
		return Limiter{}, err
	}
	limiter, err := throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{
		MaxRate: throttled.PerDuration(int(l.Quota), l.Per), MaxBurst: int(l.Quota) - 1,
	})
	if err != nil {
		return Limiter{}, err
	}
	keys := l.partitions()
	return Limiter{
		Ask: func(ctx context.Context, i int) (bool, error) {
			limited, _, err := limiter.RateLimitCtx(ctx, keys[l.at(i)], 1)
			return !limited, err
		},
		Close: func() { _ = client.Close() },
	}, nil
}

// newHttprate takes the steps of RateLimiter.OnLimit without those that write
// header fields. The lock is the limiter's.
func newHttprate(address string, l Load) (Limiter, error) {
	client := goRedis(address)
	counter := httprateredis.NewCounter(&httprateredis.Config{Client: client, WindowLength: l.Per, FallbackDisabled: true, FallbackTimeout: time.Second})
	limiter := httprate.NewRateLimiter(int(l.Quota), l.Per, httprate.WithLimitCounter(counter))
	keys, limit := l.partitions(), int(l.Quota)
	var lock sync.Mutex
	return Limiter{
		Ask: func(_ context.Context, i int) (bool, error) {
			window := time.Now().UTC().Truncate(l.Per)
			lock.Lock()
			defer lock.Unlock()
			_, used, err := limiter.Status(keys[l.at(i)])
			if err != nil || int(math.Round(used))+1 > limit {
				return false, err
			}
			return true, counter.IncrementBy(keys[l.at(i)], window, 1)
		},
		Close: func() { _ = client.Close() },
	}, nil
}
