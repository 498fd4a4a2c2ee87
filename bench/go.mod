module github.com/go-floodgate/floodgate/bench

go 1.26.0

require (
	github.com/go-floodgate/floodgate/core v0.1.0
	github.com/go-floodgate/floodgate/redisstore v0.1.0
	github.com/go-redis/redis_rate/v10 v10.0.1
	github.com/redis/go-redis/v9 v9.23.0
	github.com/redis/rueidis v1.0.79
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/sony/gobreaker/v2 v2.4.0 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
)

replace (
	github.com/go-floodgate/floodgate/core => ../core
	github.com/go-floodgate/floodgate/memstore => ../memstore
	github.com/go-floodgate/floodgate/redisstore => ../redisstore
)
