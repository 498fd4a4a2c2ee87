package redisstore

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/redisstore/redistest"
)

func clusterClient(c *redistest.Cluster) redis.UniversalClient {
	return redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs()})
}

// TestSpreadRequest has the charges of one request lie in several slots.
func TestSpreadRequest(t *testing.T) {
	cluster := redistest.StartCluster(t, 0)
	s := open(t, clusterClient(cluster))
	other := func(c ratelimit.Charge, policy string, mode ratelimit.Mode) ratelimit.Charge {
		c.Policy, c.Mode = policy, mode
		return c
	}
	for i, l := range five(10, time.Hour) {
		who := func(name string) string { return fmt.Sprint(name, i) }
		a, b, strict := charge(who("a"), l, 3), charge(who("b"), l, 2), charge(who("c"), ratelimit.FixedWindow(2, time.Hour), 1)
		strike := other(charge(who("d"), l, 1), "strikes", ratelimit.ModeOnDenial)
		forced := other(charge(who("e"), l, 4), "forced", ratelimit.ModeForce)
		shadow := other(charge(who("f"), l, 5), "shadow", ratelimit.ModeShadow)
		request := []ratelimit.Charge{a, strike, forced, b, strict, shadow}

		for round := range int64(2) {
			for j, r := range take(t, s, request...) {
				want := 10 - (round+1)*request[j].Cost
				if request[j].Mode == ratelimit.ModeOnDenial {
					want = 10
				} else if j == 4 {
					want = 1 - round
				}
				if !r.Allowed || r.Remaining != want {
					t.Errorf("%v, round %d, charge %d: %+v, want %d remaining", l.Algorithm, round, j, r, want)
				}
			}
		}
		for round := range int64(3) {
			results := take(t, s, request...)
			for j, want := range []int64{4, 9 - round, 2, 6, 0, 0} {
				// Neither the enforcing nor the shadow one of these fits.
				if r, fits := results[j], j < 4; r.Allowed != fits || r.Remaining != want || fits != (r.RetryAfter == 0) {
					t.Errorf("%v, denied %d times, charge %d: %+v, want %d remaining", l.Algorithm, round+1, j, r, want)
				}
			}
		}
		for name, want := range map[string]int64{"a": 4, "b": 6} {
			if n := left(t, s, who(name), l); n != want {
				t.Errorf("%v: %d left for %s after denied requests, want %d", l.Algorithm, n, name, want)
			}
		}
	}
	if n := s.Stats().GivenBack; n != 15 {
		t.Errorf("%d requests were given back, want 15", n)
	}
}

// TestSpreadPenalty has a request that is spread bring no strike, and one that
// is not block in both.
func TestSpreadPenalty(t *testing.T) {
	cluster := redistest.StartCluster(t, 0)
	s := open(t, clusterClient(cluster))
	block, err := ratelimit.Penalty{Base: time.Hour}.Limit()
	if err != nil {
		t.Fatal(err)
	}
	over := charge("a", ratelimit.FixedWindow(1, time.Hour), 2)
	guard := over
	guard.Limit, guard.Cost, guard.Mode = block, 1, ratelimit.ModePenalty
	far := charge("b", ratelimit.FixedWindow(10, time.Hour), 1)
	for range 3 {
		if r := take(t, s, far, over, guard); !r[0].Allowed || r[1].Allowed || !r[2].Allowed || r[2].Remaining != 1 {
			t.Errorf("a spread request: %+v, want it denied without a strike", r)
		}
	}
	if r := take(t, s, over, guard); r[1].Allowed || r[1].Remaining != 0 {
		t.Errorf("a request in one place: %+v, want a strike", r)
	}
	if r := take(t, s, far, guard); !r[0].Allowed || r[1].Allowed {
		t.Errorf("a spread request of who is blocked: %+v, want the block alone to deny it", r)
	}
	if n := left(t, s, "b", far.Limit); n != 10 {
		t.Errorf("%d left elsewhere, want 10", n)
	}
}

// TestSpreadCost documents what a denied request can cost others: for one
// round trip its charges elsewhere are taken, and never more than that.
func TestSpreadCost(t *testing.T) {
	cluster := redistest.StartCluster(t, 0)
	s := open(t, clusterClient(cluster))
	full, shared := charge("full", ratelimit.FixedWindow(1, time.Hour), 1), charge("shared", ratelimit.FixedWindow(1000, time.Hour), 1)
	take(t, s, full)
	const callers = 40
	lowest := atomic.Int64{}
	lowest.Store(1000)
	var wait sync.WaitGroup
	for range callers {
		wait.Go(func() {
			for range 10 {
				if r := take(t, s, full, shared); r[0].Allowed {
					t.Error("a full key admitted")
				}
				if n := left(t, s, "shared", shared.Limit); n < lowest.Load() {
					lowest.Store(n)
				}
			}
		})
	}
	wait.Wait()
	if n := left(t, s, "shared", shared.Limit); n != 1000 {
		t.Errorf("%d left of 1000 after denied requests only", n)
	}
	if n := lowest.Load(); n < 1000-callers {
		t.Errorf("%d were charged at once by %d callers who are denied", 1000-n, callers)
	}
}

// TestSlotMoves moves a slot to another master while its keys are in use:
// nothing is counted twice, nothing is lost, and it heals by itself.
func TestSlotMoves(t *testing.T) {
	cluster := redistest.StartCluster(t, 0)
	s := open(t, clusterClient(cluster))
	l := ratelimit.FixedWindow(100_000, time.Hour)
	who := "client"
	slot := int(slotOf(s.keyOf(charge(who, l, 1)), len(s.keys.prefix)))
	from := cluster.Masters[slot*3/slots]
	to := cluster.Masters[(slot*3/slots+1)%3]

	stop := make(chan struct{})
	var admitted, failed atomic.Int64
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			// Two policies of one client are two keys in the slot.
			charges := []ratelimit.Charge{charge(who, l, 1), charge(who, l, 1)}
			charges[1].Policy = fmt.Sprint("other", i)
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := s.Take(context.Background(), charges, make([]ratelimit.Result, 2)); err != nil {
					failed.Add(1)
					time.Sleep(time.Millisecond)
					continue
				}
				admitted.Add(1)
			}
		})
	}
	count := func(n int64) {
		goal := admitted.Load() + n
		redistest.Eventually(t, "requests are admitted", func() bool { return admitted.Load() >= goal })
	}
	count(100)
	cluster.Move(slot, from, to, nil)
	count(200)
	close(stop)
	wait.Wait()
	t.Logf("%d admitted, %d failed while the slot moved", admitted.Load(), failed.Load())
	used := 100_000 - left(t, s, who, l)
	if n := admitted.Load(); used < n || used > n+failed.Load() {
		t.Errorf("%d admitted, %d failed, %d counted", n, failed.Load(), used)
	}
}

// TestMasterDies has a replica take over, while the other slots go on.
func TestMasterDies(t *testing.T) {
	cluster := redistest.StartCluster(t, 1)
	s := open(t, clusterClient(cluster), WithBudget(300*time.Millisecond))
	ask := func(who string) error {
		return s.Take(context.Background(), []ratelimit.Charge{charge(who, hourly, 1)}, make([]ratelimit.Result, 1))
	}
	// A client for each master.
	clients := make([]string, 3)
	for i := 0; clients[0] == "" || clients[1] == "" || clients[2] == ""; i++ {
		who := fmt.Sprint("client", i)
		clients[int(slotOf(s.keyOf(charge(who, hourly, 1)), len(s.keys.prefix)))*3/slots] = who
	}
	for _, who := range clients {
		redistest.Eventually(t, "all masters answer", func() bool { return ask(who) == nil })
	}
	cluster.Masters[0].Kill()
	failures := 0
	for range 20 {
		if ask(clients[0]) != nil {
			failures++
		}
		for _, who := range clients[1:] {
			if err := ask(who); err != nil {
				t.Errorf("a master that is up fails beside one that is down: %v", err)
			}
		}
	}
	if failures == 0 {
		t.Error("no request failed while the master was down")
	}
	redistest.Eventually(t, "the replica has taken over", func() bool { return ask(clients[0]) == nil })
}

// TestFailover has a Sentinel promote the replica of a master that dies.
func TestFailover(t *testing.T) {
	sentinel := redistest.StartSentinel(t)
	w := watch(t, redis.NewFailoverClient(&redis.FailoverOptions{MasterName: redistest.MasterName, SentinelAddrs: []string{sentinel.Addr}}))
	w.works()
	sentinel.Master.Kill()
	w.obeys()
	redistest.Eventually(t, "the replica is promoted", sentinel.Promoted)
	redistest.Eventually(t, "decisions are Redis' again", func() bool { return !w.allow(ratelimit.FailClosed, "after").Degraded })
}

// TestRing spreads keys over servers that know nothing of each other.
func TestRing(t *testing.T) {
	servers := []*redistest.Server{redistest.Start(t), redistest.Start(t)}
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"one": servers[0].Addr, "two": servers[1].Addr}})
	s := open(t, ring)
	for i := range 20 {
		a, b := charge(fmt.Sprint("a", i), hourly, 1), charge(fmt.Sprint("b", i), hourly, 2)
		strict := charge(fmt.Sprint("c", i), ratelimit.FixedWindow(1, time.Hour), 1)
		take(t, s, a, b, strict)
		if r := take(t, s, a, b, strict); r[2].Allowed || r[0].Remaining != 99 || r[1].Remaining != 98 {
			t.Errorf("denied: %+v", r)
		}
		if err := s.Reset(context.Background(), []ratelimit.Key{a.Key(), b.Key()}); err != nil {
			t.Fatal(err)
		}
		if x, y := left(t, s, fmt.Sprint("a", i), hourly), left(t, s, fmt.Sprint("b", i), hourly); x != 100 || y != 100 {
			t.Errorf("%d and %d left after Reset", x, y)
		}
	}
	for _, server := range servers {
		if server.Calls("evalsha") == 0 {
			t.Errorf("%v was never asked", server)
		}
	}
}

// TestSlotOf compares with Redis' own answer.
func TestSlotOf(t *testing.T) {
	cluster := redistest.StartCluster(t, 0)
	s := open(t, clusterClient(cluster))
	for _, who := range []string{"a", "ip:192.0.2.1", "", "{", "}{", "x}y", "{}", "\x00\xff", "#x", string(make([]byte, 500))} {
		key := s.keyOf(charge(who, hourly, 1))
		if got, want := int64(slotOf(key, len(s.keys.prefix))), cluster.Masters[0].Do("CLUSTER", "KEYSLOT", key); got != want {
			t.Errorf("slot of %q: %d, Redis says %v", key, got, want)
		}
		take(t, s, charge(who, hourly, 1))
	}
}

// TestClusterPrivileges works on a Cluster with a user who may do what the
// documentation lists and nothing else.
func TestClusterPrivileges(t *testing.T) {
	cluster := redistest.StartCluster(t, 0)
	for _, server := range cluster.Masters {
		server.Do("ACL", "SETUSER", "limiter", "reset", "on", ">secret", "~fg:*", "resetchannels", "-@all",
			"+hello", "+evalsha", "+eval", "+time", "+mget", "+set", "+del", "+pttl", "+cluster|slots")
		server.Do("ACL", "LOG", "RESET")
	}
	s := open(t, redis.NewClusterClient(&redis.ClusterOptions{Addrs: cluster.Addrs(), Username: "limiter", Password: "secret"}), WithPrefix(DefaultPrefix))
	for i := range 20 {
		take(t, s, charge(fmt.Sprint("a", i), hourly, 1), charge(fmt.Sprint("b", i), hourly, 101))
	}
	for _, server := range cluster.Masters {
		for _, entry := range server.Do("ACL", "LOG").([]any) {
			if text := fmt.Sprint(entry); !strings.Contains(text, "object:client") {
				t.Errorf("refused: %s", text)
			}
		}
	}
}
