package main

import (
	"testing"

	"github.com/go-floodgate/floodgate/examples/apptest"
)

func TestServer(t *testing.T) { apptest.Run(t, server) }
