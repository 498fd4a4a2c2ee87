package redisstore

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/redisstore/internal/redistest"
)

// childVariable tells a copy of this test binary what to do instead of testing.
const childVariable = "REDISSTORE_TEST_CHILD"

// child is the work of one process: so many goroutines that hammer one key.
type child struct {
	Addr, Prefix string
	Limit        ratelimit.Limit
	Goroutines   int
	Each         int
	Lease        int64
	Cache        bool
}

// TestMain lets the binary be one of several processes.
func TestMain(m *testing.M) {
	if task := os.Getenv(childVariable); task != "" {
		if err := runChild(task); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// runChild prints how many requests were admitted.
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

	admitted := make([]int, c.Goroutines)
	errs := make([]error, c.Goroutines)
	var wait sync.WaitGroup
	for g := range c.Goroutines {
		wait.Go(func() {
			charges, results := []ratelimit.Charge{charge("shared", c.Limit, 1)}, make([]ratelimit.Result, 1)
			for range c.Each {
				if err := s.Take(context.Background(), charges, results); err != nil {
					errs[g] = err
					return
				}
				if results[0].Allowed {
					admitted[g]++
				}
			}
		})
	}
	wait.Wait()
	total := 0
	for g := range admitted {
		if errs[g] != nil {
			return errs[g]
		}
		total += admitted[g]
	}
	fmt.Println(total)
	return nil
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
		for _, l := range five(quota, ratelimit.MaxWindow) {
			t.Run(fmt.Sprint(mode.name, "/", l.Algorithm), func(t *testing.T) {
				prefix := freshPrefix()
				var wait sync.WaitGroup
				counts := make([]int, processes)
				for i := range processes {
					wait.Go(func() {
						counts[i] = hammer(t, child{
							Addr: server.Addr, Prefix: prefix, Limit: l, Goroutines: 16, Each: 20, Lease: mode.lease, Cache: mode.cache,
						})
					})
				}
				wait.Wait()
				total := 0
				for _, n := range counts {
					total += n
				}
				if total > quota || mode.lease == 0 && total != quota {
					t.Errorf("%d processes admitted %v, %d in all, want %d", processes, counts, total, quota)
				}
			})
		}
	}
}

// hammer runs a child and returns how many requests it admitted.
func hammer(t *testing.T, c child) int {
	task, err := json.Marshal(c)
	if err != nil {
		t.Error(err)
		return 0
	}
	cmd := exec.Command(os.Args[0]) //nolint:gosec,noctx // this binary, for a moment
	cmd.Env = append(os.Environ(), childVariable+"="+string(task))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	var n int
	if _, scanErr := fmt.Sscan(string(out), &n); err != nil || scanErr != nil {
		t.Errorf("a process failed: %v, %v: %s", err, scanErr, out)
	}
	return n
}
