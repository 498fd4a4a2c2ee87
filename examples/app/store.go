package app

import (
	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/memstore"
	"github.com/go-floodgate/floodgate/redisstore"
)

// OpenStore opens the store that the flags ask for: Redis, or the process's
// own memory. It connects to nothing yet. closeStore is to be called when the
// server has stopped.
func OpenStore(f Flags) (store ratelimit.Store, closeStore func() error, err error) {
	if f.Redis == "" {
		return memstore.New(), func() error { return nil }, nil
	}
	redis, err := redisstore.Open(f.Redis)
	if err != nil {
		return nil, nil, err
	}
	return redis, redis.Close, nil
}
