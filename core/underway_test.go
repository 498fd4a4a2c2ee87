package ratelimit_test

import (
	"context"
	"net/http"
	"sync"
	"testing"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// pass sends a request through l and returns its call.
func pass(ctx context.Context, l *ratelimit.Limiter, header http.Header) *ratelimit.Call {
	call := new(ratelimit.Call)
	call.KnownBy(header)
	l.Begin(call, &fakeRequest{ctx: ctx}, header)
	return call
}

// TestKnownByItsHeader counts a request once while its handler runs, whatever
// its context, and the next one with the same header for itself.
func TestKnownByItsHeader(t *testing.T) {
	l := mustNew(t, newModelStore(), ratelimit.Policy{Name: "p", Limit: ratelimit.PerHour(2)})
	header := http.Header{}
	for n := range 3 {
		call := pass(t.Context(), l, header)
		if want := n < 2; call.Proceed() != want {
			t.Errorf("request %d proceeds: %t", n+1, !want)
		}
		if call.Marks() {
			t.Errorf("request %d marks its context", n+1)
		}
		if n < 2 {
			if again := pass(t.Context(), l, header); !again.Proceed() || again.Marks() || !again.Leave() {
				t.Errorf("request %d, come through again, is not let through as it is", n+1)
			}
			if got := l.UnderWay(); got != 1 {
				t.Errorf("request %d: %d are under way, want 1", n+1, got)
			}
		}
		call.Finish(0, false)
		for range 2 { // a second time it does nothing
			if !call.Leave() {
				t.Errorf("request %d is kept", n+1)
			}
		}
		if got := l.UnderWay(); got != 0 {
			t.Errorf("request %d: %d are under way when it has left", n+1, got)
		}
	}
}

// TestKnownByItsTurn counts what comes in the same memory in another turn for
// itself, though the first has not left.
func TestKnownByItsTurn(t *testing.T) {
	l, identity := mustNew(t, newModelStore(), ratelimit.Policy{Name: "p", Limit: ratelimit.PerHour(2)}), new(int)
	for _, c := range []struct {
		turn     uint64
		proceeds bool
		underWay int
	}{{1, true, 1}, {1, true, 1}, {2, true, 2}, {1, true, 2}, {3, false, 2}, {2, true, 2}} {
		call := new(ratelimit.Call)
		call.KnownByTurn(identity, c.turn)
		l.Begin(call, &fakeRequest{ctx: t.Context()}, http.Header{})
		if call.Proceed() != c.proceeds || l.UnderWay() != c.underWay {
			t.Errorf("turn %d proceeds: %t with %d under way, want %t with %d", c.turn, call.Proceed(), l.UnderWay(), c.proceeds, c.underWay)
		}
	}
}

// TestMarksWhereItMust marks the context of requests that can't be known
// otherwise, or whose handlers need the Call.
func TestMarksWhereItMust(t *testing.T) {
	plain := ratelimit.Policy{Name: "p", Limit: ratelimit.PerHour(9)}
	twice := mustNew(t, newModelStore(), plain)
	twice.Mounted()
	twice.Mounted()
	for name, c := range map[string]struct {
		l      *ratelimit.Limiter
		header any
		marks  bool
	}{
		"a header":                  {mustNew(t, newModelStore(), plain), http.Header{}, false},
		"a pointer":                 {mustNew(t, newModelStore(), plain), new(int), false},
		"nothing":                   {mustNew(t, newModelStore(), plain), nil, true},
		"no map":                    {mustNew(t, newModelStore(), plain), http.Header(nil), true},
		"no pointer":                {mustNew(t, newModelStore(), plain), "text", true},
		"several places":            {twice, http.Header{}, true},
		"a policy that has Settles": {mustNew(t, newModelStore(), tokens()), http.Header{}, true},
	} {
		call := new(ratelimit.Call)
		call.KnownBy(c.header)
		c.l.Begin(call, &fakeRequest{}, http.Header{})
		if call.Marks() != c.marks {
			t.Errorf("%s: the request is marked: %t", name, call.Marks())
		}
		again := new(ratelimit.Call)
		again.KnownBy(c.header)
		c.l.Begin(again, &fakeRequest{ctx: call}, http.Header{})
		if again.Marks() || again.Settles() {
			t.Errorf("%s: the second time it is counted", name)
		}
		if call.Leave() == c.marks {
			t.Errorf("%s: a marked call is given up, or the other is not", name)
		}
	}
}

// TestManyUnderWay has more requests at once than are known by their headers,
// from several goroutines.
func TestManyUnderWay(t *testing.T) {
	l := mustNew(t, newModelStore(), ratelimit.Policy{Name: "p", Limit: ratelimit.PerHour(1_000_000)})
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			headers, calls, marked := make([]http.Header, 2000), make([]*ratelimit.Call, 2000), 0
			for i := range calls {
				headers[i] = http.Header{}
				calls[i] = pass(t.Context(), l, headers[i])
				if calls[i].Marks() {
					marked++
				}
			}
			if marked == 0 || marked == len(calls) {
				t.Errorf("%d of %d are marked", marked, len(calls))
			}
			for i, call := range calls {
				if again := pass(call, l, headers[i]); again.Marks() {
					t.Errorf("request %d is counted again", i)
				}
				call.Leave()
			}
		})
	}
	wait.Wait()
	if n := l.UnderWay(); n != 0 {
		t.Errorf("%d are under way in the end", n)
	}
}
