package memory

import (
	"context"
	"math"
	"sync"
	"time"

	tollbooth "github.com/didip/tollbooth/v8/limiter"
	"github.com/go-chi/httprate"
	"github.com/labstack/echo/v4/middleware"
	"github.com/mennanov/limiters"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	throttledstore "github.com/throttled/throttled/v2/store/memstore"
	ulule "github.com/ulule/limiter/v3"
	ululestore "github.com/ulule/limiter/v3/drivers/store/memory"
	"golang.org/x/time/rate"
)

// Names of peers' rows.
const (
	Sethvargo = "sethvargo/go-limiter"
	Httprate  = "go-chi/httprate"
	Throttled = "throttled"
	Ulule     = "ulule/limiter"
	Tollbooth = "tollbooth"
	Mennanov  = "mennanov/limiters"
	XTime     = "x/time/rate in a sync.Map"
	Echo      = "Echo's own store"
	Fiber     = "Fiber's own handler"
)

// SethvargoPreallocated is its row with a map that is large enough from the start.
const SethvargoPreallocated = Sethvargo + ", preallocated"

func peers() []Contender {
	return []Contender{
		{Name: Sethvargo, Module: "github.com/sethvargo/go-limiter", Hot: true, Many: true, Heap: true, New: newSethvargo},
		{Name: SethvargoPreallocated, Module: "github.com/sethvargo/go-limiter", Fresh: true, New: newSethvargoPreallocated},
		{Name: Httprate, Module: "github.com/go-chi/httprate", Hot: true, Many: true, Heap: true, New: newHttprate},
		{Name: Throttled, Module: "github.com/throttled/throttled/v2", Hot: true, Many: true, Heap: true, New: newThrottled},
		{Name: Ulule, Module: "github.com/ulule/limiter/v3", Hot: true, Many: true, Heap: true, New: newUlule},
		{Name: Tollbooth, Module: "github.com/didip/tollbooth/v8", Hot: true, Many: true, Heap: true, New: newTollbooth},
		{Name: Mennanov, Module: "github.com/mennanov/limiters", Hot: true, Many: true, Heap: true, New: newMennanov},
		{Name: XTime, Module: "golang.org/x/time", Hot: true, Many: true, Heap: true, New: newXTime},
		{Name: Echo, Module: "github.com/labstack/echo/v4", Hot: true, Many: true, Heap: true, New: newEcho},
		{Name: Fiber, Module: "github.com/gofiber/fiber/v2", Hot: true, Many: true, Heap: true, New: newFiber},
	}
}

// perSecond is a limit as a rate.
func (l Limit) perSecond() rate.Limit { return rate.Limit(float64(l.Quota) / l.Window.Seconds()) }

// newSethvargo has a map of the size that it begins with by default.
func newSethvargo(l Limit, _ int) (Store, error) { return sethvargo(l, 0) }

// newSethvargoPreallocated has one that need not grow, as its documentation
// advises for speed.
func newSethvargoPreallocated(l Limit, keys int) (Store, error) { return sethvargo(l, keys) }

// sethvargo is not swept meanwhile.
func sethvargo(l Limit, keys int) (Store, error) {
	store, err := memorystore.New(&memorystore.Config{
		Tokens: uint64(l.Quota), Interval: l.Window, InitialAlloc: keys, SweepInterval: time.Hour, SweepMinTTL: l.Window,
	})
	if err != nil {
		return Store{}, err
	}
	ctx := context.Background()
	s := shared(func(key string) bool {
		_, _, _, ok, err := store.Take(ctx, key)
		return ok && err == nil
	})
	s.Close = func() { _ = store.Close(ctx) }
	return s, nil
}

// newHttprate takes the steps of RateLimiter.OnLimit without those that write
// header fields, since there is no response here, and with one reading of the
// clock for its two.
func newHttprate(l Limit, _ int) (Store, error) {
	counter := httprate.NewLocalLimitCounter(l.Window)
	limit := int(l.Quota)
	var lock sync.Mutex
	return shared(func(key string) bool {
		now := time.Now().UTC()
		window := now.Truncate(l.Window)
		lock.Lock()
		defer lock.Unlock()
		current, previous, err := counter.Get(key, window, window.Add(-l.Window))
		rest := float64(l.Window-now.Sub(window)) / float64(l.Window)
		if err != nil || int(math.Round(float64(previous)*rest))+current+1 > limit {
			return false
		}
		return counter.IncrementBy(key, window, 1) == nil
	}), nil
}

// newThrottled has no cap on keys: with one, every look-up would pass an LRU
// list. It tries until it has stored its count: by default it fails after ten
// tries, as happens with one key on several processors.
func newThrottled(l Limit, _ int) (Store, error) {
	store, err := throttledstore.New(0)
	if err != nil {
		return Store{}, err
	}
	limiter, err := throttled.NewGCRARateLimiterCtx(throttled.WrapStoreWithContext(store), throttled.RateQuota{
		MaxRate: throttled.PerDuration(int(l.Quota), l.Window), MaxBurst: int(l.Quota) - 1,
	})
	if err != nil {
		return Store{}, err
	}
	limiter.SetMaxCASAttemptsLimit(math.MaxInt)
	ctx := context.Background()
	return shared(func(key string) bool {
		limited, _, err := limiter.RateLimitCtx(ctx, key, 1)
		return !limited && err == nil
	}), nil
}

func newUlule(l Limit, _ int) (Store, error) {
	limiter := ulule.New(
		ululestore.NewStoreWithOptions(ulule.StoreOptions{CleanUpInterval: time.Hour}),
		ulule.Rate{Limit: l.Quota, Period: l.Window},
	)
	ctx := context.Background()
	return shared(func(key string) bool {
		answer, err := limiter.Get(ctx, key)
		return !answer.Reached && err == nil
	}), nil
}

func newTollbooth(l Limit, _ int) (Store, error) {
	limiter := tollbooth.New(nil).SetMax(float64(l.perSecond())).SetBurst(int(l.Quota))
	return shared(func(key string) bool { return !limiter.LimitReached(key) }), nil
}

// newMennanov has a token bucket in memory for each key, without a lock that
// processes would share.
func newMennanov(l Limit, _ int) (Store, error) {
	registry, clock := limiters.NewRegistry(), limiters.NewSystemClock()
	logger := limiters.NewStdLogger()
	ctx := context.Background()
	refill := l.Window / time.Duration(l.Quota)
	bucket := func() any {
		return limiters.NewTokenBucket(l.Quota, refill, limiters.NewLockNoop(), limiters.NewTokenBucketInMemory(), clock, logger)
	}
	return shared(func(key string) bool {
		found, ok := registry.GetOrCreate(key, bucket, l.Window, clock.Now()).(*limiters.TokenBucket)
		if !ok {
			return false
		}
		_, err := found.Limit(ctx)
		return err == nil
	}), nil
}

func newXTime(l Limit, _ int) (Store, error) {
	var buckets sync.Map
	return shared(func(key string) bool {
		found, ok := buckets.Load(key)
		if !ok {
			found, _ = buckets.LoadOrStore(key, rate.NewLimiter(l.perSecond(), int(l.Quota)))
		}
		bucket, ok := found.(*rate.Limiter)
		return ok && bucket.Allow()
	}), nil
}

func newEcho(l Limit, _ int) (Store, error) {
	store := middleware.NewRateLimiterMemoryStoreWithConfig(middleware.RateLimiterMemoryStoreConfig{
		Rate: l.perSecond(), Burst: int(l.Quota), ExpiresIn: l.Window,
	})
	return shared(func(key string) bool {
		allowed, err := store.Allow(key)
		return allowed && err == nil
	}), nil
}
