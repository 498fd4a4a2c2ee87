package ratelimit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// logLines are what was logged, without time and the common part of messages.
type logLines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logLines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(line)
}

func (l *logLines) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// take returns the lines since the last time.
func (l *logLines) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.buf.Reset()
	return strings.TrimSuffix(strings.ReplaceAll(l.buf.String(), "ratelimit: ", ""), "\n")
}

func (l *logLines) expect(t *testing.T, want string) {
	t.Helper()
	if got := l.take(); got != want {
		t.Errorf("logged is\n%s\nwant\n%s", got, want)
	}
}

func TestRefusalLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, store := new(logLines), newModelStore()
		banned := new(ratelimit.AccessList)
		l, err := ratelimit.New(store, &ratelimit.RefusalLog{Logger: out.logger()}, quiet, ratelimit.DenyList(banned),
			ratelimit.Policy{Name: "plan", Key: ratelimit.KeyBuilder{}, Tiers: &ratelimit.Tiers{
				Resolve: func(r *ratelimit.Request) (ratelimit.Identity, error) {
					return ratelimit.Identity{Key: ratelimit.UserKey(r.User()), Tier: "free"}, nil
				},
				Default: "free",
				Limits:  map[string]ratelimit.Limit{"free": ratelimit.SlidingLog(1, time.Minute)},
			}},
			ratelimit.Policy{Name: "secret", Key: ratelimit.ByConstant("all"), Limit: ratelimit.SlidingLog(3, time.Hour), Hidden: true},
			ratelimit.Policy{Name: "watched", Key: ratelimit.ByConstant("all"), Limit: ratelimit.SlidingLog(1, 2*time.Hour), Shadow: true},
			ratelimit.Policy{Name: "closed", Match: "POST", Limit: ratelimit.SlidingLog(9, time.Hour), OnStoreFailure: ratelimit.FailClosed},
		)
		if err != nil {
			t.Fatal(err)
		}
		send := func(r *fakeRequest) {
			call, _ := begin(l, r)
			call.Finish(200, false)
		}
		send(&fakeRequest{user: "ann", route: "/a/:id"})
		out.expect(t, "")
		send(&fakeRequest{user: "ann", method: "BREW", route: "/a/:id"})
		out.expect(t, `level=INFO msg="request refused" policy=plan tier=free reason=rate_limited method=OTHER route=/a/{id} retry_after=60 suppressed=0`)
		send(&fakeRequest{user: "bob"})
		send(&fakeRequest{user: "cid"})
		out.expect(t, "")
		send(&fakeRequest{user: "dan"})
		out.expect(t, `level=INFO msg="request refused" policy=secret reason=rate_limited method=GET route=unmatched retry_after=3600 suppressed=0`)
		if err := banned.Add(ratelimit.AccessEntry{Key: ratelimit.UserKey("eve")}); err != nil {
			t.Fatal(err)
		}
		send(&fakeRequest{user: "eve"})
		out.expect(t, `level=INFO msg="request refused" reason=deny_listed method=GET route=unmatched suppressed=0`)
		l.Allow(t.Context(), "user:fay")
		l.Allow(t.Context(), "user:fay")
		send(&fakeRequest{user: "gil"}) // whose results by secret are not those of the next one
		out.expect(t, "")
		store.fails = errors.New("dial tcp 192.0.2.9: refused")
		send(&fakeRequest{user: "ann"})
		out.expect(t, `level=WARN msg="request let through without the store" policy=plan tier=free reason=failed_open method=GET route=unmatched degraded=true suppressed=0`)
		send(&fakeRequest{user: "ann", method: "POST"})
		out.expect(t, `level=WARN msg="request refused" policy=plan tier=free reason=failed_closed method=POST route=unmatched retry_after=1 degraded=true suppressed=0`)
		l.Allow(t.Context(), "user:ann")
		time.Sleep(20*time.Second + 1)
		rest := strings.Split(out.take(), "\n")
		slices.Sort(rest) // they come at the same instant
		if want := []string{
			`level=INFO msg="suppressed lines" policy=plan reason=failed_open suppressed=1`,
			`level=INFO msg="suppressed lines" policy=plan reason=rate_limited suppressed=1`,
			`level=INFO msg="suppressed lines" policy=secret reason=rate_limited suppressed=1`,
		}; !slices.Equal(rest, want) {
			t.Errorf("logged are %q, want %q", rest, want)
		}
	})
}

// A line tells how many like it were suppressed; if none comes, a line of their
// own does.
func TestRefusalLogThins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := new(logLines)
		log := &ratelimit.RefusalLog{Most: 3, Interval: time.Minute, Level: slog.LevelDebug}
		log.Logger = slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == "suppressed" || a.Key == slog.MessageKey {
				return a
			}
			return slog.Attr{}
		}}))
		l := mustNew(t, denyAll{}, log, ratelimit.Policy{Name: "p", Limit: ratelimit.SlidingLog(1, time.Minute)})
		refuse := func(n int) {
			for range n {
				l.Allow(t.Context(), "key:ann")
			}
		}
		line := func(suppressed int) string { return fmt.Sprintf("msg=\"request refused\" suppressed=%d", suppressed) }
		rest := func(suppressed int) string { return fmt.Sprintf("msg=\"suppressed lines\" suppressed=%d", suppressed) }
		lines := func(lines ...string) string { return strings.Join(lines, "\n") }

		refuse(2)
		out.expect(t, lines(line(0), line(0)))
		refuse(8)
		out.expect(t, line(0))
		time.Sleep(time.Minute)
		refuse(1)
		out.expect(t, line(7)) // with the next line
		refuse(100)
		out.expect(t, lines(line(0), line(0)))
		for range 5 { // a flood goes on: nothing is told between
			time.Sleep(time.Minute)
			refuse(1)
			out.expect(t, line(98))
			refuse(100)
			out.expect(t, lines(line(0), line(0)))
		}
		time.Sleep(2*time.Minute - 1)
		out.expect(t, "")
		time.Sleep(time.Second)
		out.expect(t, rest(98)) // nothing more came
		time.Sleep(time.Hour)
		out.expect(t, "")
		refuse(1)
		out.expect(t, line(0))
		refuse(5)
		out.take()
		log.Flush()
		out.expect(t, rest(3))
		log.Flush()
		out.expect(t, "")
		time.Sleep(time.Hour)
		out.expect(t, "")
		refuse(5)
		out.take()
		time.Sleep(2*time.Minute + 1)
		out.expect(t, rest(2)) // as the first time
	})
}

// No key is logged, but what stands for it if that is asked for.
func TestRefusalLogHidesKeys(t *testing.T) {
	out, pseudonyms := new(logLines), new(ratelimit.Pseudonyms)
	for _, log := range []*ratelimit.RefusalLog{{Logger: out.logger()}, {Logger: out.logger(), Pseudonyms: pseudonyms}} {
		l := mustNew(t, denyAll{}, log, ratelimit.Policy{Name: "p", Key: ratelimit.ByUser(), Limit: ratelimit.SlidingLog(1, time.Minute)})
		begin(l, &fakeRequest{user: "ann", peer: "192.0.2.7:1"})
		text := out.take()
		if strings.Contains(text, "ann") || strings.Contains(text, "192.0.2") {
			t.Errorf("logged is %s", text)
		}
		if key := "key=" + pseudonyms.Of(ratelimit.UserKey("ann")); strings.Contains(text, key) != (log.Pseudonyms != nil) {
			t.Errorf("logged is %s", text)
		}
	}
}

// Without a Logger of its own it is the limiter's; one that has no use for the
// level takes nobody's turn.
func TestRefusalLogLogger(t *testing.T) {
	out := new(logLines)
	level := new(slog.LevelVar)
	level.Set(slog.LevelError)
	logger := slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level}))
	l, err := ratelimit.New(denyAll{}, &ratelimit.RefusalLog{}, ratelimit.Logger(logger), ratelimit.Policy{Name: "p", Limit: ratelimit.SlidingLog(1, time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	l.Allow(t.Context(), "key:ann")
	if text := out.take(); text != "" {
		t.Errorf("logged is %s", text)
	}
	level.Set(slog.LevelInfo)
	l.Allow(t.Context(), "key:ann")
	if text := out.take(); !strings.Contains(text, "policy=p") || !strings.Contains(text, "suppressed=0") {
		t.Errorf("logged is %s", text)
	}
}

// The end of a request's own context is no refusal.
func TestRefusalLogCanceled(t *testing.T) {
	out := new(logLines)
	l := mustNew(t, newModelStore(), &ratelimit.RefusalLog{Logger: out.logger()}, ratelimit.Policy{Name: "p", Limit: ratelimit.SlidingLog(1, time.Minute)})
	l.Allow(canceledContext(), "key:ann")
	out.expect(t, "")
}

func TestRefusalLogAllocations(t *testing.T) {
	refusals := func(options ...ratelimit.Option) float64 {
		l := mustNew(t, denyAll{}, append(options, ratelimit.Policy{Name: "p", Limit: ratelimit.SlidingLog(1, time.Hour)})...)
		ctx := t.Context()
		return leastAllocs(func() { l.Allow(ctx, "key:ann") })
	}
	log := &ratelimit.RefusalLog{Logger: new(logLines).logger(), Interval: time.Hour}
	if with, without := refusals(log), refusals(); with > without {
		t.Errorf("a suppressed refusal makes %v allocations, %v without RefusalLog", with, without)
	}
}

func TestRefusalLogMistakes(t *testing.T) {
	good := &ratelimit.RefusalLog{}
	for _, c := range []struct {
		options []ratelimit.Option
		says    []string
	}{
		{[]ratelimit.Option{(*ratelimit.RefusalLog)(nil)}, []string{"RefusalLog is nil", "leave it out"}},
		{[]ratelimit.Option{good, good}, []string{"RefusalLog", "twice"}},
		{[]ratelimit.Option{&ratelimit.RefusalLog{Most: -1}}, []string{"RefusalLog.Most -1", "1 to"}},
		{[]ratelimit.Option{&ratelimit.RefusalLog{Interval: time.Millisecond}}, []string{"RefusalLog.Interval 1ms", "second"}},
		{[]ratelimit.Option{&ratelimit.RefusalLog{Pseudonyms: &ratelimit.Pseudonyms{Secret: []byte("short")}}}, []string{"Pseudonyms.Secret", "16"}},
	} {
		_, err := ratelimit.New(denyAll{}, append(c.options, ratelimit.Policy{Name: "p", Limit: ratelimit.PerMinute(1)}, quiet)...)
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

func canceledContext() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
