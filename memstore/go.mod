module github.com/go-floodgate/floodgate/memstore

go 1.26.0

require github.com/go-floodgate/floodgate/core v0.1.0

replace github.com/go-floodgate/floodgate/core => ../core
