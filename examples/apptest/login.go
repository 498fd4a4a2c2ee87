package apptest

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/examples/app"
)

// loginsUnderWay holds five right log-ins back before they have ended: until
// they have, they count as if they were wrong, and then not at all.
func loginsUnderWay(t *testing.T, b *bench) {
	g := &gate{arrived: make(chan struct{}), opened: make(chan struct{})}
	s := b.open(t, app.Flags{}, func(store ratelimit.Store) ratelimit.Store {
		g.Store = store
		return g
	})
	answers := make(chan error, 5)
	for range cap(answers) {
		go func() {
			got, err := s.send(login("demo", "demo"))
			if err == nil && got.status != http.StatusOK {
				err = fmt.Errorf("status %d", got.status)
			}
			answers <- err
		}()
		select {
		case <-g.arrived:
		case err := <-answers:
			close(g.opened)
			t.Fatalf("a right log-in was answered (%v) and nothing given back", err)
		}
	}
	if got := s.must(t, login("demo", "demo")); got.status != http.StatusTooManyRequests {
		t.Errorf("with 5 log-ins under way another is answered %d, want 429", got.status)
	}
	if got := s.must(t, login("demo", "guess")); got.status != http.StatusTooManyRequests {
		t.Errorf("with 5 log-ins under way a wrong one is answered %d, want 429", got.status)
	}
	close(g.opened)
	for range cap(answers) {
		if err := <-answers; err != nil {
			t.Errorf("a right log-in: %v", err)
		}
	}
	for range 5 {
		if got := s.must(t, login("demo", "guess")); got.status != http.StatusUnauthorized {
			t.Errorf("after 5 right log-ins a wrong one is answered %d, want 401", got.status)
		}
	}
	if got := s.must(t, login("demo", "demo")); got.status != http.StatusTooManyRequests {
		t.Errorf("after 5 wrong log-ins another is answered %d, want 429", got.status)
	}
}

// wrongPasswords sends 200 wrong passwords at once: the handler checks five.
func wrongPasswords(t *testing.T, b *bench) {
	s := b.open(t, app.Flags{}, nil)
	for range 7 { // what a right password costs would show below
		if got := s.must(t, login("demo", "demo")); got.status != http.StatusOK {
			t.Fatalf("a right password is answered %d", got.status)
		}
	}
	var (
		wait    sync.WaitGroup
		checked atomic.Int32
		start   = make(chan struct{})
	)
	for range 200 {
		wait.Go(func() {
			<-start
			got, err := s.send(login("demo", "guess"))
			switch {
			case err != nil:
				t.Error(err)
			case got.status == http.StatusUnauthorized:
				checked.Add(1)
			case got.status != http.StatusTooManyRequests:
				t.Errorf("a wrong password is answered %d", got.status)
			}
		})
	}
	close(start)
	wait.Wait()
	if n := checked.Load(); n != 5 {
		t.Errorf("of 200 wrong passwords at once %d were checked, want 5", n)
	}
}

// gate is a store at which what is given back waits until the gate is opened.
type gate struct {
	ratelimit.Store
	arrived, opened chan struct{}
}

func (g *gate) Adjust(ctx context.Context, adjustments []ratelimit.Adjustment) error {
	select {
	case g.arrived <- struct{}{}:
		<-g.opened
	case <-g.opened:
	}
	return g.Store.Adjust(ctx, adjustments)
}
