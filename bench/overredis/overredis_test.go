package overredis

import (
	"testing"
	"time"

	"github.com/go-floodgate/floodgate/bench/measure"
)

func server(t *testing.T) *Server {
	t.Helper()
	s, err := StartServer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// TestLimits shows that what is compared limits: it allows what its limit says,
// then denies, and another key is another count.
func TestLimits(t *testing.T) {
	t.Parallel()
	redis := server(t)
	const quota = 3
	for policies, contenders := range map[int][]Contender{1: All(), 3: Three()} {
		for _, c := range contenders {
			if c.Floor {
				continue
			}
			t.Run(id(c, deniedKey, policies), func(t *testing.T) {
				if err := redis.empty(); err != nil {
					t.Fatal(err)
				}
				l, err := c.New(redis.Address, Load{Keys: 2, Quota: quota, Per: time.Hour})
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				for n, want := range []bool{true, true, true, false} {
					if allowed, err := l.Ask(t.Context(), 0); allowed != want || err != nil {
						t.Errorf("request %d, by a quota of %d: allowed %t, %v", n+1, quota, allowed, err)
					}
				}
				if allowed, err := l.Ask(t.Context(), 1); !allowed || err != nil {
					t.Errorf("another key: allowed %t, %v", allowed, err)
				}
			})
		}
	}
}

// TestMeasure runs every scenario once.
func TestMeasure(t *testing.T) {
	t.Parallel()
	var results measure.Results
	size := measure.Size{Rounds: 1, Each: time.Millisecond, Keys: 1000, Progress: func(string) {}}
	version, err := Measure(&size, NewSession, &results)
	if err != nil {
		t.Fatal(err)
	}
	if version == "" {
		t.Error("the server has no version")
	}
	for _, s := range scenes() {
		for _, n := range s.goroutines {
			for _, name := range s.names {
				if got := results.Of(Scenario(s.what, n, s.where), name, measure.Nanoseconds); len(got) != 1 || got[0] <= 0 {
					t.Errorf("%s, %s: %v ns", Scenario(s.what, n, s.where), name, got)
				}
			}
		}
	}
	if s := Section(&results); len(s.Bars) == 0 || len(s.Curves[0].Lines) == 0 {
		t.Errorf("%d promises, %d lines", len(s.Bars), len(s.Curves[0].Lines))
	}
}
