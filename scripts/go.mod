module github.com/go-floodgate/floodgate/scripts

go 1.26.0
