module github.com/go-floodgate/floodgate/echov5

go 1.26.0

require (
	github.com/go-floodgate/floodgate/core v0.1.0
	github.com/go-floodgate/floodgate/memstore v0.1.0
	github.com/labstack/echo/v5 v5.4.6
)

require golang.org/x/time v0.15.0 // indirect

replace (
	github.com/go-floodgate/floodgate/core => ../core
	github.com/go-floodgate/floodgate/memstore => ../memstore
)
