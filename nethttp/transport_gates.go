package httplimit

import (
	"strings"
	"sync"
	"time"
)

// gates are the gates of a Transport, by host and key.
type gates struct {
	mu  sync.Mutex
	all map[place]*gate
}

// place is what has quotas of its own.
type place struct{ host, key string }

const (
	maxGates = 256
	// gateCandidates is how many are looked at to find one to forget.
	gateCandidates = 16
)

// of returns a gate, and holds it until release. If there are too many and all
// have requests under way, it is one that nobody else will see.
func (s *gates) of(host, key string) *gate {
	p := place{strings.ToLower(host), key}
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.all[p]
	if g == nil {
		g = &gate{doubt: doubt{most: 1}, each: 1}
		if len(s.all) < maxGates || s.forget(time.Now()) {
			if s.all == nil {
				s.all = make(map[place]*gate)
			}
			p.host, p.key = strings.Clone(p.host), strings.Clone(p.key)
			s.all[p] = g
		}
	}
	g.users++
	return g
}

func (s *gates) release(g *gate) {
	if g == nil {
		return
	}
	s.mu.Lock()
	g.users--
	s.mu.Unlock()
}

// forget removes the gate, of a few without requests, whose knowledge ends
// first.
func (s *gates) forget(now time.Time) bool {
	var found bool
	var first place
	var firstEnd time.Duration
	looked := 0
	for p, g := range s.all {
		if g.users > 0 {
			continue
		}
		if end := g.knows(now); !found || end < firstEnd {
			found, first, firstEnd = true, p, end
		}
		if looked++; looked == gateCandidates {
			break
		}
	}
	if found {
		delete(s.all, first)
	}
	return found
}

// knows is for how long the gate still has something to go by.
func (g *gate) knows(now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	end := g.closedUntil.Sub(now)
	if g.state == informed {
		end = max(end, g.left.until.Sub(now))
	}
	return max(0, end)
}
