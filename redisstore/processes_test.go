package redisstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/redisstore/redistest"
)

// childVariable tells a copy of this test binary what to do instead of testing.
const childVariable = "REDISSTORE_TEST_CHILD"

// child is the work of one process: so many goroutines that hammer one key,
// under one limit after the other.
type child struct {
	Addr, Prefix string
	Limits       []ratelimit.Limit
	Goroutines   int
	Each         int
	Lease        int64
	Cache        bool
}

// TestMain lets the binary be one of several processes.
func TestMain(m *testing.M) {
	if task := os.Getenv(settlerVariable); task != "" {
		if err := runSettler(task); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if task := os.Getenv(childVariable); task != "" {
		if err := runChild(task); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// runChild prints how many requests were admitted under each limit.
func runChild(task string) error {
	var c child
	if err := json.Unmarshal([]byte(task), &c); err != nil {
		return err
	}
	options := []Option{WithPrefix(c.Prefix), WithBudget(time.Minute)}
	if !c.Cache {
		options = append(options, WithDenialCache(0, 0))
	}
	if c.Lease > 0 {
		options = append(options, WithLease("policy", c.Lease))
	}
	client := redis.NewClient(&redis.Options{Addr: c.Addr})
	defer client.Close()
	s := New(client, options...)
	defer s.Close()

	for _, l := range c.Limits {
		n, err := c.hammer(s, l)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintln(os.Stdout, n)
	}
	return nil
}

func (c *child) hammer(s *Store, l ratelimit.Limit) (int64, error) {
	var admitted atomic.Int64
	errs := make(chan error, c.Goroutines)
	for range c.Goroutines {
		go func() {
			charges, results := []ratelimit.Charge{charge("shared", l, 1)}, make([]ratelimit.Result, 1)
			var err error
			for i := 0; i < c.Each && err == nil; i++ {
				if err = s.Take(context.Background(), charges, results); err == nil && results[0].Allowed {
					admitted.Add(1)
				}
			}
			errs <- err
		}()
	}
	var failure error
	for range c.Goroutines {
		failure = errors.Join(failure, <-errs)
	}
	return admitted.Load(), failure
}

// TestProcesses has several processes hammer one key: together they admit
// exactly the limit, with batches and the denial cache; with leases no more.
func TestProcesses(t *testing.T) {
	server := redistest.Start(t)
	const quota, processes = 500, 4
	for _, mode := range []struct {
		name  string
		cache bool
		lease int64
	}{{"plain", false, 0}, {"denial cache", true, 0}, {"leases", true, 20}} {
		t.Run(mode.name, func(t *testing.T) {
			limits := five(quota, ratelimit.MaxWindow)
			c := child{
				Addr: server.Addr, Prefix: freshPrefix(), Limits: limits, Goroutines: 16, Each: 20,
				Lease: mode.lease, Cache: mode.cache,
			}
			admitted := make([][]int, processes)
			var wait sync.WaitGroup
			for i := range processes {
				wait.Go(func() { admitted[i] = c.run(t) })
			}
			wait.Wait()
			for i, l := range limits {
				total := 0
				for _, counts := range admitted {
					total += counts[i]
				}
				if total > quota || mode.lease == 0 && total != quota {
					t.Errorf("%v: %d processes admitted %d in all, want %d", l.Algorithm, processes, total, quota)
				}
			}
		})
	}
}

// run runs a process and returns how many requests it admitted under each
// limit.
func (c child) run(t *testing.T) []int {
	counts := make([]int, len(c.Limits))
	task, err := json.Marshal(c)
	if err != nil {
		t.Error(err)
		return counts
	}
	cmd := exec.Command(os.Args[0]) //nolint:noctx // this binary, for a moment
	cmd.Env = append(os.Environ(), childVariable+"="+string(task))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("a process failed: %v", err)
	}
	for i, field := range strings.Fields(string(out)) {
		if counts[i], err = strconv.Atoi(field); err != nil {
			t.Errorf("a process printed %q: %v", out, err)
		}
	}
	return counts
}
