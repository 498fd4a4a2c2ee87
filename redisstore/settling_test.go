package redisstore

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
	"github.com/go-floodgate/floodgate/redisstore/redistest"
)

// settlerVariable makes a copy of this test binary a process that reserves and
// settles as it is told.
const settlerVariable = "REDISSTORE_TEST_SETTLER"

// settler is what such a process works with.
type settler struct {
	Addr, Prefix string
	Limit        ratelimit.Limit
}

// order is what it is told: to reserve an estimate of Cost, or to settle a
// reservation to Cost, when the clock shows Now.
type order struct {
	Now    int64
	Settle int // 1 is the first reservation; 0 reserves
	Cost   int64
}

// report is what has become of it.
type report struct {
	Allowed   bool
	Remaining int64
}

// runSettler carries out orders until there are no more.
func runSettler(task string) error {
	var s settler
	if err := json.Unmarshal([]byte(task), &s); err != nil {
		return err
	}
	var next order
	client := redis.NewClient(&redis.Options{Addr: s.Addr})
	defer client.Close()
	store := New(client, WithPrefix(s.Prefix), WithBudget(time.Minute), withClock(func() time.Time { return time.UnixMicro(next.Now) }))
	defer store.Close()
	l, err := ratelimit.New(store, ratelimit.Policy{Name: "policy", Limit: s.Limit, Settles: true, OnStoreFailure: ratelimit.FailClosed})
	if err != nil {
		return err
	}
	var reserved []*ratelimit.Reservation
	orders, reports := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		if err := orders.Decode(&next); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if next.Settle > 0 {
			if err := reserved[next.Settle-1].Settle(context.Background(), next.Cost); err != nil {
				return err
			}
		}
		var d ratelimit.Decision
		if next.Settle > 0 {
			d = l.Peek(context.Background(), "client")
		} else {
			var r *ratelimit.Reservation
			d, r = l.Reserve(context.Background(), "client", next.Cost)
			reserved = append(reserved, r)
		}
		if d.Err != nil {
			return d.Err
		}
		if err := reports.Encode(report{d.Allowed, d.Result.Remaining}); err != nil {
			return err
		}
	}
}

// process is one such process.
type process struct {
	orders  *json.Encoder
	reports *json.Decoder
	// reserved are the charges behind its reservations, as the model has them.
	reserved []ratelimit.Adjustment
}

func (s settler) start(t *testing.T) *process {
	t.Helper()
	task, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), settlerVariable+"="+string(task))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil && t.Context().Err() == nil {
			t.Errorf("a process failed: %v", err)
		}
	})
	return &process{orders: json.NewEncoder(in), reports: json.NewDecoder(out)}
}

// TestSettlingByProcesses has two processes reserve and settle the quota of one
// client, to more and to less, within a window, at its end and later. Each of
// their answers is that of the exact model: nothing is ever below zero, nor
// settled in another window.
func TestSettlingByProcesses(t *testing.T) {
	server := redistest.Start(t)
	for _, limit := range five(100, time.Minute) {
		t.Run(limit.Algorithm.String(), func(t *testing.T) {
			if limit.Algorithm == ratelimit.AlgorithmLeakyBucket {
				limit.Quota = 200 // no request may be held back for longer than 30 s
			}
			s := settler{Addr: server.Addr, Prefix: freshPrefix(), Limit: limit}
			two, rnd := []*process{s.start(t), s.start(t)}, rand.New(rand.NewPCG(1, uint64(limit.Algorithm)))
			var state algorithm.State
			now := int64(1_800_000_000_000_000)
			for range 300 {
				p := two[rnd.IntN(2)]
				minute := int64(time.Minute / time.Microsecond)
				rest := minute - now%minute
				now += []int64{0, 0, 0, 1, minute / 9, rest - 1, rest, rest + 1}[rnd.IntN(8)]
				var (
					given order
					want  ratelimit.Result
				)
				if len(p.reserved) == 0 || rnd.IntN(2) == 0 {
					given = order{Now: now, Cost: rnd.Int64N(30)}
					state, want = algorithm.Step(state, now, limit, given.Cost)
					p.reserved = append(p.reserved, ratelimit.Adjustment{At: want.At, Cost: given.Cost, Limit: limit})
					if !want.Allowed {
						p.reserved[len(p.reserved)-1].Limit = ratelimit.Limit{} // no reservation: it settles to nothing
					}
				} else {
					at := max(0, len(p.reserved)-1-rnd.IntN(4))
					given = order{Now: now, Settle: at + 1, Cost: []int64{0, 1, rnd.Int64N(40), 150}[rnd.IntN(4)]}
					if a := &p.reserved[at]; a.Limit != (ratelimit.Limit{}) {
						state = algorithm.Adjust(state, now, limit, a.At, a.Cost, given.Cost)
						a.Cost = given.Cost
					}
					want = algorithm.Look(state, now, limit, 1)
				}
				var got report
				if err := errors.Join(p.orders.Encode(given), p.reports.Decode(&got)); err != nil {
					t.Fatal(err)
				}
				if got != (report{want.Allowed, want.Remaining}) {
					t.Fatalf("%+v: %+v, the model says %t with %d left", given, got, want.Allowed, want.Remaining)
				}
			}
		})
	}
}
