module github.com/go-floodgate/floodgate/redisstore

go 1.26.0

require (
	github.com/go-floodgate/floodgate/core v0.1.0
	github.com/redis/go-redis/v9 v9.23.0
	github.com/sony/gobreaker/v2 v2.4.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
)

replace github.com/go-floodgate/floodgate/core => ../core

require github.com/go-floodgate/floodgate/memstore v0.1.0

replace github.com/go-floodgate/floodgate/memstore => ../memstore
