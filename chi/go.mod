module github.com/go-floodgate/floodgate/chi

go 1.26.0

require (
	github.com/go-chi/chi/v5 v5.5.0
	github.com/go-floodgate/floodgate/core v0.1.0
	github.com/go-floodgate/floodgate/memstore v0.1.0
	github.com/go-floodgate/floodgate/nethttp v0.1.0
)

require github.com/felixge/httpsnoop v1.1.0 // indirect

replace (
	github.com/go-floodgate/floodgate/core => ../core
	github.com/go-floodgate/floodgate/memstore => ../memstore
	github.com/go-floodgate/floodgate/nethttp => ../nethttp
)
