package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// counts are keys and how often they were refused.
func counts(offenders []ratelimit.Offender) string {
	var all []string
	for _, o := range offenders {
		all = append(all, fmt.Sprintf("%s %d+%d", o.Partition, o.Refusals, o.Unsure))
	}
	return strings.Join(all, ", ")
}

func TestOffendersCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newModelStore()
		offenders := &ratelimit.Offenders{ClearText: true}
		l := mustNew(t, store, offenders,
			ratelimit.Policy{Name: "user", Key: ratelimit.ByUserOnly(), Limit: ratelimit.FixedWindow(2, time.Minute), Cost: func(r *ratelimit.Request) int64 {
				if r.Method() == "POST" {
					return 7
				}
				return 1
			}},
			ratelimit.Policy{Name: "ip", Limit: ratelimit.FixedWindow(10, time.Minute)},
			ratelimit.Policy{Name: "watched", Limit: ratelimit.FixedWindow(1, time.Minute), Shadow: true},
			ratelimit.Policy{Name: "down", Limit: ratelimit.FixedWindow(1000, time.Minute), OnStoreFailure: ratelimit.FailClosed},
		)
		send := func(n int, r *fakeRequest) {
			for range n {
				call, _ := begin(l, r)
				call.Finish(200, false)
			}
		}
		send(5, &fakeRequest{user: "ann"})                 // 3 refused by user
		send(1, &fakeRequest{user: "ann", method: "POST"}) // whatever it costs
		send(3, &fakeRequest{user: "bob"})                 // 1 refused by user
		send(8, &fakeRequest{})                            // 2 refused by ip, which had 4
		send(1, &fakeRequest{user: "ann"})                 // refused by both
		for range 9 {
			l.Peek(t.Context(), ratelimit.UserKey("ann"))
		}
		store.fails = errors.New("down")
		send(4, &fakeRequest{user: "ann"})
		for policy, want := range map[string]string{
			"user": "user:ann 5+0, user:bob 1+0", "ip": "ip:192.0.2.1 3+0", "watched": "", "down": "", "none": "",
		} {
			if got := counts(offenders.Top(policy, 10)); got != want {
				t.Errorf("%s: %s, want %s", policy, got, want)
			}
		}
		if got := counts(offenders.Top("user", 1)); got != "user:ann 5+0" {
			t.Errorf("the first is %s", got)
		}
		if missed := offenders.Missed(); missed != 0 {
			t.Errorf("%d were missed", missed)
		}
	})
}

// A penalty's blocks count as refusals of its policy, and so does what is
// decided without HTTP, and by the fallback store.
func TestOffendersOfEveryKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newModelStore()
		offenders := &ratelimit.Offenders{ClearText: true}
		l := mustNew(t, store, offenders, ratelimit.Fallback(newModelStore(), 1), ratelimit.Policy{
			Name: "p", Limit: ratelimit.FixedWindow(1, time.Hour), Penalty: &ratelimit.Penalty{Base: time.Minute}, OnStoreFailure: ratelimit.FailLocal,
		})
		for range 4 {
			l.Allow(t.Context(), "key:ann")
		}
		store.fails = errors.New("down")
		for range 3 {
			l.Allow(t.Context(), "key:bob")
		}
		if got := counts(offenders.Top("p", 10)); got != "key:ann 3+0, key:bob 2+0" {
			t.Error(got)
		}
	})
}

// Notify is called once for each key and window, under no lock.
func TestOffendersNotify(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l *ratelimit.Limiter
		var told []ratelimit.Offender
		offenders := &ratelimit.Offenders{Multiple: 3, ClearText: true}
		offenders.Notify = func(ctx context.Context, o ratelimit.Offender) {
			told = append(told, o)
			if top := offenders.Top(o.Policy, 9); !slices.Contains(top, o) {
				t.Errorf("told of %v, at the top are %v", o, top)
			}
			l.Allow(ctx, ratelimit.NamedKey("callback"))
		}
		l = mustNew(t, newModelStore(), offenders, ratelimit.Policy{Name: "p", Limit: ratelimit.FixedWindow(5, time.Minute)})
		send := func(n int, key ratelimit.Partition) {
			for range n {
				l.Allow(t.Context(), key)
			}
		}
		expect := func(n int, when string) {
			t.Helper()
			if len(told) != n {
				t.Fatalf("%s: told %d times, want %d", when, len(told), n)
			}
		}
		start := time.Now()
		send(5+14, "key:ann")
		expect(0, "below three times the limit")
		send(1, "key:ann")
		expect(1, "at three times the limit")
		if o := told[0]; o.Policy != "p" || o.Partition != "key:ann" || o.Refusals != 15 || o.Unsure != 0 || !o.Since.Equal(start) || o.Window != time.Minute {
			t.Errorf("told of %+v", o)
		}
		send(100, "key:ann")
		expect(1, "after that")
		send(20, "key:bob")
		expect(2, "another key")
		time.Sleep(time.Minute)
		send(5+14, "key:ann")
		expect(2, "in the next window, below")
		send(1, "key:ann")
		expect(3, "in the next window")
	})
}

// A multiple of the limit is one of what it admits in the policy's window, by
// whatever limit the key falls under.
func TestOffendersThreshold(t *testing.T) {
	for _, c := range []struct {
		name  string
		limit ratelimit.Limit
		want  int
	}{
		{"quota", ratelimit.FixedWindow(7, time.Minute), 7},
		{"burst", ratelimit.TokenBucket(7, time.Minute, 20), 20},
		{"quota above the burst", ratelimit.TokenBucket(60, time.Minute, 20), 60},
		{"nothing allowed", ratelimit.FixedWindow(0, time.Minute), 1},
		{"a window below a second", ratelimit.FixedWindow(3, 100*time.Millisecond), 30},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				told := 0
				l := mustNew(t, denyAll{}, &ratelimit.Offenders{Multiple: 2, Notify: func(context.Context, ratelimit.Offender) { told++ }},
					ratelimit.Policy{Name: "p", Limit: c.limit})
				for range 2*c.want - 1 {
					l.Allow(t.Context(), "key:ann")
				}
				if told != 0 {
					t.Errorf("told before %d refusals", 2*c.want)
				}
				if l.Allow(t.Context(), "key:ann"); told != 1 {
					t.Errorf("told %d times after %d refusals", told, 2*c.want)
				}
			})
		})
	}
	// What can't be reached is never reached.
	l := mustNew(t, denyAll{}, &ratelimit.Offenders{Multiple: 1_000_000, Notify: func(_ context.Context, o ratelimit.Offender) { t.Errorf("told of %+v", o) }},
		ratelimit.Policy{Name: "p", Limit: ratelimit.FixedWindow(ratelimit.MaxQuota, time.Millisecond)})
	l.Allow(t.Context(), "key:ann")
	// The premium tier is told of at its own limit, and both in a window of a
	// minute, the longer one.
	synctest.Test(t, func(t *testing.T) {
		var told []ratelimit.Offender
		l := mustNew(t, denyAll{}, &ratelimit.Offenders{Multiple: 2, ClearText: true, Notify: func(_ context.Context, o ratelimit.Offender) { told = append(told, o) }},
			ratelimit.Policy{Name: "p", Tiers: &ratelimit.Tiers{
				Resolve: func(r *ratelimit.Request) (ratelimit.Identity, error) {
					return ratelimit.Identity{Key: ratelimit.UserKey(r.User()), Tier: r.User()}, nil
				},
				Default: "free",
				Limits:  map[string]ratelimit.Limit{"free": ratelimit.FixedWindow(1, 30*time.Second), "premium": ratelimit.FixedWindow(5, time.Minute)},
			}})
		for _, user := range []string{"free", "premium"} {
			for range 50 {
				begin(l, &fakeRequest{user: user})
			}
		}
		if counts(told) != "user:free 4+0, user:premium 10+0" || told[0].Window != time.Minute {
			t.Errorf("told of %s", counts(told))
		}
	})
}

// denyAll is a store that refuses everything.
type denyAll struct{}

func (denyAll) Take(_ context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
	for i := range charges {
		results[i] = ratelimit.Result{Limit: charges[i].Limit.Capacity(), RetryAfter: time.Second, ResetAfter: time.Second}
	}
	return nil
}
func (denyAll) Adjust(context.Context, []ratelimit.Adjustment) error { return nil }
func (denyAll) Reset(context.Context, []ratelimit.Key) error         { return nil }

// A flood of other keys neither hides who is refused most nor has anybody told
// of who is not.
func TestOffendersInAFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := make(map[ratelimit.Partition]int)
		offenders := &ratelimit.Offenders{Keys: 16, Multiple: 100, ClearText: true, Notify: func(_ context.Context, o ratelimit.Offender) { told[o.Partition]++ }}
		l := mustNew(t, denyAll{}, offenders, ratelimit.Policy{Name: "p", Limit: ratelimit.FixedWindow(1, time.Hour)})
		const rounds = 400
		for i := range rounds {
			l.Allow(t.Context(), "key:ann")
			l.Allow(t.Context(), "key:bob")
			for j := range 10 {
				l.Allow(t.Context(), ratelimit.Partition(fmt.Sprint("key:", i*10+j)))
			}
		}
		if len(told) != 2 || told["key:ann"] != 1 || told["key:bob"] != 1 {
			t.Errorf("told of %v", told)
		}
		for _, o := range offenders.Top("p", 2) {
			if o.Partition != "key:ann" && o.Partition != "key:bob" || o.Refusals > rounds || o.Refusals+o.Unsure < rounds || o.Unsure > 12*rounds/16 {
				t.Errorf("among the first two is %+v", o)
			}
		}
	})
}

// A key that lost its counter after it was told of is not told of again.
func TestOffendersToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := 0
		l := mustNew(t, denyAll{}, &ratelimit.Offenders{Keys: 16, Multiple: 5, Notify: func(context.Context, ratelimit.Offender) { told++ }},
			ratelimit.Policy{Name: "p", Limit: ratelimit.FixedWindow(1, time.Hour)})
		for range 3 {
			for range 5 {
				l.Allow(t.Context(), "key:ann")
			}
			for i := range 16 * 25 {
				l.Allow(t.Context(), ratelimit.Partition(fmt.Sprint("key:", i%400)))
			}
		}
		if told != 1 {
			t.Errorf("told %d times", told)
		}
		time.Sleep(time.Hour)
		for range 5 {
			l.Allow(t.Context(), "key:ann")
		}
		if told != 2 {
			t.Errorf("told %d times, want once in each of two windows", told)
		}
	})
}

func TestOffendersWindows(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	store := newModelStore()
	store.now = func() time.Time { return now }
	offenders := &ratelimit.Offenders{ClearText: true}
	l := mustNew(t, store, offenders, ratelimit.Policy{Name: "p", Limit: ratelimit.FixedWindow(0, time.Minute)})
	refuse := func(at time.Duration, key ratelimit.Partition) {
		now = time.Unix(1_700_000_040, 0).Add(at) // a minute begins
		l.Allow(t.Context(), key)
	}
	top := func() string { return counts(offenders.TopAt(now, "p", 10)) }
	check := func(want string) {
		t.Helper()
		if got := top(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	refuse(0, "key:a")
	refuse(59*time.Second, "key:a")
	check("key:a 2+0")
	refuse(time.Minute, "key:b")
	check("key:b 1+0, key:a 2+0")
	refuse(59*time.Second, "key:b") // a clock that is a little behind
	check("key:b 2+0, key:a 2+0")
	refuse(2*time.Minute, "key:c")
	check("key:c 1+0, key:b 2+0")
	refuse(20*time.Minute, "key:d")
	check("key:d 1+0")
	refuse(2*time.Minute, "key:e") // it was far ahead
	check("key:e 1+0")
	now = now.Add(time.Minute)
	check("key:e 1+0")
	now = now.Add(time.Minute)
	check("")
}

// What is kept of a request is not the request's own memory.
func TestOffendersKeepCopies(t *testing.T) {
	offenders := &ratelimit.Offenders{ClearText: true}
	l := mustNew(t, denyAll{}, offenders, ratelimit.Policy{Name: "p", Key: ratelimit.ByUser(), Limit: ratelimit.FixedWindow(1, time.Hour)})
	call := new(ratelimit.Call)
	for _, user := range []string{"ann", "bob", "cid"} {
		*call = ratelimit.Call{} // whose memory has the keys
		l.Begin(call, &fakeRequest{user: user}, map0{})
		call.Finish(0, false)
	}
	if got := counts(offenders.Top("p", 10)); got != "user:cid 1+0, user:bob 1+0, user:ann 1+0" {
		t.Error(got)
	}
}

// map0 is a response header that forgets.
type map0 struct{}

func (map0) Get(string) string  { return "" }
func (map0) Set(string, string) {}
func (map0) Del(string)         {}

// One Offenders counts the policies of the same name in several limiters as
// one.
func TestOffendersOfSeveralLimiters(t *testing.T) {
	offenders := &ratelimit.Offenders{ClearText: true}
	for range 2 {
		l := mustNew(t, denyAll{}, offenders, ratelimit.Policy{Name: "p", Limit: ratelimit.FixedWindow(1, time.Hour)})
		l.Allow(t.Context(), "key:ann")
	}
	if got := counts(offenders.Top("p", 10)); got != "key:ann 2+0" {
		t.Error(got)
	}
}

// Nobody waits for the counters, and what is left out is known.
func TestOffendersConcurrently(t *testing.T) {
	offenders := &ratelimit.Offenders{ClearText: true}
	l := mustNew(t, denyAll{}, offenders, ratelimit.Policy{Name: "p", Limit: ratelimit.FixedWindow(1, time.Hour)})
	var all sync.WaitGroup
	const goroutines, each = 8, 500
	for i := range goroutines {
		all.Go(func() {
			for j := range each {
				l.Allow(t.Context(), ratelimit.Partition(fmt.Sprint("key:", (i+j)%10)))
				if j%100 == 0 {
					offenders.Top("p", 3)
				}
			}
		})
	}
	all.Wait()
	sum := offenders.Missed()
	for _, o := range offenders.Top("p", 100) {
		sum += o.Refusals
	}
	if sum != goroutines*each {
		t.Errorf("%d refusals are known, %d of them as missed, want %d", sum, offenders.Missed(), goroutines*each)
	}
}

// While one refusal is counted others don't wait.
func TestOffendersDontWait(t *testing.T) {
	offenders := &ratelimit.Offenders{ClearText: true}
	l := mustNew(t, denyAll{}, offenders, ratelimit.Policy{Name: "p", Limit: ratelimit.FixedWindow(1, time.Hour)})
	l.Allow(t.Context(), "key:ann")
	for round := range int64(3) {
		release := offenders.Hold("p")
		for range 4 { // of which nothing is lost: it is the key counted last
			l.Allow(t.Context(), "key:ann")
		}
		for i := range 1000 { // which nobody knows yet
			l.Allow(t.Context(), ratelimit.Partition(fmt.Sprint("key:", i)))
		}
		release()
		want := 1 + 4*(round+1)
		if round == 1 {
			l.Allow(t.Context(), "key:ann")
		}
		if round == 2 { // others take what was left for ann
			for i := range 400 {
				l.Allow(t.Context(), ratelimit.Partition(fmt.Sprint("key:", i)))
			}
		}
		want += min(round, 1)
		if got, want := counts(offenders.Top("p", 1)), fmt.Sprintf("key:ann %d+0", want); got != want || offenders.Missed() != 1000*(round+1) {
			t.Errorf("counted are %q, want %s; missed are %d", got, want, offenders.Missed())
		}
	}
}

// What was left belongs to the window in which it came.
func TestOffendersLeftInAWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		offenders := &ratelimit.Offenders{ClearText: true}
		l := mustNew(t, denyAll{}, offenders, ratelimit.Policy{Name: "p", Limit: ratelimit.FixedWindow(1, time.Hour)})
		l.Allow(t.Context(), "key:ann")
		release := offenders.Hold("p")
		l.Allow(t.Context(), "key:ann")
		release()
		time.Sleep(time.Hour)
		l.Allow(t.Context(), "key:ann")
		if got := counts(offenders.Top("p", 2)); got != "key:ann 1+0, key:ann 2+0" {
			t.Error(got)
		}
	})
}

// Without clear text no key is seen, neither by who is told nor at the top.
func TestOffendersHideKeys(t *testing.T) {
	var told []ratelimit.Offender
	offenders := &ratelimit.Offenders{Multiple: 1, Notify: func(_ context.Context, o ratelimit.Offender) { told = append(told, o) }}
	l := mustNew(t, denyAll{}, offenders, ratelimit.Policy{Name: "p", Key: ratelimit.Combine(ratelimit.ByUser(), ratelimit.ByIP()), Limit: ratelimit.FixedWindow(1, time.Hour)})
	begin(l, &fakeRequest{user: "ann"})
	for _, o := range append(told, offenders.Top("p", 1)...) {
		if o.Partition != "" || strings.Contains(o.Key, "ann") || !strings.HasPrefix(o.Key, "user|ip:192.0.2.0/24~") {
			t.Errorf("shown is %+v", o)
		}
	}
	if len(told) != 1 {
		t.Errorf("told %d times", len(told))
	}
}

// A refusal of a known key allocates nothing for being counted.
func TestOffendersAllocations(t *testing.T) {
	refusals := func(options ...ratelimit.Option) float64 {
		l := mustNew(t, denyAll{}, append(options, ratelimit.Policy{Name: "p", Limit: ratelimit.FixedWindow(1, time.Hour)})...)
		ctx := t.Context()
		return leastAllocs(func() { l.Allow(ctx, "key:ann") })
	}
	if with, without := refusals(&ratelimit.Offenders{Notify: func(context.Context, ratelimit.Offender) {}}), refusals(); with > without {
		t.Errorf("a refusal makes %v allocations, %v without Offenders", with, without)
	}
}

// leastAllocs is the least that one of many runs allocates: the race detector
// empties pools at random.
func leastAllocs(f func()) float64 {
	least := testing.AllocsPerRun(1, f)
	for range 100 {
		least = min(least, testing.AllocsPerRun(1, f))
	}
	return least
}

func TestOffendersMistakes(t *testing.T) {
	policy := ratelimit.Policy{Name: "p", Limit: ratelimit.PerMinute(1)}
	good := &ratelimit.Offenders{}
	for _, c := range []struct {
		options []ratelimit.Option
		says    []string
	}{
		{[]ratelimit.Option{(*ratelimit.Offenders)(nil)}, []string{"Offenders is nil", "leave it out"}},
		{[]ratelimit.Option{good, good}, []string{"Offenders", "twice"}},
		{[]ratelimit.Option{&ratelimit.Offenders{Multiple: -1}}, []string{"Offenders.Multiple -1", "1 to"}},
		{[]ratelimit.Option{&ratelimit.Offenders{Keys: 3}}, []string{"Offenders.Keys 3", "16 to"}},
		{[]ratelimit.Option{&ratelimit.Offenders{Keys: 1 << 20}}, []string{"Offenders.Keys 1048576", "65536"}},
		{[]ratelimit.Option{&ratelimit.Offenders{Pseudonyms: &ratelimit.Pseudonyms{Secret: []byte("short")}}}, []string{"Pseudonyms.Secret has 5 bytes", "16"}},
	} {
		_, err := ratelimit.New(denyAll{}, append(c.options, policy, quiet)...)
		if err == nil {
			t.Errorf("no error, want %q", c.says)
			continue
		}
		for _, part := range c.says {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("the message %q does not say %q", err, part)
			}
		}
	}
}
