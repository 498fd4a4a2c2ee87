module github.com/go-floodgate/floodgate/echo

go 1.26.0

require (
	github.com/go-floodgate/floodgate/core v0.1.0
	github.com/go-floodgate/floodgate/memstore v0.1.0
	github.com/labstack/echo/v4 v4.16.5
)

require (
	github.com/labstack/gommon v0.5.0 // indirect
	github.com/mattn/go-colorable v0.1.15 // indirect
	github.com/mattn/go-isatty v0.0.22 // indirect
	github.com/valyala/bytebufferpool v1.0.0 // indirect
	github.com/valyala/fasttemplate v1.2.2 // indirect
	golang.org/x/crypto v0.57.0 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	golang.org/x/time v0.15.0 // indirect
)

replace (
	github.com/go-floodgate/floodgate/core => ../core
	github.com/go-floodgate/floodgate/memstore => ../memstore
)
