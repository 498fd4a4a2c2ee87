package main

import (
	"slices"
	"testing"
)

func TestFaults(t *testing.T) {
	clean := func() consumed {
		return consumed{
			folder:       "chi",
			modules:      []string{"github.com/go-chi/chi/v5", "github.com/felixge/httpsnoop"},
			packages:     []string{"net/http", "github.com/go-chi/chi/v5"},
			baseModules:  []string{"github.com/go-chi/chi/v5"},
			basePackages: []string{"net/http", "github.com/go-chi/chi/v5"},
			others:       []string{"github.com/gin-gonic/gin", "github.com/redis/go-redis/v9", "github.com/go-chi/chi/v5"},
		}
	}
	for _, test := range []struct {
		name   string
		change func(*consumed)
		want   []string
	}{
		{"nothing", func(*consumed) {}, nil},
		{
			"another framework required", func(c *consumed) { c.modules = append(c.modules, "github.com/gin-gonic/gin") },
			[]string{"chi: brings the module github.com/gin-gonic/gin"},
		},
		{
			"a Redis client linked", func(c *consumed) { c.packages = append(c.packages, "github.com/redis/go-redis/v9/internal/proto") },
			[]string{"chi: links the package github.com/redis/go-redis/v9/internal/proto"},
		},
		{"a module whose name begins alike", func(c *consumed) { c.packages = append(c.packages, "github.com/gin-gonic/gins") }, nil},
		{
			"testing linked", func(c *consumed) { c.packages = append(c.packages, "testing") },
			[]string{"chi: links testing, which its framework alone does not"},
		},
		{"testing linked by the framework already", func(c *consumed) {
			c.packages = append(c.packages, "testing")
			c.basePackages = append(c.basePackages, "testing")
		}, nil},
	} {
		c := clean()
		test.change(&c)
		if got := c.faults(); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
