module github.com/go-floodgate/floodgate/core

go 1.26.0
