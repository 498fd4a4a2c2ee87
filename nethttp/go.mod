module github.com/go-floodgate/floodgate/nethttp

go 1.26.0

require (
	github.com/felixge/httpsnoop v1.1.0
	github.com/go-floodgate/floodgate/core v0.1.0
	github.com/go-floodgate/floodgate/memstore v0.1.0
)

replace (
	github.com/go-floodgate/floodgate/core => ../core
	github.com/go-floodgate/floodgate/memstore => ../memstore
)
